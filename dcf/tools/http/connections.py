"""Bounds what connections may hold of an HTTP server: how many there are, and how long a request may take to arrive.

uvicorn has one limit for connections and requests together (`limit_concurrency`), which refuses health checks too, and
no deadline for headers or bodies. So its h11 protocol is extended here. Nothing here looks into a request beyond its
path, and nothing knows callers: their limits are in `bodies` and `verbs/limits.py`.

A connection that waits for a request is worth less than a new one. So when there are too many, the one that has waited
longest is closed, and a new connection is served however many others send nothing. Only when all are at work are new
ones turned away, and even then some are kept for health checks, of which the newest counts.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Final, Protocol

import h11
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from dcf.values.records import record
from dcf.verbs.authentication import HEALTH_PATHS

log = logging.getLogger(__name__)

SPARE: Final = 16
"""Connections beyond the limit that are kept for health checks."""

_FULL: Final = (
    "Too many connections: this server answers as many calls as it may (DCF_MAX_CONNECTIONS, of one address "
    "DCF_MAX_CONNECTIONS_PER_PEER). Try again in a moment, or at another server."
)
_CLOSE: Final = (b"connection", b"close")
FIRST_TURNS: Final = 3
"""Turns of the event loop after which what a client sent at once has been read."""


class Use(Enum):
    """The requests that a connection may make."""

    ANYTHING = "anything"
    HEALTH = "health checks only"
    NONE = "nothing"


class Limited(Protocol):
    """A connection as the limit sees it."""

    @property
    def is_new(self) -> bool:
        """True if what its client may have sent at once has not been read."""

    @property
    def is_at_work(self) -> bool:
        """True if it has a request that is being answered."""

    def give_way(self) -> None:
        """Close it at once."""


@dataclass(slots=True, kw_only=True)
class ConnectionLimit:
    """The connections of one server: at most `total`, of one address `per_peer`, and a few more for health checks."""

    total: int
    per_peer: int
    _members: dict[Limited, str] = field(default_factory=dict)
    _spare: dict[Limited, str] = field(default_factory=dict)
    _by_peer: Counter[str] = field(default_factory=Counter)

    def enter(self, member: Limited, peer: str) -> Use:
        """Take a connection in; close another one for it if need be."""
        if self._has_room(peer):
            self._members[member] = peer
            self._by_peer[peer] += 1
            return Use.ANYTHING
        if len(self._spare) < SPARE or self._make_way(self._spare, even_at_work=True):
            self._spare[member] = peer
            return Use.HEALTH
        return Use.NONE

    def leave(self, member: Limited) -> None:
        """Forget a connection. Idempotent."""
        self._spare.pop(member, None)
        peer = self._members.pop(member, None)
        if peer is not None:
            self._by_peer[peer] -= 1
            if not self._by_peer[peer]:
                del self._by_peer[peer]

    def served(self, member: Limited) -> None:
        """Note that a connection has got an answer: of those that wait it is now the last to be closed."""
        for members in (self._members, self._spare):
            if member in members:
                members[member] = members.pop(member)

    def _has_room(self, peer: str) -> bool:
        if self._by_peer[peer] >= self.per_peer:
            return self._make_way(member for member, other in self._members.items() if other == peer)
        return len(self._members) < self.total or self._make_way(self._members)

    def _make_way(self, members: Iterable[Limited], *, even_at_work: bool = False) -> bool:
        """Close the connection that has waited longest; return False if none waits."""
        waiting = (member for member in members if not member.is_new and (even_at_work or not member.is_at_work))
        longest = next(waiting, None)
        if longest is None:
            return False
        self.leave(longest)
        longest.give_way()
        return True


@record(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds that the headers and the body of a request may take to arrive.

    A client has `body_s` as well to take an answer that is ready.
    """

    headers_s: float
    body_s: float


_DOUBTFUL_LINES: Final = "A line of the headers ends without CR, or continues in the next line."
_LINES: Final = re.compile(rb"(?<!\r)\n|\n[ \t]")
_END: Final = re.compile(rb"\n\r?\n")
_OVERLAP: Final = 3


@dataclass(slots=True)
class HeadLines:
    """The bytes of a request up to the end of its headers, looked through as they arrive.

    h11 accepts a line that ends with LF alone, and a line that continues in the next line. A proxy may reject both.
    """

    _seen: bytearray = field(default_factory=bytearray)
    _is_whole: bool = False

    def doubtful_with(self, data: bytes) -> bool:
        """Return True if the headers, with these further bytes, have such a line."""
        if self._is_whole:
            return False
        begin = max(0, len(self._seen) - _OVERLAP)
        self._seen += data if self._seen else data.lstrip(b"\r\n")
        end = _END.search(self._seen, begin)
        self._is_whole = end is not None
        last = len(self._seen) if end is None else end.end()
        return _LINES.search(self._seen, begin, last) is not None


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol for one connection, with a place among the others and deadlines."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limit: ConnectionLimit,
        deadlines: Deadlines,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limit = limit
        self._deadlines = deadlines
        self._awaited: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._untaken: asyncio.TimerHandle | None = None
        self._turns = FIRST_TURNS
        self._request: asyncio.Task[None] | None = None
        self._head = HeadLines()

    @property
    def is_new(self) -> bool:
        """True if what its client may have sent at once has not been read."""
        return self._turns > 0

    @property
    def is_at_work(self) -> bool:
        """True if it has a request that is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def give_way(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find a place for the connection, and begin to wait for headers."""
        super().connection_made(transport)
        use = self._limit.enter(self, self.client[0] if self.client else "")
        if use is not Use.ANYTHING:
            log.warning("all connections are at work; a new one may be used for %s", use.value)
        if use is Use.NONE:
            self.give_way()
            return
        app = partial(_health_only, self.app) if use is Use.HEALTH else self.app
        self.app = partial(self._serve, app)
        transport.set_write_buffer_limits(0)  # so that `pause_writing` is called for any answer that is not read
        self._await("headers")
        self.loop.call_soon(self._one_turn)

    def _one_turn(self) -> None:
        self._turns -= 1
        if self._turns:
            self.loop.call_soon(self._one_turn)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the limit, and break the request off: the client no longer waits for its answer."""
        self._limit.leave(self)
        self._await(None)
        self._stop_untaken()
        if self._request is not None and self.is_at_work:
            self._request.cancel()
        super().connection_lost(exc)

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._request = asyncio.current_task()
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            if not self.transport.is_closing():
                raise
        finally:
            self._request = None

    def data_received(self, data: bytes) -> None:
        """Read what has arrived, and set the deadline of what is still to come."""
        if self.conn.their_state is h11.IDLE and self._head.doubtful_with(data):
            self.send_400_response(_DOUBTFUL_LINES)
            return
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on to the next request; without a part of one, uvicorn's timeout for idle connections counts."""
        self._head = HeadLines()
        if self._head.doubtful_with(self.conn.trailing_data[0]):  # it came before the answer to the one ahead of it
            self.transport.close()
            return
        super().on_response_complete()
        self._limit.served(self)
        if self.conn.trailing_data[0] or self.conn.their_state is not h11.IDLE:
            self._look()
        else:
            self._await(None)

    def pause_writing(self) -> None:
        """Give the client a time to take what has been written."""
        super().pause_writing()
        self._stop_untaken()
        self._untaken = self.loop.call_later(self._deadlines.body_s, self.give_way)

    def resume_writing(self) -> None:
        """Continue to write."""
        super().resume_writing()
        self._stop_untaken()

    def _stop_untaken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _look(self) -> None:
        their = self.conn.their_state
        if self.transport.is_closing() or their not in {h11.IDLE, h11.SEND_BODY}:
            self._await(None)
        else:
            self._await("headers" if their is h11.IDLE else "body")

    def _await(self, awaited: str | None) -> None:
        """Start the deadline of what is awaited now, unless it runs already."""
        if awaited == self._awaited:
            return
        self._awaited = awaited
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if awaited is not None:
            patience = self._deadlines.headers_s if awaited == "headers" else self._deadlines.body_s
            self._timer = self.loop.call_later(patience, self._too_late)

    def _too_late(self) -> None:
        """Answer 408, if nothing is answered yet, and close the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            text = f"The {self._awaited} of the request did not arrive in time.".encode()
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text)), _CLOSE]
            for event in (
                h11.Response(status_code=408, headers=headers, reason=b"Request Timeout"),
                h11.Data(data=text),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()


async def _health_only(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer health checks, refuse everything else, and close the connection afterwards."""

    async def send_last(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
        await send(message)

    if scope["path"] in HEALTH_PATHS:
        await app(scope, receive, send_last)
        return
    refusal = PlainTextResponse(_FULL, status_code=503, headers={"Retry-After": "1"})
    await refusal(scope, receive, send_last)
