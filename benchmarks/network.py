"""What one packet in place of two gains: on loopback, where it costs more, and with a network of 1 ms in between."""

import asyncio
import multiprocessing
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.runs import way
from dcf.application.application import Application
from dcf.features import installed_decisions, installed_runs  # noqa: F401 - before the first decision
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore

_ROUNDS: Final = 5
_STATES: Final = 60
_NEVER: Final = 1e9
_ONE_WAY_S: Final = 0.0005
_LEAST: Final = 1.25


def measure_network(app: Application) -> list[Row]:
    """Time a chain by one worker with two packets a step and with one, in turns."""
    with delayed(app.redis_url) as far:
        return [
            Row(what="chain on loopback, two packets : one", figure=_gain(app.redis_url), unit="ratio"),
            Row(what="chain with a network of 1 ms, two packets : one", figure=_gain(far), unit="ratio", least=_LEAST),
        ]


def _gain(url: str) -> float:
    first, two = _plane(url, 0.0), _plane(url, _NEVER)
    taken: dict[ControlPlane, list[float]] = {first: [], two: []}
    for _ in range(_ROUNDS):
        for plane, times in taken.items():
            run = workloads.create(plane, workloads.chain(_STATES))
            before = time.perf_counter()
            workloads.carry_out(plane, run, way)
            times.append(time.perf_counter() - before)
    return round(statistics.median(taken[two]) / statistics.median(taken[first]), 2)


def _plane(url: str, one_packet_from_s: float) -> ControlPlane:
    connections = Connections(open_pool(url))
    return ControlPlane(RunStore(connections, one_packet_from_s=one_packet_from_s), RunIndex(connections))


@contextmanager
def delayed(url: str) -> Iterator[str]:
    """Yield a URL through which every byte takes half a millisecond more, in either direction."""
    parts = urlsplit(url)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = multiprocessing.Process(target=_relay, args=(listener, url), daemon=True)
        process.start()
        try:
            login = parts.netloc.rpartition("@")[0]
            yield f"redis://{login}@127.0.0.1:{port}" if login else f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.join()


def _relay(listener: socket.socket, url: str) -> None:
    asyncio.run(_serve(listener, url))


async def _serve(listener: socket.socket, url: str) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(url)
        if parts.scheme == "unix":
            there, back = await asyncio.open_unix_connection(parts.path)
        else:
            there, back = await asyncio.open_connection(parts.hostname, parts.port or 6379)
        await asyncio.gather(_carry(reader, back), _carry(there, writer))

    server = await asyncio.start_server(connected, sock=listener)
    async with server:
        await server.serve_forever()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, a while later and in order."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(1 << 16):
        loop.call_later(_ONE_WAY_S, writer.write, data)
    loop.call_later(_ONE_WAY_S, writer.close)
