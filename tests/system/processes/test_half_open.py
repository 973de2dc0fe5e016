"""A server that may open few files, met by more connections than that."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx2
import pytest

from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site

pytestmark = pytest.mark.processes

OPEN_FILES = 256
ATTACKERS = 300
ROUNDS = 3


@pytest.fixture
def port(site: Site) -> Iterator[int]:
    """A server with 256 open files; what it logs goes to server.log."""
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
        yield int(json.loads(process.stdout.readline())["url"].rsplit(":", 1)[1].removesuffix("/mcp"))
    finally:
        process.terminate()
        process.wait(LONG)
        process.stdout.close()


def test_health_is_told_while_more_connections_are_half_open_than_there_are_files(site: Site, port: int) -> None:
    with ExitStack() as stack:
        for _ in range(ROUNDS):
            for _ in range(ATTACKERS):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), LONG))
                with suppress(ConnectionError):  # it may have been closed for a newer one
                    connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-")
            for path in ("healthz", "readyz"):
                assert httpx2.get(f"http://127.0.0.1:{port}/{path}", timeout=LONG, trust_env=False).status_code == 200
    logged = (site.folder / "server.log").read_text()
    assert "out of system resource" not in logged
    assert len(logged.splitlines()) < 10, logged[:2000]


def test_a_flood_of_nonsense_leaves_a_few_lines_in_the_log(site: Site, port: int) -> None:
    for _ in range(ATTACKERS):
        with socket.create_connection(("127.0.0.1", port), LONG) as connection, suppress(ConnectionError):
            connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
            connection.recv(1024)
    wait_until(lambda: "Invalid HTTP request" in (site.folder / "server.log").read_text(), LONG)
    assert len((site.folder / "server.log").read_text().splitlines()) < ATTACKERS / 3
