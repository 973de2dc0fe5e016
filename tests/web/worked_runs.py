"""Runs whose agents are the test."""

import secrets
from dataclasses import dataclass
from typing import Any

from dcf.application.application import Application
from dcf.core.access.model import local_caller
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.web.visit import Visit


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
        """The history, oldest first."""
        return [item.event_id for item in self.application.history.after(self.workflow_id)]


def a_run(application: Application, workflow: Any, workflow_id: str | None = None, **more: Any) -> Run:
    wish = Create(
        workflow_id=workflow_id or f"r-{secrets.token_hex(5)}", definition=read_definition(workflow), run_input={},
        agents={}, planner_agent_id=None, retention_s=None, max_attempts=10, **more,
    )  # fmt: skip
    application.control_plane.create(wish)
    return Run(application, wish.workflow_id)


def chain(length: int) -> Any:
    """A workflow of N Tasks, one after the other: S0, S1 and so on."""
    states: dict[str, Any] = {f"S{n}": {"Type": "Task", "Next": f"S{n + 1}"} for n in range(length - 1)}
    return {"asl": {"StartAt": "S0", "States": {**states, f"S{length - 1}": {"Type": "Task", "End": True}}}}
