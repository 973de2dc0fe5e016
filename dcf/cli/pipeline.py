"""`dcf run`: an MCP server and one worker process per Task state, and a planner that speaks to them through tools only.

The processes are children of this one and are started again when they die; what they had not finished is done again
by whoever gets the lease next. The listening socket stays with this process, so a restarted server keeps its address.
"""

import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from dcf.core.definition import Definition, read_definition
from dcf.core.json_text import Json, dump
from dcf.errors import DcfError
from dcf.tools.client import ToolClient, connect

Show = Callable[[Mapping[str, Json]], None]

_POLL_S = 0.1
_MAX_RESTARTS = 20


class ProcessFailed(DcfError):
    """A process of the run kept dying."""

    code = "process_failed"
    default_hint = "Mend what its log says, then run again."


class Crew:
    """Child processes that are started again when they die."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._commands: dict[str, tuple[list[str], tuple[int, ...]]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._restarts = 0

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, name: str, arguments: list[str], *, inherit: tuple[int, ...] = ()) -> None:
        """Start `dcf ARGUMENTS` under this name."""
        self._commands[name] = ([sys.executable, "-m", "dcf", *arguments], inherit)
        self._spawn(name)

    def revive(self) -> None:
        """Start again whoever died; give up when that does not help."""
        for name, process in list(self._processes.items()):
            if process.poll() is None:
                continue
            self._restarts += 1
            if self._restarts > _MAX_RESTARTS:
                raise ProcessFailed(
                    f"The process {name} keeps ending (exit code {process.returncode}): {self._tail(name)}"
                )
            self._spawn(name)

    def _spawn(self, name: str) -> None:
        command, inherit = self._commands[name]
        with self._log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(  # noqa: S603 - our own interpreter and command line
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=inherit, start_new_session=True
            )

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text("utf-8", "replace").strip().splitlines()
        return lines[-1][:500] if lines else "it printed nothing"


class Pipeline:
    """One workflow run from start to audit."""

    def __init__(
        self,
        *,
        document: Json,
        run_input: Json,
        workers: str,
        workflow_id: str | None,
        timeout_s: float,
        lease_ttl_s: int,
    ) -> None:
        self._definition = read_definition(document)
        self._input = run_input
        self._workers = workers
        self._run_id = workflow_id or new_run_id(self._definition)
        self._timeout_s = timeout_s
        self._lease_ttl_s = lease_ttl_s

    def execute(self, show: Show) -> dict[str, Json]:
        """Start everything, plan, watch, finalize; the result as one JSON object."""
        agents = self._agents()
        with ExitStack() as stack:
            logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dcf-run-")))
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
            crew = stack.enter_context(Crew(logs))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            os.environ["DCF_SERVER_URL"] = url
            fd = listener.fileno()
            crew.start("server", ["serve", "--transport", "http", "--fd", str(fd)], inherit=(fd,))
            for state, agent_id in agents.items():
                ttl = str(self._lease_ttl_s)
                crew.start(agent_id, ["worker", self._workers, "--agent-id", agent_id, "--lease-ttl", ttl])
            planner = stack.enter_context(connect(url))
            self._begin(planner, agents)
            self._watch(planner, crew, show)
            finalized = planner.call("finalize_workflow", workflow_id=self._run_id)
            return self._result(planner, finalized)

    def _agents(self) -> dict[str, str]:
        """One agent id for each Task state; the suffix keeps runs apart."""
        suffix = secrets.token_hex(3)
        return {
            state: f"{number}-{_slug(state, 40)}-{suffix}" for number, state in enumerate(self._definition.skills, 1)
        }

    def _begin(self, planner: ToolClient, agents: Mapping[str, str]) -> None:
        created = planner.call(
            "create_workflow_control_plane",
            workflow_json=dict(self._definition.document),
            workflow_id=self._run_id,
            input_json=dump(self._input),
            agents_map_json=dict(agents),
        )
        _must_be_ok(created)
        if created.get("run_status") == "running":
            _must_be_ok(planner.call("notify_next_worker_agent", workflow_id=self._run_id))

    def _watch(self, planner: ToolClient, crew: Crew, show: Show) -> None:
        deadline = time.monotonic() + self._timeout_s
        while time.monotonic() < deadline:
            crew.revive()
            found = planner.call("read_workflow_control_plane", workflow_id=self._run_id)
            show(found)
            if found["meta"]["status"] != "running":
                return
            time.sleep(_POLL_S)

    def _result(self, planner: ToolClient, finalized: Mapping[str, Json]) -> dict[str, Json]:
        found = planner.call("read_workflow_control_plane", workflow_id=self._run_id)
        meta = found["meta"]
        kept = ("status", "attempts", "started_at", "finished_at")
        return {
            "workflow_id": self._run_id,
            "status": finalized["summary"]["final_status"],
            "output": meta.get("output"),
            "error": meta.get("error"),
            "cause": meta.get("cause"),
            "states": {name: {field: doc[field] for field in kept} for name, doc in found["states"].items()},
        }


def new_run_id(definition: Definition) -> str:
    """A readable id: the workflow's name, the time to the second, four random digits."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{_slug(definition.name, 40)}-{moment}-{secrets.token_hex(2)}"


def _slug(text: str, longest: int) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:longest].strip("-") or "run"


def _must_be_ok(answer: Mapping[str, Json]) -> None:
    if answer.get("code") != "ok":
        raise DcfError(str(answer.get("error")), answer.get("hint"))
