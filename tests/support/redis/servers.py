"""Redis servers of other kinds than the embedded one: without modules, with a password, with little memory."""

import itertools
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dcf.store.embedded.sources import find_program
from tests.support.redis.documents import STORED
from tests.support.waiting import wait_until

_PROGRAM = find_program()
SERVER = str(_PROGRAM.server)
"""The server that dcf itself would start."""

LOAD_JSON = tuple(word for module in _PROGRAM.modules for word in ("--loadmodule", str(module)))
"""Options by which it loads RedisJSON; none where no wheel has it."""

MODULES = LOAD_JSON if STORED.name == "json" else ()
"""Options of a server that has what the documents of this run of the tests need."""

_FIRST_PORT = 10_000
"""The first port that is taken: below those that a kernel gives to any caller, so that none is given away
before a server listens at it, or while one is started again. Those of the buses of clusters, 10,000 above, are too."""

_PORTS = 1_000
"""Each worker of pytest-xdist has this number of its own, one after the other, from a random start."""

_NUMBERS = itertools.count(secrets.randbelow(_PORTS))


def free_port() -> int:
    """A free port."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    while True:
        port = _FIRST_PORT + worker * _PORTS + next(_NUMBERS) % _PORTS
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def redis_server(directory: Path, *options: str, with_json: bool = True, at: int | None = None) -> Iterator[int]:
    """A server on a loopback port, in memory only unless the options say otherwise; ends with the block."""
    port = at or free_port()
    modules = MODULES if with_json else ()
    plain = ("--bind", "127.0.0.1", "--save", "", "--dir", str(directory), "--repl-diskless-sync-delay", "0")
    with running("--port", str(port), *plain, *modules, *options):
        wait_until(lambda: listens(port))
        yield port


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [SERVER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def listens(place: int | Path, address: str = "127.0.0.1") -> bool:
    """Whether something on this port or unix socket answers, be it only with an error.

    That the file of a socket is there does not say so: a server makes it before it listens.
    """
    try:
        with _connected(place, address) as connection:
            connection.sendall(b"PING\r\n")
            reply = connection.recv(100)
    except OSError:
        return False
    return reply.startswith((b"+PONG", b"-NOAUTH"))


def listens_http(port: int) -> bool:
    """Whether an HTTP server on this loopback port answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"GET /ui/static/icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return connection.recv(100).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def _connected(place: int | Path, address: str) -> socket.socket:
    if isinstance(place, int):
        return socket.create_connection((address, place), timeout=1)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(1)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        raise
    return connection
