"""API keys on Streamable HTTP: the SDK's bearer token hooks, with dcf's keys. Finds the caller; must not grant rights.

A request without a valid key gets 401 and the address of the metadata that says what is required (RFC 9728). A key
without the scope read gets 403. The metadata names no authorization server, because there is none: keys come from
`dcf keys add`.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from dcf.core.access.model import NOBODY, Caller, Scope, local_caller
from dcf.errors import DcfError, InvalidArgument
from dcf.settings.process import Settings
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.refusal_notes import RefusalNotes
from dcf.values.records import record, replace

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_LOOKUPS: Final = 8
"""Concurrent look-ups of keys. They do not use the threads of tools, which callers can exhaust."""

HEALTH_PATHS: Final = frozenset({"/healthz", "/readyz"})
METRICS_PATH: Final = "/metrics"
_NOT_LOOKED_UP: Final = "dcf.key_not_looked_up"
_NOT_SHOWN: Final = "(not kept)"

WhoCalls = Callable[[], Caller]


class AdmittedToken(AccessToken):
    """The SDK's AccessToken with dcf's caller; the caller's account says whether this call is one too many."""

    caller: Any


@record(frozen=True, slots=True)
class KeyVerifier:
    """Looks up bearer tokens, once for each request, and so counts the requests. No other class sees the key itself."""

    keys: AccessKeys
    refusals: RefusalNotes
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_LOOKUPS))

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the caller of this key as the SDK's AccessToken; None for an invalid key."""
        caller = await anyio.to_thread.run_sync(self.keys.admit, token, limiter=self.threads)
        if caller is None:
            await anyio.to_thread.run_sync(self.refusals.failed_login, token, limiter=self.threads)
            return None
        scopes = sorted(map(str, caller.scopes))
        return AdmittedToken(
            token=_NOT_SHOWN, client_id=caller.name, scopes=scopes, subject=caller.agent_id, caller=caller
        )


class Unavailable:
    """Middleware that answers 503 when Redis is unreachable while a key is looked up; clients retry a 503.

    Health checks need no key; a key sent with one is not looked up. Metrics say themselves that Redis is unreachable:
    their endpoint gets the request without its key, and with the mark that `could_not_look_up` reads.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 503."""
        if scope.get("path") in HEALTH_PATHS:
            scope = _without_key(scope)
        try:
            await self._app(scope, receive, send)
        except DcfError:  # unauthenticated callers do not get the details of a Redis error
            if scope.get("path") == METRICS_PATH and not could_not_look_up(scope):
                await self({**_without_key(scope), _NOT_LOOKED_UP: True}, receive, send)
                return
            answer = {"error": "temporarily_unavailable", "error_description": "Keys cannot be looked up now."}
            await JSONResponse(answer, status_code=503, headers={"Retry-After": "1"})(scope, receive, send)


def could_not_look_up(scope: Connection) -> bool:
    """Return True if a request came with a key that could not be looked up, since Redis is unreachable."""
    return scope.get(_NOT_LOOKED_UP) is True


def _without_key(scope: Connection) -> Connection:
    headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    return {**scope, "headers": headers}


def who_called_over_http() -> Caller:
    """Return the caller whose key came with the current request."""
    token = get_access_token()
    caller = token.caller if isinstance(token, AdmittedToken) else NOBODY
    assert isinstance(caller, Caller), "the verifier puts it there"
    return caller


def the_local_user(settings: Settings, grants: frozenset[Scope] = frozenset()) -> WhoCalls:
    """Return the caller where there are no keys: the local user, who started this process; with these scopes too."""
    local = local_caller(operator=settings.allow_operator)
    caller = replace(local, scopes=local.scopes | grants)
    return lambda: caller


def auth_settings(url: str) -> AuthSettings:
    """Return the SDK's settings for the protected URL; every key needs the scope read to connect."""
    resource = AnyHttpUrl(url)
    return AuthSettings(
        issuer_url=resource,
        resource_server_url=resource,
        required_scopes=[Scope.READ.value],
        validate_token_resource=False,  # a key is valid only at servers of the same Redis
    )


def metadata_route(url: str) -> Route:
    """Return the route of the protected resource metadata (RFC 9728)."""
    document = {
        "resource": url,
        "resource_name": "dcf control plane",
        "bearer_methods_supported": ["header"],
        "scopes_supported": [scope.value for scope in Scope],
    }

    async def metadata(_: Request) -> Response:
        return JSONResponse(document, headers={"Cache-Control": "public, max-age=3600"})

    return Route(f"{_WELL_KNOWN}{urlsplit(url).path.rstrip('/')}", metadata, methods=["GET"])


def refuse_exposure(settings: Settings, host: str, keys: AccessKeys) -> None:
    """Raise when it is unsafe to listen: elsewhere than on loopback without host names or keys, or without any key."""
    if host not in LOOPBACK:
        _refuse_others(settings, host)
    if settings.auth == "keys" and not keys.any_active():
        raise InvalidArgument(
            "Callers over HTTP need an API key, and there is none that opens anything.",
            "Make one with `dcf keys add`, or serve this machine only, to anybody on it, with --auth off.",
        )


def _refuse_others(settings: Settings, host: str) -> None:
    if settings.auth == "off":
        raise InvalidArgument(
            f"Without API keys (DCF_AUTH=off) only loopback is served, and {host} is not loopback.",
            "Leave DCF_AUTH unset and make keys with `dcf keys add`, or listen on 127.0.0.1.",
        )
    if not settings.names_hosts or not settings.mcp_enable_dns_rebinding_protection:
        raise InvalidArgument(
            f"Listening on {host} needs the host names by which clients call this server.",
            "Set DCF_MCP_ALLOWED_HOSTS, for example dcf.example,dcf.example:8337, and keep the check of hosts on.",
        )
