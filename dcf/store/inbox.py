"""An agent's inbox: a stream that keeps events until the agent acknowledges them.

The inbox holds only the newest event about a state. An event that was handed out and not acknowledged within
`VISIBILITY_S` is handed out again, to any process of that agent that waits. Waiting (long poll) is asynchronous, since
one thread per waiting agent would exhaust the thread pool.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis
import redis.asyncio

from dcf.errors import StoreUnavailable
from dcf.store import keys
from dcf.store.connection import CONNECTION_ERRORS, Connections, close_async_client, place_of
from dcf.store.faults import PassingError, connection_error, reply_error
from dcf.values.json_text import Json, dump, load

VISIBILITY_S = 5
"""Visibility timeout in seconds. Short, since an answer may be lost; outdated events are dropped when handed out."""

_GROUP = "agent"
_READER = "reader"
_PATIENCE_S = 5.0
"""Seconds that a reply may take beyond the requested wait."""
_INBOX_LIFE_S = 7 * 24 * 3600
_SENT_LIFE_S = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An event in an inbox; acknowledge it by `message_id`."""

    message_id: str
    event: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LastEvent:
    """The newest event that an agent was sent about one state; `is_gone` is True if the agent was deleted."""

    message_id: str | None
    event_id: str | None
    is_gone: bool


class Inbox:
    """The writing side, used by deliveries."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find(self, agent_id: str, event_id: str) -> LastEvent:
        """Return the newest event that the agent was sent about the same state of the same run, in the last day."""
        found, gone = self._connections.send(("GET", _sent(agent_id, event_id)), ("EXISTS", keys.gone(agent_id)))
        message_id, _, last = ("" if found is None else found.decode()).partition(" ")
        return LastEvent(message_id=message_id or None, event_id=last or None, is_gone=bool(gone))

    def put(self, agent_id: str, event_id: str, event: Json, *, replaced: str | None = None) -> str:
        """Append the event, remove the older message it replaces, and remember it. A crash may deliver it twice."""
        key = keys.inbox(agent_id)
        older = [] if replaced is None else [("XACK", key, _GROUP, replaced), ("XDEL", key, replaced)]
        reply, *_ = self._connections.send(
            ("XADD", key, "*", "event", dump(event)), ("EXPIRE", key, _INBOX_LIFE_S), *older
        )
        message_id = str(reply.decode())
        self._connections.send(("SET", _sent(agent_id, event_id), f"{message_id} {event_id}", "EX", _SENT_LIFE_S))
        return message_id

    def acknowledge(self, agent_id: str, message_id: str) -> bool:
        """Remove the message. Return False if it was gone already."""
        key = keys.inbox(agent_id)
        _, removed = self._connections.send(("XACK", key, _GROUP, message_id), ("XDEL", key, message_id))
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
        """Return the oldest event not handed out, or handed out too long ago; None after `timeout_s` seconds."""
        key = keys.inbox(agent_id)
        try:
            async with asyncio.timeout(timeout_s + _PATIENCE_S):
                return await self._next(key, timeout_s)
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

    async def _next(self, key: str, timeout_s: float) -> Message | None:
        until = time.monotonic() + timeout_s
        while True:
            left = max(0.0, until - time.monotonic())
            found = await self._look(key, min(left, VISIBILITY_S))
            if found is not None or left <= VISIBILITY_S:
                return found

    async def _look(self, key: str, timeout_s: float) -> Message | None:
        """Wait once. First look for events that another process of the agent received and did not acknowledge."""
        try:
            return await self._again(key) or await self._fresh(key, timeout_s)
        except redis.ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
        await self._make_group(key)
        return await self._again(key) or await self._fresh(key, timeout_s)

    async def _again(self, key: str) -> Message | None:
        reply: Any = await self._client.xautoclaim(key, _GROUP, _READER, VISIBILITY_S * 1000, count=1)
        return _first(reply[1])

    async def _fresh(self, key: str, timeout_s: float) -> Message | None:
        block = int(timeout_s * 1000) or None
        reply: Any = await self._client.xreadgroup(_GROUP, _READER, {key: ">"}, count=1, block=block)
        return _first(reply[0][1]) if reply else None

    async def _make_group(self, key: str) -> None:
        try:
            await self._client.xgroup_create(key, _GROUP, id="0", mkstream=True)
            await self._client.expire(key, _INBOX_LIFE_S, nx=True)  # so that an inbox without events expires
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise


def _sent(agent_id: str, event_id: str) -> str:
    """Return the key that remembers the newest event of a state: the event id without the epoch and type at its end."""
    return keys.sent(agent_id, event_id.rsplit(":", 2)[0])


def _first(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> Message | None:
    for message_id, fields in entries:
        if fields:
            return Message(message_id=message_id.decode(), event=load(fields[b"event"]))
    return None
