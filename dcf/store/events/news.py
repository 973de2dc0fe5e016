"""Follows the news of inboxes for a process: one blocking read on one connection, however many agents wait.

The script that puts an event into an inbox also adds an entry to one short stream. This module reads that stream and
reports which agents got an event. It must not take events, and does not know the waits (`inbox_waits`). After its
connection broke, or when it was too slow to see every entry, it reports that any agent may have got an event. On a
Redis Cluster `cluster.news` does the same.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

import redis
import redis.asyncio

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.connection.connections import CONNECTION_ERRORS
from dcf.store.connection.faults import PassingError, connection_error, refusal, reply_error
from dcf.store.connection.pools import close_async_client, place_of
from dcf.store.events.inbox import MOST_NEWS
from dcf.store.keys import table as keys

_BLOCK_S: Final = 5.0
"""Seconds that one read waits for an entry."""
_PATIENCE_S: Final = 5.0
"""Seconds beyond that after which a server that says nothing counts as away."""
_SOON_S: Final = 1.0
"""A connection that breaks earlier than this is not replaced, so that no loop reconnects without end."""

ANYBODY: Final = None
"""Reported in place of agents: any of them may have got an event."""

NewsHeard: TypeAlias = Callable[[Iterable[str] | None], object]
"""Is called with the agents that got something or may have got something, or with ANYBODY."""
NewsLost: TypeAlias = Callable[[StoreUnavailable | StoreUnsuitable, Iterable[str] | None], object]
"""Is called with an error and the agents, or ANYBODY, whose news are lost until they are followed again."""


class AnyNews(Protocol):
    """Follows news, on one server or on a cluster."""

    def follow(self, agent_id: str) -> None:
        """Report from now on when this agent gets an event. Idempotent."""

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""


class News:
    """Follows the stream of news until `close`, or until Redis cannot be reached; belongs to one event loop."""

    def __init__(self, connect: Callable[[], redis.asyncio.Redis], heard: NewsHeard, lost: NewsLost) -> None:
        self._connect = connect
        self._heard = heard
        self._lost = lost
        self._task: asyncio.Task[None] | None = None

    def follow(self, _: str) -> None:
        """Begin to follow, unless it does already: the news are those of all agents."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow(self._connect()))

    async def close(self) -> None:
        """Close the connection, before the event loop that it belongs to ends."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self, client: redis.asyncio.Redis) -> None:
        try:
            error = await self._read_until_lost(client)
        finally:
            await close_async_client(client)
        self._task = None  # a later wait starts a new task; the present waits get the error
        self._lost(error, ANYBODY)

    async def _read_until_lost(self, client: redis.asyncio.Redis) -> StoreUnavailable | StoreUnsuitable:
        place = place_of(client.connection_pool)
        try:
            while True:
                await self._read_until_it_breaks(client)
                await client.connection_pool.disconnect()
        except redis.ResponseError as error:
            return refusal(error, place)
        except CONNECTION_ERRORS as error:
            return connection_error(error, place)

    async def _read_until_it_breaks(self, client: redis.asyncio.Redis) -> None:
        """Read over one connection until it breaks; raise if it does so at once."""
        loop = asyncio.get_running_loop()
        last = await _in_time(client.xrevrange(keys.NEWS, count=1))
        position = last[0][0] if last else b"0-0"
        self._heard(ANYBODY)  # events before this moment were not followed
        began = loop.time()
        try:
            while True:
                position = await self._read(client, position)
        except redis.ResponseError as error:
            if not isinstance(reply_error(error), PassingError) or loop.time() < began + _SOON_S:
                raise
        except CONNECTION_ERRORS:
            if loop.time() < began + _SOON_S:
                raise

    async def _read(self, client: redis.asyncio.Redis, position: bytes) -> bytes:
        """Wait for entries after a position and report them. Return the position of the last."""
        reply: Any = await _in_time(client.xread({keys.NEWS: position}, block=int(_BLOCK_S * 1000)))
        if not reply:
            return position
        ((_, entries),) = reply
        # As many as are kept: older ones may have been dropped before they were read.
        self._heard(ANYBODY if len(entries) >= MOST_NEWS else {fields[b"agent"].decode() for _, fields in entries})
        entry: bytes = entries[-1][0]
        return entry


async def _in_time(reply: Any) -> Any:
    # Not redis-py's socket_timeout: see `open_async_client`.
    async with asyncio.timeout(_BLOCK_S + _PATIENCE_S):
        return await reply
