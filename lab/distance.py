"""A way that takes time: bytes arrive a given number of seconds later, in order.

It stands for the distance between two regions, since not every kernel can delay packets. It is run as a program in the
network of one region (`PORT HOST HOST'S-PORT SECONDS`), and needs the standard library alone.
"""

import asyncio
import sys
from contextlib import suppress

_CONNECT_S = 1.0


async def _serve(port: int, host: str, there: int, delay_s: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            source, target = await asyncio.wait_for(asyncio.open_connection(host, there), _CONNECT_S)
            ways = [_carry(reader, target, delay_s), _carry(source, writer, delay_s)]
            await asyncio.wait([asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
            target.close()
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", port) as server:
        await server.serve_forever()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float) -> None:
    """Pass on what one side sends, until it closes and everything has arrived."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def arrive() -> None:
        while (result := await under_way.get())[1]:
            await asyncio.sleep(result[0] - loop.time())
            target.write(result[1])
            await target.drain()

    async def leave() -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                under_way.put_nowait((loop.time() + delay_s, data))
        under_way.put_nowait((0.0, b""))

    with suppress(OSError):
        await asyncio.gather(leave(), arrive())


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
