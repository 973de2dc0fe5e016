"""Finds who makes a request of the page: by the session in its cookie, or the local user where no keys are asked for.

The cookie has a random id and nothing else. The key behind it is looked up at every request, so that one that was
revoked, or whose scopes changed, ends or changes the session at once. The tools check the permissions.
"""

import hmac
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import DcfError, StoreUnavailable
from dcf.values.records import replace
from dcf.verbs.authentication import LOOPBACK, AdmittedToken, KeyVerifier, the_local_user
from dcf.verbs.limits import Meter, meter_of
from dcf.web.outcome import read_outcome
from dcf.web.visit import Visit

log = logging.getLogger(__name__)

COOKIE: Final = "dcf_session"
PATH: Final = "/ui"
LOGIN: Final = f"{PATH}/login"
BY_ITSELF: Final = "dcf-version"
"""Header of the automatic requests of an open page, which do not prolong its session."""

_LONGEST_ID: Final = 100


_UNKNOWN: Final = "Log-ins cannot be looked up now."
_ASK_AGAIN: Final = "Load the page again in a while. Where it stays so, its operator runs dcf doctor."


class PlainHttp(Exception):
    """The browser sends its requests unencrypted over a network, where no key and no session may go."""


@dataclass(frozen=True)
class Sessions:
    """The sessions of one server. `may_act`: its page may change things."""

    application: Application
    may_act: bool = False
    meter: Meter = field(init=False)
    verifier: KeyVerifier = field(init=False)
    _own: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def __post_init__(self) -> None:
        """Make what counts and verifies keys, as /mcp does."""
        object.__setattr__(self, "meter", meter_of(self.application.settings))
        object.__setattr__(self, "verifier", KeyVerifier(self.application.keys, self.application.refusals))

    @property
    def asks(self) -> bool:
        """Whether callers must log in with an API key."""
        return self.application.settings.auth != "off"

    async def visit(self, request: Request) -> Visit | None:
        """Return the visit that a request is part of; None for a caller who must log in."""
        if not self.asks:
            local = the_local_user(self.application.settings)()
            return self._visit(request, local, self._own)
        session_id = self.id_in(request)
        if session_id is None:
            return None
        find = partial(self.application.web_sessions.caller, session_id, prolongs=BY_ITSELF not in request.headers)
        with _telling_nothing():
            caller = await anyio.to_thread.run_sync(find, limiter=self.verifier.threads)
        if caller is None or Scope.READ not in caller.scopes:
            return None
        return self._visit(request, caller, session_id.encode())

    async def holds(self, request: Request, visit: Visit) -> bool:
        """Return whether this visit would still be let in as it was, for a stream that is open."""
        if not self.asks:
            return True
        session_id = self.id_in(request)
        if session_id is None:
            return False
        still = self.application.web_sessions.still
        now = await anyio.to_thread.run_sync(still, session_id, limiter=self.verifier.threads)
        return now is not None and now == replace(visit.caller, account=None)

    def _visit(self, request: Request, caller: Caller, secret: bytes) -> Visit:
        token = derived(secret, "form")
        return Visit(
            application=self.application,
            caller=caller,
            may_act=self.may_act,
            form_token=token,
            outcome=read_outcome(request, token),
        )

    def id_in(self, request: Request) -> str | None:
        """Return the id of a session in a request."""
        session_cookie = request.cookies.get(COOKIE)
        return (
            session_cookie
            if session_cookie and len(session_cookie) <= _LONGEST_ID and session_cookie.isascii()
            else None
        )

    async def admit(self, key: str) -> Caller | None:
        """Return the caller of a key, counted and noted as a key of /mcp is; None if the key is not valid."""
        with _telling_nothing():
            token = await self.verifier.verify_token(key)
        if token is None:
            return None
        assert isinstance(token, AdmittedToken), "the verifier makes it"
        caller: Caller = token.caller
        return caller

    async def begin(self, request: Request, key: str, response: Response) -> None:
        """Begin the session of a key that was admitted, and end the one that the browser had."""
        secure = is_secure(request)
        await self.end(request)
        begin = self.application.web_sessions.begin
        session_id = await anyio.to_thread.run_sync(begin, key, limiter=self.verifier.threads)
        life_s = self.application.settings.web_session_s
        response.set_cookie(
            COOKIE, session_id, max_age=life_s, path=PATH, secure=secure, httponly=True, samesite="strict"
        )

    async def end(self, request: Request) -> None:
        """End the session of a request, if it has one."""
        session_id = self.id_in(request)
        if session_id is not None:
            end = self.application.web_sessions.end
            await anyio.to_thread.run_sync(end, session_id, limiter=self.verifier.threads)


@contextmanager
def _telling_nothing() -> Iterator[None]:
    """Hide the details of an error of Redis from a visitor who is not known yet, as /mcp does; they are in the log."""
    try:
        yield
    except DcfError as error:
        log.warning("a log-in cannot be looked up: %s", error.message)
        raise StoreUnavailable(_UNKNOWN, _ASK_AGAIN) from None


def derived(secret: bytes, purpose: str) -> str:
    """Return a text that only those can know who know the secret, and from which it cannot be found."""
    return hmac.digest(secret, f"dcf web {purpose}".encode(), "sha256").hex()


def is_secure(request: Request) -> bool:
    """Return whether the browser's requests are encrypted; raise PlainHttp if they are not, and leave this machine."""
    origin = urlsplit(request.headers.get("origin") or str(request.url))
    if origin.scheme == "https":
        return True
    if origin.hostname not in LOOPBACK:
        raise PlainHttp
    return False
