"""The processes of one `dcf run`: an MCP server, unless it runs without one, and workers that serve all of its Tasks.

They are children of this process and are started again when they exit. Unfinished work is done again by the next
holder of the lease. This process keeps the listening socket, so a server that was started again keeps its address.

Other users of this machine can reach the server too, so it asks for API keys. They are made for this run, reach the
workers in their environment, and are deleted at the end; if this process is killed, they expire.
"""

import logging
import math
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from typing import Final

from dcf.cli.child_processes import ChildProcesses
from dcf.cli.processes.planner import PATIENCE_S, Planner, RunPlace, once_possible
from dcf.cli.running.run_request import Job
from dcf.core.access.model import Scope
from dcf.errors import DcfError
from dcf.values.records import record

log = logging.getLogger(__name__)

_OWN_SERVER = {
    "DCF_MCP_HOST": "127.0.0.1",
    "DCF_MCP_ALLOWED_HOSTS": "",
    "DCF_MCP_ALLOWED_ORIGINS": "",
    "DCF_TOOLSETS": "",
    "DCF_READ_ONLY": "false",
    "DCF_PROFILE": "all",
    "DCF_METRICS_PORT": "",
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


_WORKER: Final = (Scope.READ, Scope.WORK)
_PLANNER: Final = (Scope.READ, Scope.WORK, Scope.PLAN)
_KEYS_OUTLIVE_S: Final = 120
"""Seconds that the keys of a run are valid beyond its timeout: starting and finalizing take some."""
_LONGEST_S: Final = 10 * 365 * 86_400.0


@record(frozen=True, slots=True, kw_only=True)
class _KeyPair:
    """The API keys of one run."""

    planner: str = field(repr=False)
    worker: str = field(repr=False)


def start_with_server(job: Job, place: RunPlace, stack: ExitStack) -> Planner:
    """Start a server, and workers that call its tools; they stop when the stack is closed."""
    resources = stack.enter_context(ExitStack())  # closed after the processes have stopped
    listener = resources.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
    fd, port = listener.fileno(), listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    crew = stack.enter_context(ChildProcesses(place.logs, {**_OWN_SERVER, "DCF_SERVER_URL": url}))
    # The server takes longest to start: meanwhile this process opens Redis, and a worker loads the functions.
    crew.start("server", ["serve", "--leash", "--transport", "http", "--fd", str(fd)], inherit=(fd,))
    place.open(resources)
    keys = resources.enter_context(_keys_of(job, place))  # the server waits for them
    _start_workers(job, crew, place, environment={"DCF_API_KEY": keys.worker})
    from dcf.tools.calling.client import connect

    client = stack.enter_context(connect(url, deadline_s=PATIENCE_S, api_key=keys.planner))
    return Planner(client, crew, place)


def start_without_server(job: Job, place: RunPlace, stack: ExitStack) -> Planner:
    """Start workers that have the control plane in their own process; they stop when the stack is closed."""
    from dcf.tools.calling.direct import DirectTools, control_plane_here

    application = place.open(stack)
    here = stack.enter_context(control_plane_here(application))
    crew = stack.enter_context(ChildProcesses(place.logs, {}))
    _start_workers(job, crew, place, "--direct")
    return Planner(DirectTools(here, PATIENCE_S), crew, place)


def _start_workers(
    job: Job, crew: ChildProcesses, place: RunPlace, *more: str, environment: Mapping[str, str] | None = None
) -> None:
    """Start the agents and workers of the run; raise when handlers or functions cannot be loaded, or one is missing."""
    if job.agents_file is not None:
        command = ["host", "--leash", "--lease-ttl", str(job.lease_ttl_s), *more, "--", str(job.agents_file)]
        crew.start_loaded("agents", command, "agents", _left(place), environment=environment)
    if job.workers is None:
        return
    options = ["--lease-ttl", str(job.lease_ttl_s), "--concurrency", str(job.concurrency), *_states(job), *more]
    first, *others = job.agent_ids
    commands = {
        agent_id: ["worker", "--leash", "--agent-id", agent_id, *options, "--", job.workers]
        for agent_id in job.agent_ids
    }
    crew.start_loaded(first, commands[first], "functions", _left(place), environment=environment)
    for agent_id in others:
        crew.start(agent_id, commands[agent_id], environment=environment)


def _left(place: RunPlace) -> float:
    return max(1.0, place.deadline - time.monotonic())


def _states(job: Job) -> list[str]:
    return [part for state in job.states for part in ("--state", state)]


@contextmanager
def _keys_of(job: Job, place: RunPlace) -> Iterator[_KeyPair]:
    """Make the API keys of this run, as soon as Redis takes writes, and delete them afterwards."""
    life_s = math.ceil(min(_LONGEST_S, job.timeout_s)) + _KEYS_OUTLIVE_S
    keys, obstacle = place.found.keys, place.obstacle
    with ExitStack() as made:

        def make(scopes: tuple[Scope, ...]) -> str:
            label = f"dcf run {job.run_id}"
            key = once_possible(
                lambda: keys.create(scopes, agent_id=None, label=label, life_s=life_s, remembered=False),
                obstacle.tell,
                place.deadline,
            )
            made.callback(_delete_key, place, key.record.key_id)
            return key.text

        pair = _KeyPair(planner=make(_PLANNER), worker=make(_WORKER))
        obstacle.tell(at_once=True)
        yield pair


def _delete_key(place: RunPlace, key_id: str) -> None:
    try:
        place.found.keys.delete(key_id)
    except DcfError as error:  # the outcome of the run is printed anyway
        log.warning("API key %s of this run was not deleted (%s); it expires automatically", key_id, error.message)
