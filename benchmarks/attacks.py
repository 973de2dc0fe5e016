"""`python -m benchmarks.attacks`: attack a server and ask it once a second how it is; prints a table, asserts nothing.

Each attack meets a new `dcf serve` with 256 open files and 512 MiB (of private memory, RLIMIT_DATA), as in a small
container. The attackers are another process on the same machine, so they also compete for its processors.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings

OPEN_FILES = 256
MEMORY_KIB = 512 * 1024
CONFINED = f'ulimit -n {OPEN_FILES} && ulimit -s 1024 && ulimit -d {MEMORY_KIB} && exec "$@"'
"""Runs a command with little of everything. The stack is that of each thread; it counts as private memory."""
BODY = 4 * 1024 * 1024
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """A server as an attacker knows it: where it is, and one key with the scope read."""

    host: str
    port: int
    key: str

    def head(self, length: int, *, keyed: bool = True) -> bytes:
        """Return the headers of a call."""
        key = f"Authorization: Bearer {self.key}\r\n" if keyed else ""
        return (
            f"POST /mcp HTTP/1.1\r\nHost: localhost:{self.port}\r\n{key}Content-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        ).encode()


Attack = Callable[[Target], Awaitable[None]]


async def unfinished_headers(target: Target) -> None:
    """Open a connection, send half a request, and wait to be thrown out."""
    reader, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: ")
    await writer.drain()
    await _read_to_end(reader, writer)


async def no_http_at_all(target: Target) -> None:
    """Send bytes that are no request."""
    reader, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(b"\x16\x03\x01 nonsense\r\n\r\n")
    await writer.drain()
    await _read_to_end(reader, writer)


async def strange_hosts(target: Target) -> None:
    """Send requests that are refused with a line in the log."""
    body = b"{}"
    head = target.head(len(body)).replace(b"Host: localhost", b"Host: " + b"x" * 8000)
    await _send(target, head + body)


async def half_bodies(target: Target) -> None:
    """Send half of a long body with a key, and wait."""
    await _send(target, target.head(BODY) + b" " * (BODY // 2))


async def nearly_whole_bodies(target: Target) -> None:
    """Send all of a long body but the last byte, and wait."""
    await _send(target, target.head(BODY) + b" " * (BODY - 1))


async def half_bodies_without_a_key(target: Target) -> None:
    """Send half of a long body without a key, and wait."""
    await _send(target, target.head(BODY, keyed=False) + b" " * (BODY // 2))


async def unknown_arguments(target: Target) -> None:
    """Call a tool with 350,000 arguments that it does not have."""
    await _call(target, UNKNOWN)


async def nearly_too_many_arguments(target: Target) -> None:
    """Call it with as many as a request may have, and long names."""
    await _call(target, ALLOWED)


async def empty_lists(target: Target) -> None:
    """Call a tool with a million empty lists."""
    await _call(target, LISTS)


async def lists_of_tools(target: Target) -> None:
    """Ask for the list of tools, which no rate limits."""
    await _call(target, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')


async def readiness(target: Target) -> None:
    """Ask whether it is ready, which takes a look at Redis and no key."""
    await _send(target, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")


async def answers_not_taken(target: Target) -> None:
    """Ask for long answers, and read none of them."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    reader, writer = await asyncio.open_connection(target.host, target.port, limit=1024)
    writer.write((target.head(len(body)) + body) * 50)
    with suppress(TimeoutError):
        await asyncio.wait_for(writer.drain(), PATIENCE_S)
    await asyncio.sleep(PATIENCE_S)
    writer.close()
    del reader


def _called(arguments: dict[str, object]) -> bytes:
    params = {"name": "read_workflow_control_plane", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


UNKNOWN = _called({f"a{number}": 1 for number in range(350_000)})
ALLOWED = _called({f"argument{number:08}": 1 for number in range(199_000)})
LISTS = _called({"workflow_id": "r", "states_json": [[]] * 1_000_000})

ATTACKS: dict[str, tuple[Attack, int]] = {
    "nothing": (unfinished_headers, 0),
    "300 connections with unfinished headers": (unfinished_headers, 300),
    "300 connections with no HTTP": (no_http_at_all, 300),
    "60 strange Host headers of 8 KB": (strange_hosts, 60),
    "60 half-sent bodies of 4 MiB": (half_bodies, 60),
    "60 bodies of 4 MiB without the last byte": (nearly_whole_bodies, 60),
    "300 half-sent bodies without a key": (half_bodies_without_a_key, 300),
    "24 calls with 350,000 unknown arguments": (unknown_arguments, 24),
    "24 calls with 199,000 unknown arguments": (nearly_too_many_arguments, 24),
    "24 calls with 1,000,000 empty lists": (empty_lists, 24),
    "24 times the list of tools": (lists_of_tools, 24),
    "300 times whether it is ready": (readiness, 300),
    "60 connections that take no answers": (answers_not_taken, 60),
}
"""By name: what one attacker does again and again, and how many do it at a time."""


async def _send(target: Target, data: bytes) -> None:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(data)
    with suppress(ConnectionError):
        await writer.drain()
    await _read_to_end(reader, writer)


async def _call(target: Target, body: bytes) -> None:
    await _send(target, target.head(len(body)).replace(b"Accept:", b"Connection: close\r\nAccept:") + body)


async def _read_to_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, TimeoutError):
        await asyncio.wait_for(reader.read(), PATIENCE_S)
    writer.close()


def _attack(name: str, target: Target, rounds: "multiprocessing.sharedctypes.Synchronized[int]") -> None:
    """Attack until this process is ended."""
    attack, attackers = ATTACKS[name]

    async def again_and_again() -> None:
        while True:
            with suppress(OSError):
                await attack(target)
            rounds.value += 1
            await asyncio.sleep(0.01)

    async def all_of_them() -> None:
        await asyncio.gather(*(again_and_again() for _ in range(attackers)))

    asyncio.run(all_of_them())


@dataclass(slots=True)
class Seen:
    """Observations of a server during an attack."""

    name: str
    health_ms: float = 0
    ready_ms: float = 0
    unanswered: dict[str, int] = field(default_factory=lambda: {"healthz": 0, "readyz": 0})
    rounds: int = 0
    peak_mib: float = 0
    log_kib: float = 0


def watch(target: Target, seconds: float, seen: Seen) -> None:
    """Ask once a second, on new connections as a kubelet does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        seen.health_ms = max(seen.health_ms, _asked(target, "healthz", seen))
        seen.ready_ms = max(seen.ready_ms, _asked(target, "readyz", seen))
        time.sleep(max(0.0, 1 - (time.monotonic() - begun)))


def _asked(target: Target, path: str, seen: Seen) -> float:
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(f"http://{target.host}:{target.port}/{path}", timeout=PATIENCE_S) as answer:
            answer.read()
    except OSError:
        seen.unanswered[path] += 1
    return 1000 * (time.monotonic() - begun)


@contextmanager
def server(folder: Path, redis_url: str, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start `dcf serve` with little of everything."""
    command = [
        "/bin/sh",
        "-c",
        CONFINED,
        "sh",
        sys.executable,
        "-m",
        "dcf",
        "serve",
        "--transport",
        "http",
        "--port",
        "0",
        "--json",
    ]
    environment = os.environ | {"REDIS_URL": redis_url, "DCF_DATA_DIR": str(folder), "DCF_AUTH": "keys"}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment)
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _peak_mib(pid: int) -> float:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(row.split()[1]) / 1024 for row in rows if row.startswith("VmHWM")), 0.0)


def measure(name: str, seconds: float, folder: Path, redis_url: str, key: str) -> Seen:
    """Attack a new server."""
    seen, log = Seen(name), folder / "server.log"
    with server(folder, redis_url, log) as (process, url):
        target = Target("127.0.0.1", urlsplit(url).port or 0, key)
        rounds = multiprocessing.Value("Q", 0)
        attackers = multiprocessing.Process(target=_attack, args=(name, target, rounds))
        attackers.start()
        watch(target, seconds, seen)
        seen.rounds = rounds.value
        attackers.kill()
        attackers.join()
        if process.poll() is None:
            seen.peak_mib = _peak_mib(process.pid)
        else:
            print(f"the server ended with {process.returncode}: {log.read_text()[-500:]}")
    seen.log_kib = log.stat().st_size / 1024
    return seen


def main() -> None:
    """Run the attacks one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", help="Part of an attack's name.", default="")
    args = parser.parse_args()
    print("| attack | /healthz, worst | /readyz, worst | unanswered of each | peak memory | log | attempts ended |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="dcfa-", dir="/tmp") as name:
        folder = Path(name)
        with open_application(Settings(redis_url=None, data_dir=folder / "data")) as application:
            key = application.keys.create((Scope.READ,), agent_id=None, label="attack", life_s=3600).text
            for attack in (item for item in ATTACKS if args.only in item):
                seen = measure(attack, args.seconds, folder, application.redis_url, key)
                missed = " and ".join(map(str, seen.unanswered.values()))
                print(
                    f"| {seen.name} | {seen.health_ms:.0f} ms | {seen.ready_ms:.0f} ms | {missed} "
                    f"| {seen.peak_mib:.0f} MiB | {seen.log_kib:.0f} KiB | {seen.rounds} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
