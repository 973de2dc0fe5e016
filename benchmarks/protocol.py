"""The CPU of a server for a call: ours and the SDK's own floor, in alternating rounds (Linux only).

Each server is a process of its own, so that the client's work is not counted; its CPU is what /proc says of it.
"""

import os
import secrets
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from benchmarks import workloads
from benchmarks.figures import Row
from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.leasing.lease import Release

_TICK: Final = os.sysconf("SC_CLK_TCK")
_CALLS: Final = 200
_LISTS: Final = 40
_ROUNDS: Final = 5
_PATIENCE_S: Final = 60.0
_BOUND_MS: Final = 2.0
_KEYED: Final = "acquire_state_lease with an API key"
_TASK: Final = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server and a client of it."""

    pid: int
    client: Client

    def cpu_ms(self) -> float:
        """How much CPU its process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / _TICK

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must not fail."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result
        return result.structured_content or {}


Work = Callable[[], Awaitable[object]]


def measure_protocol(app: Application) -> list[Row]:
    """CPU of a call over HTTP (wire of 2026-07-28) and over stdio: of ours, and what it is beyond the SDK's floor."""
    if not Path("/proc/self/stat").exists():
        return []
    rows: list[Row] = []
    for transport in ("http", "stdio"):
        rows += anyio.run(_compare, transport, app)
    return rows


async def _compare(transport: str, app: Application) -> list[Row]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="dcf-bench-")))
        started = [_running(kind, transport, folder, app) for kind in _KINDS[transport]]
        bare, ours, *keyed = [await stack.enter_async_context(item) for item in started]
        works = await _works(app, bare, ours)
        for server in keyed:
            works[_KEYED] = server, _taking(app, server)
        spent: dict[str, list[float]] = defaultdict(list)
        for number in range(_ROUNDS + 1):
            for name, (server, work) in works.items():
                calls = _LISTS if "list" in name else _CALLS
                before = server.cpu_ms()
                for _ in range(calls):
                    await work()
                if number:  # the first round warms up
                    spent[name].append((server.cpu_ms() - before) / calls)
    figures = {name: statistics.median(read) for name, read in spent.items()}
    return list(_rows(transport, figures))


_KINDS: Final = {"http": ("bare", "dcf", "keyed"), "stdio": ("bare", "dcf")}


@asynccontextmanager
async def _running(kind: str, transport: str, folder: Path, app: Application) -> AsyncIterator[Server]:
    """Start a server, and end it; `keyed` is ours as others reach it, with an API key."""
    details = folder / f"{kind}.url"
    command = ["-m", "benchmarks.servers", kind, transport, str(details)]
    chosen = {"DCF_AUTH": "keys" if kind == "keyed" else "off", "DCF_PULSE_INTERVAL_S": "60"}
    environment = {**os.environ, "REDIS_URL": app.redis_url, "DCF_RATE_PER_S": "100000", **chosen}
    if transport == "stdio":
        parameters = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=Path.cwd())
        async with Client(parameters) as client:
            yield Server(pid=int((await _said(details)).split()[1]), client=client)
        return
    async with await anyio.open_process([sys.executable, *command], env=environment, stdout=None) as process:
        try:
            url, pid = (await _said(details)).split()
            async with (
                httpx2.AsyncClient(headers=_key(app) if kind == "keyed" else {}, timeout=_PATIENCE_S) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                yield Server(pid=int(pid), client=client)
        finally:
            process.terminate()


def _key(app: Application) -> dict[str, str]:
    key = app.keys.create(tuple(Scope), agent_id=None, label="benchmark", life_s=3600)
    return {"Authorization": f"Bearer {key.text}"}


async def _said(file: Path) -> str:
    deadline = time.monotonic() + _PATIENCE_S
    while not file.exists():  # noqa: ASYNC240 - another process writes it
        assert time.monotonic() < deadline, "the server does not start"
        await anyio.sleep(0.05)
    return file.read_text()  # noqa: ASYNC240


async def _works(app: Application, bare: Server, ours: Server) -> dict[str, tuple[Server, Work]]:
    run, key = f"bench-{secrets.token_hex(4)}", f"doc:bench-{secrets.token_hex(4)}"
    await ours.call("create_workflow_control_plane", workflow_json=_TASK, workflow_id=run, max_attempts=1000)
    await ours.call("json_create", redis_key=key, initial_json={"n": 1})
    state = {"workflow_id": run, "state": "A"}
    holding = await ours.call("acquire_state_lease", **state, owner_agent_id="bench", lease_ttl_s=3600)
    token = holding["lease"]["token"]
    return {
        "add": (bare, lambda: bare.call("add", a=1, b=2)),
        "json_read": (ours, lambda: ours.call("json_read", redis_key=key)),
        "renew_state_lease": (ours, lambda: ours.call("renew_state_lease", **state, lease_token=token)),
        "acquire_state_lease": (ours, _taking(app, ours)),
        "tools/list, bare": (bare, bare.client.list_tools),
        "tools/list": (ours, ours.client.list_tools),
    }


def _taking(app: Application, server: Server) -> Work:
    """Lease the first state of a run again and again; what gives it back is done here, and so not counted."""
    run = workloads.create(app.control_plane, workloads.chain(1))
    wish = {"workflow_id": run, "state": "S0000"}

    async def take() -> None:
        token = f"lease-{secrets.token_hex(16)}"
        await server.call("acquire_state_lease", **wish, owner_agent_id="bench", lease_token=token)
        app.control_plane.release(run, Release(state="S0000", token=token))

    return take


def _rows(transport: str, figures: dict[str, float]) -> Iterator[Row]:
    def row(subject: str, figure: float, unit: str = "ms CPU/call", bound: float | None = None) -> Row:
        return Row(what=f"{transport}: {subject}", figure=round(figure, 2), unit=unit, bound=bound)

    yield row("bare SDK, add", figures["add"])
    for name in ("json_read", "renew_state_lease", "acquire_state_lease"):
        yield row(name, figures[name])
        yield row(f"{name} beyond the SDK", figures[name] - figures["add"], bound=_BOUND_MS)
        yield row(f"{name} : add", figures[name] / figures["add"], "ratio")
    if _KEYED in figures:
        yield row(_KEYED, figures[_KEYED])
        yield row(f"{_KEYED}, beyond the SDK without", figures[_KEYED] - figures["add"], bound=_BOUND_MS)
    bare, ours = figures["tools/list, bare"], figures["tools/list"]
    yield row("tools/list of the bare SDK", bare)
    yield row("tools/list, cached", ours)
    yield row("tools/list, cached : bare", ours / bare, "ratio", 1.0)
