"""The HTTP server: uvicorn with dcf's limits on connections and on the time that a request may take to arrive."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from dcf.settings.process import Settings
from dcf.store.connection.pools import MOST_CONNECTIONS
from dcf.tools.http.connections import FIRST_TURNS, SPARE, ConnectionLimit, Deadlines, LimitedProtocol

if sys.platform != "win32":
    import resource

_AT_ONCE: Final = 4
"""Connections accepted in one turn of the event loop. asyncio takes as many as the backlog otherwise, and runs out of
files before any limit counts them. Few enough for the spare ones to hold those that are new."""
_QUEUED: Final = 512
"""Connections that the kernel keeps until they are accepted."""
_IDLE_S: Final = 75
"""Seconds that a connection may wait for its next request. Load balancers keep theirs for 60 s and Node for 4 s: where
the server closes first, a request that is just being sent fails. A new connection takes the place of an idle one."""
_OWN_FILES: Final = 96
"""Open files besides connections: the log, Redis, SPARE connections, and those that are just being accepted."""

assert _AT_ONCE * FIRST_TURNS < SPARE < _OWN_FILES / 2


def nothing() -> None:
    """Do nothing, where no answer waits for the server to stop."""


class HttpServer(uvicorn.Server):
    """uvicorn for one app, with the limits of the settings.

    `stopping` is called before the server waits for the last answers: it ends those that would never end.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, *, stopping: Callable[[], None] = nothing, **options: Any
    ) -> None:
        self._stopping = stopping
        limited = partial(
            LimitedProtocol,
            limit=connection_limit(settings),
            deadlines=Deadlines(headers_s=settings.header_timeout_s, body_s=settings.body_timeout_s),
        )
        protocol: Any = limited  # uvicorn calls it, whatever it is
        super().__init__(
            uvicorn.Config(app, http=protocol, ws="none", backlog=_AT_ONCE, timeout_keep_alive=_IDLE_S, **options)
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signal: `stopped_by_signals` does, from before the server starts."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, with the queue that the kernel should keep."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_QUEUED)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop to listen, and wait for the answers that are being given."""
        self._stopping()
        await super().shutdown(sockets)


@contextmanager
def stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """From now on a signal stops the server; after the block the first signal does what it did before.

    uvicorn captures signals only when its event loop runs, and raises them again inside of it. A signal before that
    would end the process in the middle of a start that has already announced its URL.
    """
    signals: list[int] = []

    def stop(number: int, _: object) -> None:
        signals.append(number)
        server.handle_exit(number, None)

    former = {number: signal.signal(number, stop) for number in HANDLED_SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    if signals:
        signal.raise_signal(signals[0])


def connection_limit(settings: Settings) -> ConnectionLimit:
    """Return the limit of the settings, or a smaller limit if this process may open only fewer files."""
    max_connections, per_peer = settings.max_connections, settings.max_connections_per_peer
    files = files_for(_OWN_FILES + max_connections + min(max_connections, MOST_CONNECTIONS)) - _OWN_FILES
    # A request in progress takes one more, to Redis; a request that waits for an event does not.
    total = max(1, min(max_connections, max(files // 2, files - MOST_CONNECTIONS)))
    return ConnectionLimit(total=total, per_peer=max(1, per_peer * total // max_connections))


def files_for(needed: int) -> int:
    """Return how many files this process may open; raise its own limit as far as allowed, if it needs more."""
    if sys.platform == "win32":
        return needed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return needed
    needed_files = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft < needed_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed_files, hard))
    return max(soft, needed_files)
