"""Task tokens over plain HTTP, for callers without MCP: `POST /task-tokens/success`, `/failure` and `/heartbeat`.

Each is the tool of that verb, behind the same checks of Host and Origin, limits and API keys as /mcp. The token stands
in the body, never in the URL, which logs keep. With `DCF_TASK_TOKENS=alone` it needs no API key beside it: such a
caller may do nothing else, is limited by its address as a key is, and sends short bodies only.
"""

from collections.abc import Mapping
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from dcf.application import Application
from dcf.core.access import Caller, Scope
from dcf.errors import DcfError, InvalidArgument
from dcf.tools.authentication import WhoCalls
from dcf.tools.envelope import Reply, call
from dcf.tools.http_bodies import FREE
from dcf.tools.limits import Meter
from dcf.tools.registry import TOOLS, ToolSpec
from dcf.values.json_text import Json, dump, parse

PATH: Final = "/task-tokens"

_VERBS: Final = {
    "success": "send_task_success",
    "failure": "send_task_failure",
    "heartbeat": "send_task_heartbeat",
}
_CODES: Final = {
    200: ("ok",),
    400: ("invalid_argument",),
    403: ("forbidden",),
    404: ("task_token_unknown",),
    409: ("task_token_used",),
    410: ("task_token_outdated",),
    413: ("too_large",),
    422: ("output_invalid",),
    429: ("quota_exceeded", "rate_limited"),
    500: ("internal_error",),
}
_STATUSES: Final = {code: status for status, codes in _CODES.items() for code in codes}
_FOR_NOW: Final = 503
"""The HTTP status of what is not named above: Redis does not answer, or the outcome is unknown; repeat the call."""

_NO_KEY: Final = {"error": "invalid_token", "error_description": "Authentication required"}
_NOT_READ: Final = {"error": "insufficient_scope", "error_description": "Required scope: read"}


def task_token_routes(
    application: Application, who_calls: WhoCalls, meter: Meter, security: TransportSecuritySettings, *, asks: bool
) -> list[Route]:
    """Return the routes of the tools that this server offers. `asks`: it asks its callers for an API key."""
    settings = application.settings
    if settings.read_only or (settings.toolsets and "people" not in settings.toolsets):
        return []
    return [
        Route(
            f"{PATH}/{verb}",
            _TaskTokenEndpoint(TOOLS[tool], application, who_calls, meter, security, asks),
            methods=["POST"],
        )
        for verb, tool in _VERBS.items()
    ]


class _TaskTokenEndpoint:
    """One verb as an ASGI application."""

    def __init__(
        self,
        spec: ToolSpec,
        application: Application,
        who_calls: WhoCalls,
        meter: Meter,
        security: TransportSecuritySettings,
        asks: bool,
    ) -> None:
        self._spec = spec
        self._application = application
        self._who_calls = who_calls
        self._meter = meter
        self._checks = TransportSecurityMiddleware(security)
        self._asks = asks

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Find the caller, then read the body and carry the call out."""
        request = Request(scope, receive)
        caller = await self._checks.validate_request(request, is_post=True) or self._caller(request)
        if isinstance(caller, Response):
            await caller(scope, receive, send)
            return

        async def carried_out(scope: Connection, receive: Receive, send: Send) -> None:
            response = await self._answer(await Request(scope, receive).body(), caller)
            await response(scope, receive, send)

        most = self._application.settings.max_body_bytes if _has_key(request) or not self._asks else FREE
        await RequestBodyLimitMiddleware(carried_out, most)(scope, receive, send)

    def _caller(self, request: Request) -> Caller | Response:
        """Return who calls, or why they may not."""
        if not self._asks:
            return self._who_calls()
        if _has_key(request):
            caller = self._who_calls()
            return caller if Scope.READ in caller.scopes else JSONResponse(_NOT_READ, 403)
        if self._application.settings.task_tokens == "alone" and "authorization" not in request.headers:
            peer = "unknown" if request.client is None else request.client.host
            return Caller(name=f"task-token:{peer}", scopes=frozenset({Scope.WORK}))
        return JSONResponse(_NO_KEY, 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})

    async def _answer(self, body: bytes, caller: Caller) -> Response:
        try:
            arguments = _arguments(body, self._application.settings.max_body_bytes)
        except DcfError as error:
            told = self._spec.answer(error=f"{error.code}: {error.message}", code=error.code, hint=error.hint)
            return _response(told.payload())
        reply: Reply = await call(self._spec, self._application, arguments, caller, self._meter)
        return _response(reply.payload)


def _has_key(request: Request) -> bool:
    return isinstance(request.scope.get("user"), AuthenticatedUser)


def _arguments(body: bytes, max_bytes: int) -> dict[str, Json]:
    """Return the body as arguments of the tool; `output` is any JSON value, which the tool takes as JSON text."""
    try:
        found = parse(body.decode(), name="The body", max_bytes=max_bytes)
    except UnicodeDecodeError:
        raise InvalidArgument("The body is not UTF-8 text.", "Send JSON.") from None
    if not isinstance(found, dict):
        raise InvalidArgument("The body is not a JSON object.", 'Send {"task_token": "...", "output": ...}.')
    if "output" not in found:
        return found
    return {**{name: value for name, value in found.items() if name != "output"}, "output_json": dump(found["output"])}


def _response(payload: Mapping[str, Json]) -> Response:
    wait = payload.get("retry_after_s")
    headers = {"Cache-Control": "no-store"} | ({} if wait is None else {"Retry-After": str(max(1, round(wait)))})
    return JSONResponse(dict(payload), _STATUSES.get(payload["code"], _FOR_NOW), headers)
