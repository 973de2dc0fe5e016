"""A TCP proxy process before Redis: it cuts, delays, swallows and holds back what passes, in either direction.

Where it strikes is drawn for each connection, in bytes, so that packets are torn anywhere. It shares a few numbers with
the process that started it: whether it may strike, how often it did, and where to lead who connects from now on.
"""

import asyncio
import mmap
import random
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.redis_servers import socket_of

_FORM: Final = struct.Struct("<qqq")
_BETWEEN: Final = 25_000
"""Bytes that pass one way between two faults, on average."""

_SHORT_S: Final = (0.002, 0.2)
_LONG_S: Final = (0.55, 0.9)
"""Longer than the clients of the lab wait: held bytes arrive after their sender has given up and asked again."""

_FAULTS: Final = ("cut", "cut", "delay", "swallow", "hold back")


class Controls:
    """The numbers shared with the proxy."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_FORM.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)

    def _get(self, index: int) -> int:
        return int(_FORM.unpack(self._map[:])[index])

    def _set(self, index: int, value: int) -> None:
        struct.pack_into("<q", self._map, 8 * index, value)

    @property
    def may_strike(self) -> bool:
        """Whether packets are broken now."""
        return bool(self._get(0))

    @may_strike.setter
    def may_strike(self, value: bool) -> None:
        self._set(0, int(value))

    @property
    def struck(self) -> int:
        """How many packets were broken."""
        return self._get(1)

    def count(self) -> None:
        """Note one more broken packet."""
        self._set(1, self.struck + 1)

    @property
    def target(self) -> int:
        """The port that new connections are led to."""
        return self._get(2)

    @target.setter
    def target(self, port: int) -> None:
        self._set(2, port)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDuty:
    """Input of a proxy process. `sockets` is the directory with the unix sockets of servers in other networks."""

    port: int
    controls: Path
    sockets: Path | None = None
    seed: int = 0


def main(duty: ProxyDuty) -> None:
    """Pass packets on until killed."""
    asyncio.run(_serve(duty))


async def _serve(duty: ProxyDuty) -> None:
    controls, count = Controls(duty.controls), 0

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        with suppress(OSError):
            there = await _connected(duty, controls.target)
            luck = random.Random(f"{duty.seed} {count}")
            ways = (_Way(reader, there[1], controls, luck), _Way(there[0], writer, controls, luck))
            tasks = [asyncio.ensure_future(way.run()) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            there[1].close()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", duty.port)
    async with server:
        await server.serve_forever()


async def _connected(duty: ProxyDuty, target: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if duty.sockets is None:
        return await asyncio.open_connection("127.0.0.1", target)
    return await asyncio.open_unix_connection(socket_of(duty.sockets, target))


@dataclass(slots=True)
class _Way:
    """One direction of a connection. It ends when a side closes, or by a cut."""

    source: asyncio.StreamReader
    target: asyncio.StreamWriter
    controls: Controls
    luck: random.Random

    async def run(self) -> None:
        left = self._draw()
        with suppress(OSError):
            while data := await self.source.read(1 << 16):
                if not self.controls.may_strike or len(data) < left:
                    left -= len(data) if self.controls.may_strike else 0
                    await self._pass(data)
                    continue
                if not await self._break(data, left):
                    return
                left = self._draw()

    def _draw(self) -> int:
        return int(self.luck.expovariate(1 / _BETWEEN)) + 1

    async def _pass(self, data: bytes) -> None:
        self.target.write(data)
        await self.target.drain()

    async def _break(self, data: bytes, at: int) -> bool:
        """Do something to a packet at this byte; return True if the connection continues."""
        self.controls.count()
        fault = self.luck.choice(_FAULTS)
        if fault == "delay":
            await asyncio.sleep(self.luck.uniform(*_SHORT_S))
            await self._pass(data)
            return True
        if fault == "hold back":
            task = asyncio.ensure_future(self._later(data))
            await asyncio.shield(task)
            return True
        if self.luck.random() < 0.7:  # torn, else lost as a whole
            await self._pass(data[:at])
        if fault == "swallow":
            while await self.source.read(1 << 16):
                pass
        return False

    async def _later(self, data: bytes) -> None:
        """Pass it on late, even if its sender has gone meanwhile."""
        await asyncio.sleep(self.luck.uniform(*_LONG_S))
        with suppress(OSError):
            await self._pass(data)
