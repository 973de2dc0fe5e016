"""The control plane of this machine as a place: each tool is called in this process, as the local user.

Only the module of the tool that is called is imported. The local user may do everything: who can reach Redis is
trusted already.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from dcf.cli import opening
from dcf.core.access.model import local_caller
from dcf.tools.calling.repeating import failure_of
from dcf.values.json_text import Json
from dcf.verbs.envelope import Reply, call, call_here, waits
from dcf.verbs.limits import meter_of
from dcf.verbs.registry import TOOLS, ToolSpec

if TYPE_CHECKING:
    from dcf.application.application import Application

_LAST_DELIVERIES_S: Final = 60.0
"""Seconds that a command waits for the delivery of its notifications: this process may be the only one."""


class ToolsHere:
    """The tools of this process. Arguments, checks and answers are those of a server."""

    def __init__(self, application: "Application") -> None:
        self._application = application
        self._caller = local_caller(operator=True)

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or could not be done."""
        spec = TOOLS.alone(tool)
        if waits(spec):
            import anyio

            reply = anyio.run(partial(self._awaited, spec, arguments))
        else:
            reply = call_here(spec, self._application, arguments, self._caller)
        if reply.broken:
            raise failure_of(reply.payload)
        if not spec.read_only:
            self._application.clock.finish(_LAST_DELIVERIES_S)
        return dict(reply.payload)

    async def _awaited(self, spec: ToolSpec, arguments: dict[str, Json]) -> Reply:
        try:
            return await call(spec, self._application, arguments, self._caller, meter_of(self._application.settings))
        finally:
            await self._application.reader.close()  # it belongs to this event loop


@contextmanager
def tools_here() -> Iterator[ToolsHere]:
    """Open the control plane of this machine."""
    with opening.application() as application:
        yield ToolsHere(application)
