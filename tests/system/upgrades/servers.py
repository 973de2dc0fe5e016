"""Servers of this version or of an earlier one, each a process on the Redis that it is given."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.extras import Calls
from lab.http_verbs import connected
from lab.serving import answers
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until

_STARTED_S: Final = 120
_SETTINGS: Final = {
    "DCF_PULSE_INTERVAL_S": "0.1",
    "DCF_ALLOW_OPERATOR": "true",
    "DCF_WEBHOOK_ENDPOINTS": "http://127.0.0.1:9/",
}


def command(*arguments: str) -> list[str]:
    """Return the command line of `dcf` of the version that is on the path of the environment."""
    return [sys.executable, "-m", "dcf", *arguments]


def environment(redis_port: int, program: Path | None) -> dict[str, str]:
    """Return the environment of a process of the version in a directory; None is this one."""
    result = {**os.environ, **_SETTINGS, "REDIS_URL": f"redis://127.0.0.1:{redis_port}"}
    return result if program is None else result | {"PYTHONPATH": str(program)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs: where it is, and calls to it."""

    url: str
    calls: Calls


@contextmanager
def served(redis_port: int, log: Path, program: Path | None = None) -> Iterator[Server]:
    """Run a server until the block ends."""
    port = free_port()
    serve = command("serve", "--transport", "http", "--port", str(port), "--auth", "off")
    url = f"http://127.0.0.1:{port}"
    settings = environment(redis_port, program) | {"DCF_SERVER_URL": f"{url}/mcp"}
    with log.open("ab") as out, subprocess.Popen(serve, env=settings, cwd=program, stdout=out, stderr=out) as process:
        try:
            wait_until(lambda: answers(port) or process.poll() is not None, _STARTED_S)
            assert process.poll() is None, log.read_text("utf-8")[-2000:]
            with connected([f"{url}/mcp"], None) as there:
                yield Server(url=url, calls=Calls(there, ""))
        finally:
            process.terminate()
            process.wait(_STARTED_S)
