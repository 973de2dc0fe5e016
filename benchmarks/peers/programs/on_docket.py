"""docket: a step is a task; when it is done it adds the next ones. A step with several upstreams is counted in Redis.

Tasks have keys, so that one that is added twice runs once while docket remembers it.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import timedelta

import redis
from docket import Docket, Worker

from benchmarks.peers.programs.parts import COUNTS, ENDED, Notes, Order, drive, read_options, say, wait_for_end
from benchmarks.peers.programs.shapes import graph

ROLE, OPTIONS = read_options()
NOTES = Notes(OPTIONS)
DOCKETS: list[Docket] = []
LOOK = timedelta(milliseconds=1)
"""A worker whose slots are all taken sleeps so long before it looks again. The default, 250 ms, makes four steps a
second at concurrency 1."""


async def step(run: str, shape: str, size: int, node: int) -> None:
    """Do nothing, then add what follows."""
    NOTES.begin(node)
    if OPTIONS.step_s:
        await asyncio.sleep(OPTIONS.step_s)
    NOTES.end(node)
    order, expected = Order(run=run, shape=shape, size=size), graph(shape, size)
    following = expected.children[node]
    if following:
        await add(order, [child for child in following if await is_ready(run, child, expected.upstreams[child])])
    elif await is_ready(run, -1, expected.leaves):
        async with DOCKETS[0].redis() as client:
            await client.lpush(ENDED.format(run), 1)


async def is_ready(run: str, node: int, upstreams: int) -> bool:
    """Count one of the steps that a step waits for; whether it was the last."""
    if upstreams == 1:
        return True
    async with DOCKETS[0].redis() as client:
        return bool(await client.hincrby(COUNTS.format(run), str(node), 1) == upstreams)


async def add(order: Order, nodes: list[int]) -> None:
    """Add steps, several in one packet."""
    value = (order.run, order.shape, order.size)
    if len(nodes) == 1:
        docket = DOCKETS[nodes[0] % OPTIONS.queues]
        await docket.add(step, key=f"{order.run}:{nodes[0]}")(*value, nodes[0])
    elif nodes:
        await DOCKETS[0].add_many(DOCKETS[0].call(step, key=f"{order.run}:{node}")(*value, node) for node in nodes)


async def main() -> None:
    """Work, or submit."""
    async with AsyncExitStack() as stack:
        for number in range(OPTIONS.queues):
            docket = await stack.enter_async_context(Docket(name=f"steps{number}", url=OPTIONS.redis_url))
            docket.register(step)
            DOCKETS.append(docket)
        if ROLE == "driver":
            await asyncio.to_thread(submit_from, asyncio.get_running_loop())
            return
        life = {"redelivery_timeout": timedelta(seconds=OPTIONS.lease_s)} if OPTIONS.lease_s else {}
        serving = DOCKETS[OPTIONS.serves]
        worker = await stack.enter_async_context(
            Worker(serving, concurrency=OPTIONS.concurrency, minimum_check_interval=LOOK, **life)
        )
        say({"ready": True})
        await worker.run_forever()


def submit_from(loop: asyncio.AbstractEventLoop) -> None:
    """Take orders in a thread of their own; docket itself is asynchronous."""

    def submit(order: Order) -> None:
        asyncio.run_coroutine_threadsafe(add(order, graph(order.shape, order.size).roots), loop).result()

    drive(submit, wait_for_end(redis.Redis.from_url(OPTIONS.redis_url, socket_timeout=None)))


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
