"""Tells the open pages of runs what was added to the histories of their runs: each event is read once for all of them.

A page names the last event that it knows. It joins the listeners first, and then reads the events that it missed, so
that there is no gap. An event that arrives twice is left out by its place in the history.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import anyio.to_thread

from dcf.application.application import Application
from dcf.core.leasing.blockers import word_of
from dcf.runs.views.overview import glance
from dcf.store.events.history import Happening, place
from dcf.store.events.tails import AnyTails
from dcf.values.records import record
from dcf.web.live.readers import Place, Stream, StreamMessage, message, refresh
from dcf.workflows.drawing.words import printable

_MISSED: Final = 1000
"""A page that missed more events than this begins again instead."""
_FROM_BEGINNING: Final = (0, 0, 0)
_SHOWN: Final = 400
_STATUSES: Final = {
    "LeaseAcquired": "running",
    "StateSucceeded": "succeeded",
    "StateFailed": "failed",
    "StateCancelled": "cancelled",
}
"""Statuses of states that their events tell without reading the state."""


@record(frozen=True, slots=True)
class FirstTold:
    """The first messages to a page that joined, and the place in the history that they reach."""

    messages: Sequence[StreamMessage]
    place: Place


@record(frozen=True, slots=True)
class _Missed:
    """The events that a page missed, or the message that makes it begin again; and the last event's id.

    `last_id` is None for a run without a history.
    """

    missed: Sequence[Happening] = ()
    reset: StreamMessage | None = None
    last_id: str | None = None


@dataclass(slots=True, eq=False)
class _Feed:
    """The pages of one run. `start` is the place after which all of them get each event; None until then."""

    streams: set[Stream] = field(default_factory=set)
    start: Place | None = None
    refreshed_at: float = 0.0
    planned: asyncio.TimerHandle | None = None

    def tell(self, stream_message: StreamMessage) -> None:
        """Let all pages have a message."""
        for stream in self.streams:
            stream.put(stream_message)


class RunFeeds:
    """The runs whose pages are open. `every_s` is the shortest time between two refreshes of a run's pages."""

    def __init__(self, application: Application, every_s: Callable[[], float]) -> None:
        self._application = application
        self._every_s = every_s
        self._feeds: dict[str, _Feed] = {}
        self._tails: AnyTails | None = None
        self._threads = anyio.CapacityLimiter(4)

    async def join(self, stream: Stream, workflow_id: str, after: str | None) -> FirstTold:
        """Tell a page from now on what happens; return what it missed after this event, or how its run stands.

        Raise UnknownRun.
        """
        feed = self._feeds.setdefault(workflow_id, _Feed())
        feed.streams.add(stream)
        stream_messages: list[StreamMessage] = []
        while True:
            read = await anyio.to_thread.run_sync(self._read, workflow_id, after, limiter=self._threads)
            stream_messages += (
                [read.reset] if read.reset is not None else [happened(read.missed)] if read.missed else []
            )
            after = read.last_id
            reached = _FROM_BEGINNING if after is None else place(after)
            if self._feeds.get(workflow_id) is not feed:  # Redis was lost meanwhile, and the stream ended
                break
            if feed.start is None:
                feed.start = reached
                self._following().follow(workflow_id, "0-0" if after is None else after.partition(".")[0])
            if reached >= feed.start:
                break
            # Others began to follow after this page had read: what lies between is read now.
        return FirstTold([*stream_messages, *([refresh()] if stream_messages else [])], reached)

    async def again(self, workflow_id: str) -> FirstTold:
        """Return how the run stands, for a page that lost its place. Raise UnknownRun."""
        read = await anyio.to_thread.run_sync(self._read, workflow_id, None, limiter=self._threads)
        assert read.reset is not None, "no event was named to continue from"
        return FirstTold([read.reset, refresh()], _FROM_BEGINNING if read.last_id is None else place(read.last_id))

    def leave(self, stream: Stream, workflow_id: str) -> None:
        """Send no more events to a page. Idempotent."""
        feed = self._feeds.get(workflow_id)
        if feed is None:
            return
        feed.streams.discard(stream)
        if not feed.streams:
            self._forget(workflow_id)

    async def close(self) -> None:
        """Close the connection to Redis."""
        tails, self._tails = self._tails, None
        if tails is not None:
            await tails.close()

    def _following(self) -> AnyTails:
        if self._tails is None:
            self._tails = self._application.tails(self._heard, self._lost)
        return self._tails

    def _read(self, workflow_id: str, after: str | None) -> _Missed:
        """Read the events that a page missed; if there are too many, the condition of the run."""
        missed = None if after is None else self._application.history.since(workflow_id, after, _MISSED)
        if missed is not None and len(missed) < _MISSED:
            return _Missed(missed=missed, last_id=missed[-1].event_id if missed else after)
        newest = self._application.history.newest_before(workflow_id, limit=1)
        last_id = newest[0].event_id if newest else None
        run = glance(self._application.control_plane, workflow_id)
        data = {"run": word_of(run.meta), "states": run.statuses}
        return _Missed(reset=message("reset", data, event_id=last_id), last_id=last_id)

    def _heard(self, workflow_id: str, _: str, events: Sequence[Happening]) -> None:
        feed = self._feeds.get(workflow_id)
        if feed is not None and events:
            feed.tell(happened(events))
            self._plan_refresh(feed)

    def _lost(self, _: Exception) -> None:
        """End all pages' streams: they ask again after a while, and learn then whether Redis is back."""
        for workflow_id, feed in list(self._feeds.items()):
            for stream in feed.streams:
                stream.end()
            self._forget(workflow_id)

    def _forget(self, workflow_id: str) -> None:
        feed = self._feeds.pop(workflow_id)
        if feed.planned is not None:
            feed.planned.cancel()
        if self._tails is not None:
            self._tails.leave(workflow_id)

    def _plan_refresh(self, feed: _Feed) -> None:
        """Have the pages refreshed: at once after a while without changes, else together with what follows."""
        if feed.planned is not None:
            return
        loop = asyncio.get_running_loop()
        wait = max(0.0, feed.refreshed_at + self._every_s() - loop.time())
        feed.planned = loop.call_later(wait, self._refresh, feed)

    def _refresh(self, feed: _Feed) -> None:
        feed.planned = None
        feed.refreshed_at = asyncio.get_running_loop().time()
        feed.tell(refresh())


def happened(events: Sequence[Happening]) -> StreamMessage:
    """Return events of a run as a message, whose id is that of the last."""
    last_id = events[-1].event_id
    return message("happened", {"events": list(_shown(events))}, event_id=last_id, place=place(last_id))


def _shown(events: Iterable[Happening]) -> Iterable[dict[str, Any]]:
    for event in events:
        members = {"id": event.event_id, "at": event.at, "type": event.type}
        if event.state is not None:
            members |= {"state": event.state, "name": printable(event.state, _SHOWN)}
        status = _STATUSES.get(event.type)
        yield members if status is None else members | {"status": status}
