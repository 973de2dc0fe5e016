"""Bounds what the bodies of requests may hold of an HTTP server's memory, and refuses requests of doubtful framing.

A body is held from its first byte until its request is answered, and takes many times its length once it is parsed.
So all bodies together have a limit, and those of one caller a smaller one, so that no caller can use it up alone. The
first part of each body is not counted: ordinary calls, which are short, continue while long ones are refused.

Callers are told apart by their key; without keys there is one, who may use it all.
"""

from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dcf.settings.process import Settings
from dcf.tools.http.values import ValueCount
from dcf.verbs.endpoints import FREE

_TOO_LARGE: Final = 413
_BYTES: Final = "/artifacts/"
"""Where a body is no JSON, and is not parsed: what looks like values there is not counted."""

_SINGLE: Final = (b"host", b"origin", b"content-length", b"transfer-encoding")


class _TooMuch(Exception):
    """More than a request may be, or more bytes of bodies than are held at a time."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(slots=True, kw_only=True)
class BodyBudget:
    """The bytes of bodies that one server holds, of all callers and of each."""

    total: int
    per_caller: int
    held: int = 0
    _by_caller: Counter[str | None] = field(default_factory=Counter)

    def of(self, caller: str | None) -> "_HeldBody":
        """Return the share of one request."""
        return _HeldBody(budget=self, caller=caller)

    def take(self, caller: str | None, size: int) -> None:
        """Take bytes for a caller (None: there are no callers to tell apart); raise if they are too many."""
        if caller is not None and self._by_caller[caller] + size > self.per_caller:
            raise _TooMuch(429, "Too many bytes of long requests of this key at once.")
        if self.held + size > self.total:
            raise _TooMuch(503, "Too many bytes of long requests at once.")
        self.held += size
        self._by_caller[caller] += size

    def give_back(self, caller: str | None, size: int) -> None:
        """Give bytes back."""
        self.held -= size
        self._by_caller[caller] -= size
        if not self._by_caller[caller]:
            del self._by_caller[caller]


@dataclass(slots=True, kw_only=True)
class _HeldBody(AbstractContextManager["_HeldBody"]):
    """The bytes that one request has taken; they are returned to the budget when the block ends."""

    budget: BodyBudget
    caller: str | None
    received: int = 0
    taken: int = 0
    complete: bool = False

    def add(self, size: int) -> None:
        self.received += size
        more = max(0, self.received - FREE) - self.taken
        if more:
            self.budget.take(self.caller, more)
            self.taken += more

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.taken:
            self.budget.give_back(self.caller, self.taken)


def body_budget(settings: Settings) -> BodyBudget:
    """Return the budget of one server; the longest request allowed fits into it."""
    per_caller = max(settings.max_body_bytes, settings.max_caller_bodies_bytes)
    return BodyBudget(total=max(per_caller, settings.max_bodies_bytes), per_caller=per_caller)


class LimitedBodies:
    """Middleware, behind the one that finds the caller, that counts the bytes and values of bodies as they arrive."""

    def __init__(self, app: ASGIApp, budget: BodyBudget, max_values: int) -> None:
        self._app = app
        self._budget = budget
        self._max_values = max_values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer 413, 429 or 503 once it is too much, and nothing to a client that went away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        user = scope.get("user")
        caller = user.display_name if isinstance(user, AuthenticatedUser) else None
        values = ValueCount()
        with self._budget.of(caller) as share:

            async def counted() -> Message:
                message = await receive()
                if message["type"] == "http.disconnect" and not share.complete:
                    raise ClientDisconnect  # the SDK would log it as an error of its own
                share.add(len(message.get("body", b"")))
                if not scope["path"].startswith(_BYTES):
                    self._count(values, message.get("body", b""))
                share.complete = not message.get("more_body", False)
                return message

            try:
                await self._app(scope, counted, send)
            except _TooMuch as refusal:
                headers = {"Connection": "close"} | ({"Retry-After": "1"} if refusal.status != _TOO_LARGE else {})
                await PlainTextResponse(refusal.text, refusal.status, headers)(scope, receive, send)
            except ClientDisconnect:
                return

    def _count(self, values: ValueCount, part: bytes) -> None:
        values.add(part)
        if values.found > self._max_values:
            raise _TooMuch(
                _TOO_LARGE, f"More than {self._max_values} values in one request; send a long document as JSON text."
            )


class PlainFraming:
    """Middleware that refuses requests which two readers may understand differently, and closes their connection.

    A request with both Content-Length and Transfer-Encoding can smuggle another past a proxy; of two Origins a check
    sees one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        wrong = _doubtful(scope) if scope["type"] == "http" else None
        if wrong is None:
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(wrong, 400, {"Connection": "close"})(scope, receive, send)


def _doubtful(scope: Scope) -> str | None:
    counts = Counter(name for name, _ in scope["headers"] if name in _SINGLE)
    if counts[b"content-length"] and counts[b"transfer-encoding"]:
        return "Content-Length and Transfer-Encoding exclude each other."
    repeated = next((name for name, times in counts.items() if times > 1), None)
    return None if repeated is None else f"The header {repeated.decode().title()} is there more than once."
