"""Calls dcf's tools in this process, without a server and without the MCP SDK: for `--direct`.

Arguments, checks and answers are those of a server on standard input and output: the caller is the local user. Tools
that wait, and the timer loop, run on one event loop in a thread; every other tool runs in the thread that calls it.
"""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from anyio.from_thread import BlockingPortal, start_blocking_portal

import dcf.tools.mcp.selection  # noqa: F401 - it completes the tools
from dcf.application.application import Application
from dcf.core.access.model import local_caller
from dcf.errors import ToolCallFailed
from dcf.tools.calling.repeating import failure_of, repeated
from dcf.tools.mcp.pulse import keep_pulse
from dcf.values.json_text import Json
from dcf.verbs.envelope import Reply, call, call_here, waits
from dcf.verbs.limits import meter_of
from dcf.verbs.registry import TOOLS, ToolSpec

DEADLINE_S: Final = 60.0
_LAST_CALLS_S: Final = 10.0
"""How long closing waits for calls that run; each of them ends in a moment, or when Redis has not answered for long."""


class ControlPlaneHere:
    """The tools of this process. After `close` no call from any thread touches the application."""

    def __init__(self, application: Application, portal: BlockingPortal) -> None:
        self._application = application
        self._portal = portal
        self._specs: Mapping[str, ToolSpec] = TOOLS
        self._awaited_tools = frozenset(name for name, spec in self._specs.items() if waits(spec))
        self._caller = local_caller(operator=application.settings.allow_operator)
        self._meter = meter_of(application.settings)
        self._waiting: set[Future[Reply]] = set()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._running = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many calls wait for something to happen."""
        return len(self._waiting)

    def once(self, tool: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return the tool's answer; raise when the call was invalid or could not be carried out."""
        spec = self._specs.get(tool)
        if spec is None:
            raise ToolCallFailed("error", f"There is no tool '{tool}'.", "Check its name.")
        reply = self._awaited(spec, arguments) if tool in self._awaited_tools else self._run(spec, arguments)
        if reply.broken:
            raise failure_of(reply.payload)
        return dict(reply.payload)

    def close(self) -> None:
        """Break off what waits, wait for the calls that run, and refuse further ones."""
        with self._changed:
            self._closed = True
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, _LAST_CALLS_S)

    def _run(self, spec: ToolSpec, arguments: Mapping[str, Json]) -> Reply:
        with self._lock:
            self._refuse_when_closed()
            self._running += 1
        try:
            return call_here(spec, self._application, arguments, self._caller)
        finally:
            with self._lock:
                self._running -= 1
                if self._closed:
                    self._changed.notify_all()

    def _awaited(self, spec: ToolSpec, arguments: Mapping[str, Json]) -> Reply:
        work = partial(call, spec, self._application, arguments, self._caller, self._meter)
        with self._changed:
            self._refuse_when_closed()
            future: Future[Reply] = self._portal.start_task_soon(work)
            self._waiting.add(future)
        try:
            return future.result()
        except CancelledError:
            raise _closed() from None
        finally:
            with self._changed:
                self._waiting.discard(future)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise _closed()


class DirectTools:
    """Calls of the tools in this process, as `ToolClient` makes them at a server."""

    def __init__(self, here: ControlPlaneHere, deadline_s: float = DEADLINE_S) -> None:
        self._here = here
        self._deadline_s = deadline_s

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or the deadline passed."""
        return repeated(lambda _: self._here.once(tool, arguments), self._deadline_s)


@contextmanager
def control_plane_here(application: Application) -> Iterator[ControlPlaneHere]:
    """Yield the tools of this process; meanwhile its clock looks at all live runs, as a server's does."""
    with start_blocking_portal() as portal:
        clock = portal.start_task_soon(keep_pulse, application)
        here = ControlPlaneHere(application, portal)
        try:
            yield here
        finally:
            here.close()
            clock.cancel()
            with suppress(CancelledError):
                clock.result()
            portal.call(application.reader.close)


def _closed() -> ToolCallFailed:
    return ToolCallFailed("closed", "The control plane of this process was closed.", "Start it again.")
