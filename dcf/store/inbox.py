"""An agent's inbox: a stream that keeps events until the agent acknowledges them.

The inbox holds only the newest event about a state. Runs and their creators take turns, so that many events of one do
not keep those of others from being read, and one creator has at most `MOST_UNREAD` events in it. An event that was
handed out and not acknowledged within `VISIBILITY_S` is handed out again, to any process of that agent that waits.
Waiting (long poll) is asynchronous, since one thread per waiting agent would exhaust the thread pool.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import redis
import redis.asyncio

from dcf.errors import StoreUnavailable
from dcf.store import keys
from dcf.store.connection import CONNECTION_ERRORS, Connections, close_async_client, place_of
from dcf.store.faults import PassingError, connection_error, reply_error
from dcf.store.inbox_scripts import PUT, REMOVE, TAKE
from dcf.values.json_text import Json, dump, load

VISIBILITY_S = 5
"""Visibility timeout in seconds. Short, since an answer may be lost; outdated events are dropped when handed out."""

MOST_UNREAD: Final = 10_000
"""Events of runs of one creator that an inbox keeps; further ones wait until some were read."""

_PATIENCE_S = 5.0
"""Seconds that a reply may take beyond the requested wait."""
_INBOX_LIFE_S = 7 * 24 * 3600
_LOOKED_AT_S = 900
"""Seconds that an inbox without events is kept after it was looked into."""
_SENT_LIFE_S = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An event in an inbox; acknowledge it by `message_id`."""

    message_id: str
    event: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What became of an event for an inbox.

    `duplicate`: it is or was there, as `message_id`. `full`: its sender has too many unread ones. `gone`: the agent was
    deleted.
    """

    outcome: Literal["put", "duplicate", "full", "gone"]
    message_id: str


class Inbox:
    """The writing side, used by deliveries."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, agent_id: str, event_id: str, event: Json, *, run: str = "", sender: str = "") -> Posted:
        """Put an event of a run in; it replaces an unread one about the same state. `sender` is the run's creator."""
        script_keys = (*keys.inbox_parts(agent_id), _sent(agent_id, event_id), keys.gone(agent_id))
        lives = (_INBOX_LIFE_S, _SENT_LIFE_S)
        given = (event_id, sender, dump([sender, run]), dump(event), MOST_UNREAD, *lives)
        ((outcome, message_id),) = self._connections.send(("EVAL", PUT, len(script_keys), *script_keys, *given))
        return Posted(outcome=outcome.decode(), message_id=message_id.decode())

    def acknowledge(self, agent_id: str, message_id: str) -> bool:
        """Remove the message. Return False if it was gone already."""
        parts = keys.inbox_parts(agent_id)
        (removed,) = self._connections.send(("EVAL", REMOVE, len(parts), *parts, message_id))
        return bool(removed)


class InboxReader:
    """The reading side: waits for the next event of an agent."""

    def __init__(self, connect: Callable[[], redis.asyncio.Redis]) -> None:
        self._connect = connect
        self._opened: redis.asyncio.Redis | None = None

    @property
    def _client(self) -> redis.asyncio.Redis:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    async def next(self, agent_id: str, timeout_s: float) -> Message | None:
        """Return the next event not handed out, or handed out too long ago; None after `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s + _PATIENCE_S):
                return await self._next(agent_id, timeout_s)
        except redis.ResponseError as error:
            found = reply_error(error)
            raise (self._unavailable(found) if isinstance(found, PassingError) else found) from None
        except CONNECTION_ERRORS as error:
            raise self._unavailable(error) from None

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await close_async_client(opened)

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return connection_error(error, place_of(self._client.connection_pool))

    async def _next(self, agent_id: str, timeout_s: float) -> Message | None:
        until = time.monotonic() + timeout_s
        while True:
            message, last = await self._take(agent_id)
            left = until - time.monotonic()
            if message is not None or left <= 0:
                return message
            await self._wait(keys.inbox(agent_id), last, min(left, VISIBILITY_S))

    async def _take(self, agent_id: str) -> tuple[Message | None, str]:
        """Return the next message, or the id after which to wait for one."""
        parts = keys.inbox_parts(agent_id)
        given = (VISIBILITY_S * 1000, _LOOKED_AT_S, _INBOX_LIFE_S)
        reply: Any = await self._client.eval(TAKE, len(parts), *parts, *given)
        message_id, event = reply[0].decode(), reply[1]
        if not message_id:
            return None, event.decode()
        return Message(message_id=message_id, event=load(event)), message_id

    async def _wait(self, stream: str, last: str, timeout_s: float) -> None:
        """Wait for an event that is newer than the last. All who wait are woken; one of them takes it."""
        await self._client.xread({stream: last}, count=1, block=max(1, int(timeout_s * 1000)))


def _sent(agent_id: str, event_id: str) -> str:
    """Return the key that remembers the newest event of a state: the event id without the epoch and type at its end."""
    return keys.sent(agent_id, event_id.rsplit(":", 2)[0])
