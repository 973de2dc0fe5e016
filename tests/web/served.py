"""`dcf web` as a process that can be killed and started again on the same port, and a run whose agents are the test."""

import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Self

from dcf.application import Application
from dcf.core.access import local_caller
from dcf.core.creation import Create
from dcf.core.definition import read_definition
from dcf.web.visit import Visit
from tests.support.servers import free_port, listens_http
from tests.support.waiting import wait_until


@dataclass
class ServedPage:
    """The page of a control plane, in a process of its own."""

    application: Application
    command: tuple[str, ...] = ("web",)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Serve, on the same port each time."""
        command = [sys.executable, "-m", "dcf", *self.command, "--auth", "off", "--port", str(self.port)]
        url = self.application.redis_url
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDIS_URL": url}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens_http(self.port))

    def kill(self) -> None:
        """End the process without a word."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    def stop(self) -> int:
        """Ask the process to end; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@dataclass(frozen=True)
class Run:
    """A run in the control plane of a test, and the calls of its agents."""

    application: Application
    workflow_id: str

    def tool(self, name: str, **arguments: Any) -> Any:
        visit = Visit(application=self.application, caller=local_caller(operator=False))
        return visit.ask(name, workflow_id=self.workflow_id, **arguments)

    def take(self, state: str) -> str:
        """Take a lease with the tool of agents; return its token."""
        token = f"token-{secrets.token_hex(8)}"
        answer = self.tool("acquire_state_lease", state=state, owner_agent_id="worker-7", lease_token=token)
        assert answer["code"] == "ok", answer
        return token

    def complete(self, state: str, token: str) -> None:
        """Complete a state with the tool of agents."""
        answer = self.tool(
            "update_workflow_control_plane", state=state, lease_token=token, new_status="succeeded", output_json="{}"
        )
        assert answer["code"] == "ok", answer

    def event_ids(self) -> list[str]:
        """What the history has, oldest first."""
        return [one.event_id for one in self.application.history.after(self.workflow_id)]


def a_run(application: Application, workflow: Any, workflow_id: str | None = None, **more: Any) -> Run:
    wish = Create(
        workflow_id=workflow_id or f"r-{secrets.token_hex(5)}", definition=read_definition(workflow), run_input={},
        agents={}, planner_agent_id=None, retention_s=None, max_attempts=10, **more,
    )  # fmt: skip
    application.control_plane.create(wish)
    return Run(application, wish.workflow_id)


def chain(length: int) -> Any:
    """A workflow of so many Tasks, one after the other: S0, S1 and so on."""
    states: dict[str, Any] = {f"S{n}": {"Type": "Task", "Next": f"S{n + 1}"} for n in range(length - 1)}
    return {"asl": {"StartAt": "S0", "States": {**states, f"S{length - 1}": {"Type": "Task", "End": True}}}}
