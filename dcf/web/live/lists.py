"""Tells the open pages of lists, of runs and of accounts, that these changed: of runs which counts and rows.

No stream in Redis has the events of all runs. So the lists on open pages are read at intervals: once for all pages with
the same filters and the same caller, one list after the other, and with pauses that leave most of the time to others.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from dcf.core.leasing.blockers import listed_word
from dcf.values.json_text import Json, dump_bytes
from dcf.values.records import record
from dcf.web.live.readers import Stream, StreamMessage, message, refresh
from dcf.web.visit import ToolRefused

log = logging.getLogger(__name__)

EVERY_S: Final = 0.5
_SHARE: Final = 4
"""The time for reading lists is at most one part in this number."""

Listed: TypeAlias = Mapping[str, Json]
"""An answer of list_runs."""
ReadList: TypeAlias = Callable[[], Listed]


@record(frozen=True, slots=True, kw_only=True)
class ListKind:
    """A kind of list: `mark` tells two states of it apart.

    `whole` is the message with all of it, for pages that missed something, and `changes` the message with a difference.
    None: a refresh of the page is enough.
    """

    mark: Callable[[Listed], str]
    whole: Callable[[Listed], StreamMessage] | None = None
    changes: Callable[[Listed, Listed], StreamMessage] | None = None


@dataclass(slots=True, eq=False)
class _ListFeed:
    """The pages that show one list, and what they know of it."""

    read: ReadList
    kind: ListKind
    streams: set[Stream] = field(default_factory=set)
    known: Listed | None = None
    refreshed_at: float = 0.0
    is_changed: bool = False


class ListFeeds:
    """The lists whose pages are open. `every_s` is the shortest time between two refreshes of a list's pages."""

    def __init__(self, every_s: Callable[[], float]) -> None:
        self._every_s = every_s
        self._lists: dict[str, _ListFeed] = {}
        self._task: asyncio.Task[None] | None = None
        self._threads = anyio.CapacityLimiter(1)

    async def join(
        self, stream: Stream, key: str, read: ReadList, after: str | None, kind: ListKind
    ) -> Sequence[StreamMessage]:
        """Tell a page from now on what changes; return what it missed. Raise ToolRefused for filters without meaning.

        `key` tells lists and callers apart, `after` is what `mark_of` returned for what the page shows.
        """
        first = await anyio.to_thread.run_sync(read, limiter=self._threads)
        feed = self._lists.setdefault(key, _ListFeed(read, kind))
        feed.streams.add(stream)
        if feed.known is None:
            feed.known = first
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep())
        return () if kind.mark(feed.known) == after else _whole(feed)

    async def again(self, key: str) -> Sequence[StreamMessage]:
        """Return the whole list, for a page that was too slow."""
        feed = self._lists.get(key)
        return () if feed is None else _whole(feed)

    def leave(self, stream: Stream, key: str) -> None:
        """Send no more events to a page. Idempotent."""
        feed = self._lists.get(key)
        if feed is not None:
            feed.streams.discard(stream)
            if not feed.streams:
                del self._lists[key]

    async def close(self) -> None:
        """Stop reading lists."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        while self._lists:
            began = loop.time()
            for feed in list(self._lists.values()):
                await self._look(feed)
            spent = loop.time() - began
            await asyncio.sleep(max(EVERY_S, _SHARE * spent))

    async def _look(self, feed: _ListFeed) -> None:
        """Read a list, and tell its pages what changed since the last time."""
        try:
            now = await anyio.to_thread.run_sync(feed.read, limiter=self._threads)
        except ToolRefused:  # Redis is away, or the caller lost the right: the page asks again and learns which
            _end(feed)
            return
        except Exception:  # a bug must not leave pages waiting
            log.exception("a list of runs could not be read")
            _end(feed)
            return
        before, feed.known = feed.known, now
        if before is not None and feed.kind.mark(before) != feed.kind.mark(now):
            feed.is_changed = True
            if feed.kind.changes is not None:
                _tell(feed, feed.kind.changes(before, now))
        passed = asyncio.get_running_loop().time() - feed.refreshed_at
        if feed.is_changed and passed >= self._every_s():
            feed.is_changed, feed.refreshed_at = False, asyncio.get_running_loop().time()
            _tell(feed, refresh())


def reader_of(ask: Callable[..., Listed], tool: str, request: Mapping[str, Json]) -> ReadList:
    """Return what reads a list as its page does."""
    return partial(ask, tool, **request)


def mark_of(listed: Listed) -> str:
    """Return what tells two states of the list of runs apart."""
    return _mark([listed["runs"], listed["counts"], listed["next_cursor"] is None])


def mark_of_accounts(listed: Listed) -> str:
    """Return what tells two states of the list of accounts apart."""
    return _mark(listed["accounts"])


def _mark(shown: Json) -> str:
    return hashlib.blake2b(dump_bytes(shown), digest_size=8).hexdigest()


def _end(feed: _ListFeed) -> None:
    for stream in feed.streams:
        stream.end()


def _tell(feed: _ListFeed, event: StreamMessage) -> None:
    for stream in feed.streams:
        stream.put(event)


def _whole(feed: _ListFeed) -> Sequence[StreamMessage]:
    if feed.known is None:
        return ()
    return (refresh(),) if feed.kind.whole is None else (feed.kind.whole(feed.known), refresh())


def _all_runs(now: Listed) -> StreamMessage:
    rows = {str(row["workflow_id"]): listed_word(row) for row in now["runs"]}
    return message("reset", {"counts": now["counts"], "rows": rows}, event_id=mark_of(now))


def _changed_runs(before: Listed, now: Listed) -> StreamMessage:
    """Return the counts that changed, and the words of the runs whose rows did."""
    old = {row["workflow_id"]: row for row in before["runs"]}
    rows = {str(row["workflow_id"]): listed_word(row) for row in now["runs"] if old.get(row["workflow_id"]) != row}
    counts = {name: count for name, count in now["counts"].items() if before["counts"].get(name) != count}
    return message("changed", {"counts": counts, "rows": rows}, event_id=mark_of(now))


RUNS: Final = ListKind(mark=mark_of, whole=_all_runs, changes=_changed_runs)
ACCOUNTS: Final = ListKind(mark=mark_of_accounts)
