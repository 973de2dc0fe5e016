"""The checks of every path except /mcp before it carries a call out: Host and Origin, caller, size of the body.

The `routes.py` of capabilities define the paths and their calls.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.settings.process import Settings
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.limits import Meter

FREE: Final = 64 * 1024
"""Bytes of each body that are not counted. How many bodies there are is bounded by the limit of connections."""

_NO_KEY: Final = {"error": "invalid_token", "error_description": "Authentication required"}
_NOT_READ: Final = {"error": "insufficient_scope", "error_description": "Required scope: read"}


def security_of(settings: Settings) -> TransportSecuritySettings:
    """Return by which names of this server, and from which origins, it may be called; the same for every path."""
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=settings.mcp_enable_dns_rebinding_protection,
        allowed_hosts=list(settings.mcp_allowed_hosts),
        allowed_origins=list(settings.mcp_allowed_origins),
    )


HostCheck = Callable[[Request], Awaitable[Response | None]]


def host_check(settings: Settings) -> HostCheck:
    """Return the check of Host and Origin for reading requests: it returns the refusal, or None."""
    return TransportSecurityMiddleware(security_of(settings)).validate_request


@dataclass(eq=False)
class HttpEndpoint(ABC):
    """A path as an ASGI application. `asks`: the server asks its callers for an API key."""

    is_json: ClassVar[bool] = True
    """Whether a body must be JSON, and say so."""

    application: Application
    who_calls: WhoCalls
    meter: Meter
    security: TransportSecuritySettings
    asks: bool
    _checks: TransportSecurityMiddleware = field(init=False)

    def __post_init__(self) -> None:
        """Make the check of Host and Origin, which is the same for all requests."""
        self._checks = TransportSecurityMiddleware(self.security)

    @abstractmethod
    async def answer(self, request: Request, body: bytes, caller: Caller) -> Response:
        """Carry the call out."""

    def caller_without_key(self, _: Request) -> Caller | None:
        """Return the caller without an API key where keys are required; None if no such caller is allowed."""
        return None

    def most_bytes(self, _: Request) -> int:
        """Return how long a body may be."""
        return self.application.settings.max_body_bytes

    def is_known(self, request: Request) -> bool:
        """Return True for a caller who showed an API key, or need not show one."""
        return not self.asks or isinstance(request.scope.get("user"), AuthenticatedUser)

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Find the caller, then read the body and carry the call out."""
        request = Request(scope, receive)
        caller = await self._checks.validate_request(request, is_post=self.is_json) or self._caller(request)
        if isinstance(caller, Response):
            await caller(scope, receive, send)
            return

        async def carried_out(scope: Connection, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            response = await self.answer(request, await request.body(), caller)
            await response(scope, receive, send)

        await RequestBodyLimitMiddleware(carried_out, self.most_bytes(request))(scope, receive, send)

    def _caller(self, request: Request) -> Caller | Response:
        """Return who calls, or why they may not."""
        if self.is_known(request):
            caller = self.who_calls()
            return caller if Scope.READ in caller.scopes else JSONResponse(_NOT_READ, 403)
        caller_without = self.caller_without_key(request)
        return caller_without or JSONResponse(_NO_KEY, 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
