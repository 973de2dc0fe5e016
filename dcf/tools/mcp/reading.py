"""Calls of tools that this server makes for a caller who reads a resource, a prompt or a completion.

They go the way of every call (`envelope`), as that caller: so scopes, limits and the audit hold. A refusal of a tool is
an error of the protocol here, with the tool's code, sentence and hint. A tool of a toolset that this server does not
serve cannot be read this way either.
"""

from collections.abc import Mapping
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from dcf.application.application import Application
from dcf.core.access.model import Caller
from dcf.tools.mcp.middleware import REFUSED
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.envelope import call
from dcf.verbs.limits import Meter
from dcf.verbs.listed_tools import ALL, profiles
from dcf.verbs.merged.answers import Asked, as_listed
from dcf.verbs.registry import TOOLS, ToolSpec, is_served

_CODES: Final[Mapping[str, int]] = {
    "rate_limited": REFUSED,
    "forbidden": REFUSED,
    "internal_error": INTERNAL_ERROR,
    "store_unavailable": INTERNAL_ERROR,
}
"""JSON-RPC codes of answers; all others mean that what was asked for is not there."""

_LISTED: Final = profiles()[ALL]
_OTHER_SERVER: Final = "Ask a server that serves it, or have the operator name it in DCF_TOOLSETS."


@record(frozen=True, slots=True)
class ToolReading:
    """The tools of this process, for the caller of the current request."""

    application: Application
    who_calls: WhoCalls
    meter: Meter

    @property
    def caller(self) -> Caller:
        """Who makes the current request."""
        return self.who_calls()

    def serves(self, spec: ToolSpec) -> bool:
        """Return True unless the server's settings leave the toolset out."""
        return is_served(spec, self.application.settings.toolsets)

    async def tool(self, name: str, **arguments: Json) -> Mapping[str, Json]:
        """Return a tool's answer; raise MCPError where it is not ok."""
        return await self.ask(TOOLS[name], **arguments)

    async def ask(self, spec: ToolSpec, **arguments: Json) -> Mapping[str, Json]:
        """Return the answer; raise MCPError where it is not ok."""
        if not self.serves(spec):
            why = f"forbidden: This server does not serve the toolset '{spec.toolset}'."
            raise MCPError(REFUSED, why, {"code": "forbidden", "hint": _OTHER_SERVER})
        reply = await call(spec, self.application, arguments, self.caller, self.meter)
        payload = as_listed(reply.payload, Asked(spec.name, spec.name, self.caller.scopes, _LISTED))
        code = payload["code"]
        if reply.broken or code != "ok":
            refusal = {name: payload.get(name) for name in ("code", "hint", "retry_after_s")}
            data = {name: value for name, value in refusal.items() if value is not None}
            raise MCPError(_CODES.get(code, INVALID_PARAMS), str(payload["error"]), data)
        return payload
