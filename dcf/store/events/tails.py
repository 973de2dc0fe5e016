"""Follows the histories of several runs for a process: one blocking read on one connection, however many pages look.

It reports the new entries of each history after a place, each entry once. It does not know the listeners, and must not
decide about runs. When Redis cannot be reached it reports that and stops; a listener may then follow again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

import redis
import redis.asyncio

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.connection.connections import CONNECTION_ERRORS
from dcf.store.connection.faults import connection_error, refusal
from dcf.store.connection.pools import close_async_client, place_of
from dcf.store.events.history import Happening, events_in_entry
from dcf.store.keys.table import RunKeys

log = logging.getLogger(__name__)

_BLOCK_S: Final = 5.0
"""Seconds that one read waits for an entry."""
_PATIENCE_S: Final = 5.0
"""Seconds beyond that after which a server that says nothing counts as away."""
_MOST: Final = 500
"""Entries of one run that one read takes."""
_PAUSE_S: Final = 0.03
"""Seconds between a read that found something and the next, so that a burst of commits costs few reads."""

Heard: TypeAlias = Callable[[str, str, Sequence[Happening]], object]
"""Is called with a run, the id of one entry of its history, and the events of that entry."""
Lost: TypeAlias = Callable[[StoreUnavailable | StoreUnsuitable], object]
"""Is called with the error when following ends."""


class AnyTails(Protocol):
    """What follows histories, on one server or on a cluster."""

    def follow(self, workflow_id: str, entry_id: str) -> None:
        """Tell from now on what comes after this entry of a run's history."""

    def leave(self, workflow_id: str) -> None:
        """Stop reporting events of this run. Idempotent."""

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""


class Tails:
    """Follows histories until `close`, or until Redis cannot be reached; belongs to one event loop."""

    def __init__(
        self,
        connect: Callable[[], redis.asyncio.Redis],
        heard: Heard,
        lost: Lost,
        *,
        placed: Callable[[str], str] = str,
    ) -> None:
        """Follow over a client that `connect` opens; `placed` gives a key as it is on the server."""
        self._connect = connect
        self._placed = placed
        self._heard = heard
        self._lost = lost
        self._places: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def follow(self, workflow_id: str, entry_id: str) -> None:
        """Tell from now on what comes after this entry of a run's history."""
        self._places[workflow_id] = entry_id
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())

    def leave(self, workflow_id: str) -> None:
        """Stop reporting events of this run. Idempotent."""
        self._places.pop(workflow_id, None)

    async def close(self) -> None:
        """Close the connection, before the event loop that it belongs to ends."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self) -> None:
        error: StoreUnavailable | StoreUnsuitable
        try:
            client = await asyncio.to_thread(self._connect)
            try:
                error = await self._read_until_lost(client)
            finally:
                await close_async_client(client)
        except CONNECTION_ERRORS as broken:
            error = connection_error(broken, None)
        except Exception:  # listeners must not wait without end because of one unreadable entry
            log.exception("following histories failed")
            error = StoreUnsuitable("A history could not be read.", "See the log of this server.")
        self._task = None  # a later `follow` starts a new task
        self._places.clear()
        self._lost(error)

    async def _read_until_lost(self, client: redis.asyncio.Redis) -> StoreUnavailable | StoreUnsuitable:
        place = place_of(client.connection_pool)
        try:
            while True:
                self._changed.clear()
                if not self._places:
                    await client.connection_pool.disconnect()  # a server may close an idle connection
                    await self._changed.wait()
                elif await self._read(client):
                    await asyncio.sleep(_PAUSE_S)
        except redis.ResponseError as error:
            return refusal(error, place)
        except CONNECTION_ERRORS as error:
            return connection_error(error, place)

    async def _read(self, client: redis.asyncio.Redis) -> bool:
        """Wait for entries, and report them; end early when other runs are to be followed. Return if there were any.

        A read that is broken off closes its connection, so its entries are read again.
        """
        streams: dict[Any, Any] = {self._placed(RunKeys(run).events): place for run, place in self._places.items()}
        runs = {key.encode(): run for key, run in zip(streams, self._places, strict=True)}
        reading = asyncio.ensure_future(client.xread(streams, count=_MOST, block=int(_BLOCK_S * 1000)))
        changing = asyncio.ensure_future(self._changed.wait())
        both: set[asyncio.Future[Any]] = {reading, changing}
        try:
            # Not redis-py's socket_timeout: see `open_async_client`.
            done, _ = await asyncio.wait(both, timeout=_BLOCK_S + _PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            reply: Any = reading.result() if reading in done else None
        finally:
            for task in both:
                task.cancel()
            await asyncio.wait(both)
        for key, entries in reply or ():
            self._tell(runs[key], entries)
        return bool(reply)

    def _tell(self, run: str, entries: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> None:
        for entry_id, fields in entries:
            if run not in self._places:  # a listener has left it
                return
            self._places[run] = entry_id.decode()
            self._heard(run, entry_id.decode(), list(events_in_entry(entry_id, fields)))
