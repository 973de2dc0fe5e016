"""`python -m benchmarks.waiting`: what agents cost a `dcf serve` while they wait, and how fast one of them is woken.

The agents are sockets of this process that each sent one long poll. Memory and CPU are those of the server's process as
/proc has them (Linux only). All of it ends on its own.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.tools.http.server import files_for

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_TICK: Final = os.sysconf("SC_CLK_TCK")
_POLL_S: Final = 50
_AT_ONCE: Final = 50
_WARM: Final = 100
_WAKES: Final = 200
_PATIENCE_S: Final = 60.0
_IDLE_S: Final = 5.0
_OWN_FILES: Final = 200
_BOUND_KB: Final = 90
_BOUND_CONNECTIONS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server of dcf."""

    pid: int
    host: str
    port: int

    def kilobytes(self) -> int:
        """How much memory of its process is in RAM."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii")
        return int(status.partition("VmRSS:")[2].split()[0])

    def cpu_s(self) -> float:
        """How much CPU its process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def poll(self, agent: str) -> bytes:
        """Return the request of an agent that waits."""
        arguments = {"agent_id": agent, "timeout_s": _POLL_S}
        params = {"name": "await_workflow_event", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: localhost:{self.port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(slots=True)
class Crowd:
    """Agents that wait on one server, each on a connection of its own."""

    served: Served
    connections: Connections
    agents: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=dict)

    async def grow(self, names: list[str]) -> None:
        """Let these agents wait, too; return when all of them are known to do so."""
        turns = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(self._enter(name, turns) for name in names))
        deadline = time.monotonic() + _PATIENCE_S
        commands: list[Command] = [("EXISTS", keys.inbox(name)) for name in names]
        while not all(await asyncio.to_thread(self.connections.send, *commands)):
            assert time.monotonic() < deadline, "not all of them wait"
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # what is left of beginning to wait does not count as waiting

    async def _enter(self, name: str, turns: asyncio.Semaphore) -> None:
        async with turns, asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_connection(self.served.host, self.served.port, limit=4096)
            self.agents[name] = reader, writer
            writer.write(self.served.poll(name))
            await writer.drain()

    async def wake(self, name: str, put: Any) -> float:
        """Put an event into an agent's inbox. Return the seconds until the agent has it."""
        reader, _ = self.agents[name]
        began = time.perf_counter()
        put(name, f"{name}:S:1:benchmark", {"n": 1})
        async with asyncio.timeout(_PATIENCE_S):
            await reader.readuntil(b'"n":1')
        return time.perf_counter() - began

    def leave(self) -> None:
        """End all waits."""
        for _, writer in self.agents.values():
            writer.transport.abort()


@contextmanager
def serving(app: Application, *arguments: str, **chosen: str) -> Iterator[Served]:
    """Run `dcf` with these arguments of a server, without keys, and with these variables added."""
    command = [sys.executable, "-m", "dcf", *arguments, "--port", "0", "--auth", "off", "--json"]
    environment = {**os.environ, **chosen, "REDIS_URL": app.redis_url}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            url = urlsplit(json.loads(process.stdout.readline())["url"])
            assert url.hostname is not None
            assert url.port is not None
            yield Served(pid=process.pid, host=url.hostname, port=url.port)
        finally:
            process.terminate()


def measure_waiting(app: Application, agents: int) -> list[Row]:
    """Memory, CPU and Redis connections of agents that wait, and the time until one of them has an event."""
    if not Path("/proc/self/status").exists():
        return []
    assert files_for(agents + _OWN_FILES) >= agents + _OWN_FILES, "this process may not open so many files"
    most = str(agents + _OWN_FILES)
    limits = {"DCF_MAX_CONNECTIONS": most, "DCF_MAX_CONNECTIONS_PER_PEER": most}
    with serving(app, "serve", "--transport", "http", **limits) as served:
        return asyncio.run(_measured(app, served, agents))


async def _measured(app: Application, served: Served, agents: int) -> list[Row]:
    connections, probe = Connections(open_pool(app.redis_url)), Probe(app.redis_url)
    crowd = Crowd(served, connections)
    names = [f"bench-{os.getpid()}-{number}" for number in range(agents + _WARM)]
    try:
        await crowd.grow(names[:_WARM])
        before, lines = served.kilobytes(), _clients(connections)
        await crowd.grow(names[_WARM:])
        each = (served.kilobytes() - before) / agents
        opened = _clients(connections) - lines
        spent = served.cpu_s()
        await asyncio.sleep(_IDLE_S)
        spent = (served.cpu_s() - spent) / _IDLE_S
        pings = [probe.ping() for _ in range(_WAKES)]
        woken = [await crowd.wake(name, app.inbox.put) for name in names[-_WAKES:]]  # their polls last longest
    finally:
        crowd.leave()
        connections.close()
    middle = statistics.median(woken)
    text = f"{agents} agents wait"
    return [
        Row(what=text, figure=round(each, 1), unit="KB/agent", bound=_BOUND_KB),
        Row(what=text, figure=opened, unit="more Redis connections", bound=_BOUND_CONNECTIONS),
        Row(what=text, figure=round(spent * 100, 1), unit="% of a core"),
        Row(what="an event is put in, its agent has it", figure=round(middle * 1000, 2), unit="ms, median"),
        Row(what="an event is put in, its agent has it", figure=round(middle / statistics.median(pings)), unit="PING"),
    ]


def _clients(connections: Connections) -> int:
    (clients,) = connections.send(("CLIENT", "LIST"))
    return len(clients.splitlines())


def main() -> None:
    """Measure on a fresh embedded server, and print the figures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--agents", type=int, default=1000, help="how many wait")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), redis_url=None)) as app,
    ):
        for row in measure_waiting(app, options.agents):
            print(f"{row.what}: {row.figure:g} {row.unit}")


if __name__ == "__main__":
    main()
