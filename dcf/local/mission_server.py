"""Serves Mission Control for one directory in the process of the server itself: `dcf serve --profile mission-control`.

Middleware of the SDK's server. It stands before the profile's tools as `dcf agents local` stands before a server.
"""

from typing import Any

from mcp.server.context import CallNext, ServerRequestContext

from dcf.errors import DcfError
from dcf.local.deepwork.tool_calls import CallsHere
from dcf.local.mission_control import PROFILE, MissionCall, is_one, rejected
from dcf.local.working_root import WorkingDirectory
from dcf.values.records import record

Context = ServerRequestContext[Any, Any]


@record(frozen=True, slots=True)
class MissionServer:
    """Middleware that does for each call what needs the disk of the directory."""

    place: WorkingDirectory

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """Answer calls of the profile's tools that need the disk; pass everything else on."""
        params = ctx.params or {}
        name = str(params.get("name"))
        if ctx.method != "tools/call" or not is_one(PROFILE, name):
            return await call_next(ctx)
        inner = CallsHere(ctx, call_next)
        call = MissionCall(name, dict(params.get("arguments") or {}), self.place, inner)
        try:
            prepared = await call.prepared()
        except DcfError as error:
            return rejected(error)
        return await call.finished(await inner.passed_on({**params, "arguments": prepared}))
