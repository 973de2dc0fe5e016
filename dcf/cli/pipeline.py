"""Runs a workflow for `dcf run`: an MCP server, workers for each Task state, and a planner that uses only tools.

Progress is read as `dcf show` reads it, so a reading costs no more for a Map with many items.

The processes are children of this one and are restarted when they exit. Unfinished work is done again by the next
holder of the lease. This process keeps the listening socket, so a restarted server keeps its address.

Redis, the server and the task functions are tried before the run is created: a start that fails creates no run. A
later failure leaves the run as it is; a note on the error says how to continue it.

Other users of this machine can reach the server too, so it asks for API keys. They are made for this run, reach the
workers in their environment, and are deleted at the end; if this process is killed, they expire.
"""

import hashlib
import logging
import math
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dcf.application import Application, open_application
from dcf.cli.child_processes import ChildProcesses
from dcf.cli.obstacles import Obstacle
from dcf.core.access import Scope
from dcf.core.definition import Definition
from dcf.errors import PASSING, DcfError, ToolCallFailed
from dcf.settings import Settings
from dcf.values.json_text import Json, dump

if TYPE_CHECKING:
    from dcf.tools.client import ToolClient

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Show = Callable[[Mapping[str, Json]], None]

_POLL_S = 0.1
_PATIENCE_S = 3.0  # seconds that a call retries while the server restarts, before the processes are checked
_OWN_SERVER = {
    "DCF_MCP_HOST": "127.0.0.1",
    "DCF_MCP_ALLOWED_HOSTS": "",
    "DCF_MCP_ALLOWED_ORIGINS": "",
    "DCF_TOOLSETS": "",
    "DCF_READ_ONLY": "false",
    "DCF_PROFILE": "all",
    "DCF_AUTH": "keys",
    "DCF_PUBLIC_URL": "",
    "DCF_RATE_PER_S": "100000",  # all workers share one key, and each of them waits for events
    "DCF_RATE_BURST": "100000",
    "DCF_MAX_CONCURRENCY": "10000",
    "DCF_MAX_CONNECTIONS": "10000",
    "DCF_MAX_CONNECTIONS_PER_PEER": "10000",
    "DCF_MAX_CALLER_BODIES_BYTES": str(64 * 1024 * 1024),
    "DCF_MAX_BODIES_BYTES": str(64 * 1024 * 1024),
    "DCF_MAX_BODY_BYTES": "",
    "DCF_MAX_REQUEST_VALUES": "",
    "DCF_HEADER_TIMEOUT_S": "",
    "DCF_BODY_TIMEOUT_S": "",
}
"""Settings of this run's own server. Those of the environment may be meant for a shared server and lock workers out."""

_WORKER = (Scope.READ, Scope.WORK)
_PLANNER = (Scope.READ, Scope.WORK, Scope.PLAN)
_KEYS_OUTLIVE_S = 120
"""Seconds that the keys of a run are valid beyond its timeout: starting and finalizing take some."""
_LONGEST_S = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The workflow to run, its input, and the settings of the run."""

    definition: Definition
    run_input: Json
    workers: str
    run_id: str
    timeout_s: float
    lease_ttl_s: int
    copies: int = 1


class Planner:
    """Calls tools for the run, and retries while the server is being restarted or Redis refuses; `obstacle` is told."""

    def __init__(self, tools: "ToolClient", crew: ChildProcesses, deadline: float, obstacle: Obstacle) -> None:
        self._tools = tools
        self._crew = crew
        self.deadline = deadline
        self._obstacle = obstacle

    def check(self) -> None:
        """Raise when a process of the run cannot be kept alive; tell the user when Redis keeps the run waiting."""
        self._crew.check()
        self._obstacle.tell()

    def deaths(self) -> str | None:
        """Return a sentence about the process that exited most often by itself; None if none did."""
        return self._crew.deaths()

    @property
    def in_time(self) -> bool:
        """True if the run's time is not over."""
        return time.monotonic() < self.deadline

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer; raise when a process cannot be kept alive or the time is over."""
        while True:
            self.check()
            try:
                return self._tools.call(tool, **arguments)
            except DcfError as error:
                if error.code not in PASSING or not self.in_time:
                    raise


def execute(
    job: Job, settings: Settings, show: Show, say: Callable[[str], None]
) -> tuple[dict[str, Json], Path | None]:
    """Execute a run from start to audit; return the result, and the directory of logs if it did not succeed.

    `say` prints a sentence beside the progress.

    Every error raised once the run may exist has a note (PEP 678) that says so.
    """
    deadline = time.monotonic() + job.timeout_s
    logs = Path(tempfile.mkdtemp(prefix="dcf-run-"))
    kept = False
    try:
        with ExitStack() as stack:
            # Raises at once when Redis cannot be used. Keeps an embedded Redis alive while the server is restarted.
            found = stack.enter_context(open_application(settings))
            obstacle = Obstacle(found.health, say)
            keys = stack.enter_context(_keys_of(job, found, deadline, obstacle))
            planner = _start(job, logs, deadline, keys, stack, obstacle)
            with _left_open(job):
                _begin(job, planner)
                _watch(job, planner, found, show)
                result = _result(job, planner, found)
        kept = result["status"] != "succeeded"
    finally:
        if not kept:
            shutil.rmtree(logs, ignore_errors=True)
    return result, logs if kept else None


@contextmanager
def _left_open(job: Job) -> Iterator[None]:
    """Add a note on how to continue the run to any error that ends the command early."""
    try:
        yield
    except (DcfError, KeyboardInterrupt) as error:
        error.add_note(f"Run {job.run_id} is not over: the same command with --id {job.run_id} continues it.")
        raise


def new_run_id(definition: Definition) -> str:
    """Return a readable id: the workflow's name, the time to the second, four random digits."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{_slug(definition.name, 40)}-{moment}-{secrets.token_hex(2)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyPair:
    """The API keys of one run."""

    planner: str = field(repr=False)
    worker: str = field(repr=False)


@contextmanager
def _keys_of(job: Job, found: Application, deadline: float, obstacle: Obstacle) -> Iterator[_KeyPair]:
    """Make the API keys of this run, as soon as Redis takes writes, and delete them afterwards."""
    life_s = math.ceil(min(_LONGEST_S, job.timeout_s)) + _KEYS_OUTLIVE_S
    with ExitStack() as made:

        def make(scopes: tuple[Scope, ...]) -> str:
            label = f"dcf run {job.run_id}"
            key = _once_possible(
                lambda: found.keys.create(scopes, agent_id=None, label=label, life_s=life_s, remembered=False),
                obstacle.tell,
                deadline,
            )
            made.callback(_delete_key, found, key.record.key_id)
            return key.text

        keys = _KeyPair(planner=make(_PLANNER), worker=make(_WORKER))
        obstacle.tell(at_once=True)
        yield keys


def _once_possible(call: Callable[[], Result], meanwhile: Callable[[], None], deadline: float) -> Result:
    """Call until it succeeds or fails for good, or the time is over; before each try do what `meanwhile` does."""
    while True:
        meanwhile()
        try:
            return call()
        except DcfError as error:
            if error.code not in PASSING or time.monotonic() >= deadline:
                raise
        time.sleep(_POLL_S)


def _delete_key(found: Application, key_id: str) -> None:
    try:
        found.keys.delete(key_id)
    except DcfError as error:  # what became of the run is told all the same
        log.warning("API key %s of this run was not deleted (%s); it expires by itself", key_id, error.message)


def _start(job: Job, logs: Path, deadline: float, keys: _KeyPair, stack: ExitStack, obstacle: Obstacle) -> Planner:
    """Start the server and the workers; they stop when the stack is closed."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    crew = stack.enter_context(ChildProcesses(logs, {**_OWN_SERVER, "DCF_SERVER_URL": url}))
    fd = listener.fileno()
    crew.start("server", ["serve", "--leash", "--transport", "http", "--fd", str(fd)], inherit=(fd,))
    crew.try_out("functions", _trial(job), max(1.0, deadline - time.monotonic()))
    for state, agent_ids in _agents(job).items():
        for agent_id in agent_ids:
            options = ["--agent-id", agent_id, "--state", state, "--lease-ttl", str(job.lease_ttl_s)]
            command = ["worker", "--leash", *options, "--", job.workers]
            crew.start(agent_id, command, environment={"DCF_API_KEY": keys.worker})
    from dcf.tools.client import connect  # imports the MCP SDK while the other processes start

    client = stack.enter_context(connect(url, deadline_s=_PATIENCE_S, api_key=keys.planner))
    return Planner(client, crew, deadline, obstacle)


def _trial(job: Job) -> list[str]:
    """Return the arguments of `dcf` that import the task functions and check that every Task has one."""
    states = [part for state in job.definition.skills for part in ("--state", state)]
    return ["worker", "--check", "--agent-id", "nobody", *states, "--", job.workers]


def _agents(job: Job) -> dict[str, list[str]]:
    """Return the agents of each Task state, named after the run's id, so that a run can be continued."""
    suffix = hashlib.sha256(job.run_id.encode()).hexdigest()[:6]
    marks = [suffix, *(f"{suffix}-{copy}" for copy in range(2, job.copies + 1))]
    return {
        state: [f"{number}-{_slug(state, 40)}-{mark}" for mark in marks]
        for number, state in enumerate(job.definition.skills, 1)
    }


def _begin(job: Job, planner: Planner) -> None:
    created = planner.call(
        "create_workflow_control_plane",
        workflow_json=dict(job.definition.document),
        workflow_id=job.run_id,
        input_json=dump(job.run_input),
        agents_map_json={state: ids if len(ids) > 1 else ids[0] for state, ids in _agents(job).items()},
    )
    if created.get("code") != "ok":
        raise _refusal(created)
    if created.get("run_status") == "running":
        started = planner.call("notify_next_worker_agent", workflow_id=job.run_id)
        if started.get("code") not in {"ok", "terminal"}:
            raise _refusal(started)


def _refusal(answer: Mapping[str, Json]) -> ToolCallFailed:
    """Return the error for a tool's refusal; its text begins with the code."""
    return ToolCallFailed(answer["code"], answer["error"].partition(": ")[2], answer.get("hint"))


def _watch(job: Job, planner: Planner, found: Application, show: Show) -> None:
    while planner.in_time:
        document = _read(job, planner, found)
        show(document)
        if document["meta"]["status"] != "running":
            return
        time.sleep(_POLL_S)


def _read(job: Job, planner: Planner, found: Application) -> dict[str, Json]:
    """Read the run; retry while Redis is unreachable and time is left."""
    return _once_possible(lambda: found.runs.overview(job.run_id).as_json(), planner.check, planner.deadline)


def _result(job: Job, planner: Planner, found: Application) -> dict[str, Json]:
    """Finalize the run and return its result; a run that is still open has exceeded its time."""
    in_time = planner.in_time
    finalized = planner.call("finalize_workflow", workflow_id=job.run_id)
    document = _read(job, planner, found)
    meta, status = document["meta"], finalized["summary"]["final_status"]
    error, cause = meta.get("error"), meta.get("cause")
    if status != "succeeded" and error is None and not in_time:
        error, cause = "States.Timeout", f"The run was not over after {job.timeout_s:g} s and was cancelled."
        deaths = planner.deaths()
        cause = cause if deaths is None else f"{cause} Meanwhile {deaths}"
    return {
        "workflow_id": job.run_id,
        "status": status,
        "output": meta.get("output"),
        "error": error,
        "cause": cause,
        "states": {name: _outcome(doc) for name, doc in document["states"].items() if "/" not in name},
    }


def _outcome(doc: Mapping[str, Json]) -> dict[str, Json]:
    """Return how a state ended; for a Parallel or Map also its size and counts."""
    kept = ("status", "attempts", "started_at", "finished_at")
    rare = ("type", "scope", "tally")
    return {name: doc[name] for name in kept} | {name: doc[name] for name in rare if name in doc}


def _slug(text: str, longest: int) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:longest].strip("-") or "run"
