"""A server with dcf's limits, and sockets on which tests write bytes that no HTTP client would send."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from starlette.applications import Starlette

from dcf.settings.process import Settings
from dcf.tools.http.connections import LimitedProtocol
from dcf.tools.http.server import HttpServer

PATIENCE_S = 60.0
"""Seconds after which a socket gives up. No exchange here takes as long."""


class HeldClock(asyncio.SelectorEventLoop):
    """An event loop for which time passes only when a test lets it, until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self._now = super().time()
        self._is_held = True
        self._ahead = 0.0

    def time(self) -> float:
        return self._now if self._is_held else super().time() + self._ahead

    def let_pass(self, seconds: float) -> None:
        self._now += seconds

    def release(self) -> None:
        self._ahead = self._now - super().time()
        self._is_held = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server."""

    server: "_Server"
    port: int

    def let_pass(self, seconds: float) -> None:
        """Time passes for a server whose clock is held, and the server does what is due then."""
        loop = self.server.loop
        assert isinstance(loop, HeldClock)
        loop.call_soon_threadsafe(loop.let_pass, seconds)
        asyncio.run_coroutine_threadsafe(_take_turns(), loop).result(PATIENCE_S)

    def protocol(self) -> LimitedProtocol:
        """The server's end of the only connection."""
        (only,) = self.server.server_state.connections
        assert isinstance(only, LimitedProtocol)
        return only

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    @property
    def at_work(self) -> int:
        """Connections whose request is being answered."""
        return sum(
            isinstance(connection, LimitedProtocol) and connection.is_at_work
            for connection in self.server.server_state.connections
        )

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S, source_address=(source, 0))

    def ask(self, data: bytes, source: str = "127.0.0.1") -> bytes:
        """Send bytes on a new connection, and return everything until the server closes it."""
        with self.connect(source) as connection:
            connection.sendall(data)
            return rest(connection)


async def _take_turns() -> None:
    """Let the event loop do what is due now: it looks at its timers once in a turn."""
    for _ in range(3):
        await asyncio.sleep(0)


class _Server(HttpServer):
    """A server that says when it answers."""

    up: threading.Event
    loop: asyncio.AbstractEventLoop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.up.set()


def _run(server: _Server, listener: socket.socket, *, clock_is_held: bool) -> None:
    with asyncio.Runner(loop_factory=HeldClock if clock_is_held else None) as runner:
        runner.run(server.serve([listener]))


@contextmanager
def served(app: Starlette, settings: Settings, *, clock_is_held: bool = False) -> Iterator[Served]:
    """The app on a loopback port while the context lasts. With `clock_is_held`, only the test lets time pass."""
    server = _Server(app, settings, log_level="error", timeout_graceful_shutdown=1)
    server.up = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_run, args=(server, listener), kwargs={"clock_is_held": clock_is_held})
        thread.start()
        try:
            assert server.up.wait(PATIENCE_S)
            yield Served(server=server, port=listener.getsockname()[1])
        finally:
            server.should_exit = True
            if isinstance(server.loop, HeldClock):
                server.loop.call_soon_threadsafe(server.loop.release)
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def get(path: str, *headers: str) -> bytes:
    return _request(f"GET {path}", headers, b"")


def post(body: bytes, *headers: str, length: int | None = None) -> bytes:
    """A POST to /mcp; with a `length` the headers promise more than there is."""
    text = f"Content-Length: {len(body) if length is None else length}"
    kinds = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
    return _request("POST /mcp", (*kinds, text, *headers), body)


def _request(line: str, headers: tuple[str, ...], body: bytes) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode() + body


def head(connection: socket.socket) -> bytes:
    """Read the status line and headers of an answer."""
    head = b""
    while b"\r\n\r\n" not in head:
        more = connection.recv(1)
        assert more, f"it was closed after {head!r}"
        head += more
    return head


def body(connection: socket.socket) -> bytes:
    """Read an answer that tells its length, and return its body."""
    headers = head(connection).lower()
    length = int(headers.partition(b"content-length:")[2].split(b"\r\n")[0])
    body = b""
    while len(body) < length:
        more = connection.recv(length - len(body))
        assert more, f"it was closed after {body!r}"
        body += more
    return body


def rest(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    result = bytearray()
    with suppress(ConnectionError):
        while more := connection.recv(65536):
            result += more
    return bytes(result)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])
