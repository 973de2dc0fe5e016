"""A server that may open few files, met by more connections than that."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.processes.conftest import _site
from tests.system.processes.site import LONG, Site

pytestmark = pytest.mark.processes

OPEN_FILES = 256
ATTACKERS = 300
ROUNDS = 3


@dataclass(frozen=True)
class SmallServer:
    """A server with 256 open files."""

    port: int
    log: Path

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture(scope="module")
def small() -> Iterator[SmallServer]:
    for site in _site():
        yield from _serve(site)


def _serve(site: Site) -> Iterator[SmallServer]:
    command = ["/bin/sh", "-c", f'ulimit -n {OPEN_FILES} && exec "$@"', "sh", sys.executable, "-m", "dcf", "serve"]
    with (site.folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--transport", "http", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=log,
            env=site.environment(),
            cwd=ROOT,
        )
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        yield SmallServer(int(url.rsplit(":", 1)[1].removesuffix("/mcp")), site.folder / "server.log")
    finally:
        process.terminate()
        process.wait(LONG)
        process.stdout.close()


def test_health_is_told_while_more_connections_are_half_open_than_there_are_files(small: SmallServer) -> None:
    before, url = len(small.lines()), f"http://127.0.0.1:{small.port}"
    with ExitStack() as stack:
        for _ in range(ROUNDS):
            for _ in range(ATTACKERS):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", small.port), LONG))
                with suppress(ConnectionError):  # it may have been closed for a newer one
                    connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-")
            for path in ("healthz", "readyz"):
                answer = httpx2.get(f"{url}/{path}", timeout=LONG, trust_env=False)
                assert answer.status_code == 200
    logged = small.lines()[before:]
    assert not [line for line in logged if "out of system resource" in line]
    assert len(logged) < 10, logged[:20]


def test_a_flood_of_nonsense_leaves_a_few_lines_in_the_log(small: SmallServer) -> None:
    before = len(small.lines())
    for _ in range(ATTACKERS):
        with socket.create_connection(("127.0.0.1", small.port), LONG) as connection, suppress(ConnectionError):
            connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
            connection.recv(1024)
    wait_until(lambda: any("Invalid HTTP request" in line for line in small.lines()), LONG)
    assert len(small.lines()) - before < ATTACKERS / 3
