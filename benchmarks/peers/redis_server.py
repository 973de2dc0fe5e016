"""One Redis for every system that needs one: on loopback, with the log of dcf's own server (AOF, every second)."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from dcf.store.embedded.sources import find_program

_PATIENCE_S = 20


def free_port() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a server and yield its URL; end it afterwards."""
    port = free_port()
    with server_process(folder, port):
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def server_process(folder: Path, port: int, *further: str) -> Iterator[None]:
    """Start a server on this port, with further options, and wait until it answers; end it afterwards."""
    program = find_program()
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "logfile": str(folder / "redis.log"),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    loads = [word for module in program.modules for word in ("--loadmodule", str(module))]
    with subprocess.Popen([str(program.server), *words, *loads, *further], stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(f"redis://127.0.0.1:{port}/0")
            yield
        finally:
            process.kill()


def _wait_for(url: str) -> None:
    retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), int(_PATIENCE_S / 0.05))
    with redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.ConnectionError]) as client:
        client.ping()
