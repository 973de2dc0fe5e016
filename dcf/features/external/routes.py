"""Task tokens over plain HTTP, for callers without MCP: `POST /task-tokens/success`, `/failure` and `/heartbeat`.

Each is the tool of that verb, behind the same checks of Host and Origin, limits and API keys as /mcp. The token is in
the body, never in the URL, which logs keep. With `DCF_TASK_TOKENS=alone` it needs no API key: such a
caller may do nothing else, is limited by its address as a key is, and sends short bodies only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import DcfError, InvalidArgument
from dcf.values.json_text import Json, dump, parse
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.endpoints import FREE, HttpEndpoint
from dcf.verbs.envelope import Reply, call
from dcf.verbs.limits import Meter
from dcf.verbs.registry import TOOLS, ToolSpec, is_served

PATH: Final = "/task-tokens"

_VERBS: Final = {"success": "send_task_success", "failure": "send_task_failure", "heartbeat": "send_task_heartbeat"}
_CODES: Final = {
    200: ("ok",),
    400: ("invalid_argument",),
    403: ("forbidden",),
    404: ("task_token_unknown", "unknown_run"),
    409: ("task_token_used",),
    410: ("task_token_outdated",),
    413: ("too_large",),
    422: ("output_invalid",),
    429: ("quota_exceeded", "rate_limited"),
    500: ("internal_error",),
}
STATUSES: Final = {code: status for status, codes in _CODES.items() for code in codes}
_VALUES: Final = frozenset({"output", "usage"})
"""Members of a body that are JSON values."""

_FOR_NOW: Final = 503
"""The HTTP status of what is not named above: Redis does not answer, or the outcome is unknown; repeat the call."""


def task_token_routes(
    application: Application, who_calls: WhoCalls, meter: Meter, security: TransportSecuritySettings, *, asks: bool
) -> list[Route]:
    """Return the routes of the tools that this server offers. `asks`: it asks its callers for an API key."""
    settings = application.settings
    if settings.read_only:
        return []
    return [
        Route(
            f"{PATH}/{verb}",
            _TaskTokenEndpoint(application, who_calls, meter, security, asks, spec=TOOLS[tool]),
            methods=["POST"],
        )
        for verb, tool in _VERBS.items()
        if is_served(TOOLS[tool], settings.toolsets)
    ]


@dataclass(eq=False)
class _TaskTokenEndpoint(HttpEndpoint):
    """One verb, carried out by its tool."""

    spec: ToolSpec = field(kw_only=True)

    def caller_without_key(self, request: Request) -> Caller | None:
        """Return the caller whose task token is enough, where that is allowed and the request has no key."""
        if self.application.settings.task_tokens != "alone" or "authorization" in request.headers:
            return None
        peer = "unknown" if request.client is None else request.client.host
        return Caller(name=f"task-token:{peer}", scopes=frozenset({Scope.WORK}))

    def most_bytes(self, request: Request) -> int:
        """Return how long a body may be: short from callers without a key."""
        return super().most_bytes(request) if self.is_known(request) else FREE

    async def answer(self, _: Request, body: bytes, caller: Caller) -> Response:
        """Call the tool of the verb."""
        try:
            arguments = _arguments(body, self.application.settings.max_body_bytes)
        except DcfError as error:
            answered = self.spec.answer(error=f"{error.code}: {error.message}", code=error.code, hint=error.hint)
            return _response(answered.payload())
        reply: Reply = await call(self.spec, self.application, arguments, caller, self.meter)
        return _response(reply.payload)


def _arguments(body: bytes, max_bytes: int) -> dict[str, Json]:
    """Return the body as arguments of the tool; `output` and `usage` are JSON values, which the tool takes as text."""
    try:
        parsed = parse(body.decode(), name="The body", max_bytes=max_bytes)
    except UnicodeDecodeError:
        raise InvalidArgument("The body is not UTF-8 text.", "Send JSON.") from None
    if not isinstance(parsed, dict):
        raise InvalidArgument("The body is not a JSON object.", 'Send {"task_token": "...", "output": ...}.')
    return {f"{name}_json" if name in _VALUES else name: dump(value) if name in _VALUES else value
            for name, value in parsed.items()}  # fmt: skip


def _response(payload: Mapping[str, Json]) -> Response:
    wait = payload.get("retry_after_s")
    headers = {"Cache-Control": "no-store"} | ({} if wait is None else {"Retry-After": str(max(1, round(wait)))})
    return JSONResponse(dict(payload), STATUSES.get(payload["code"], _FOR_NOW), headers)
