"""Reads the histories of runs in pages, filtered by state, type and time. Never writes.

The cost of a page is bounded: it reads a limited number of entries, and says where the next page begins, even if few of
them matched.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final

from dcf.core.documents.model import RunStatus
from dcf.core.listing.events import EventQuery
from dcf.runs.control_plane import ControlPlane
from dcf.store.events.history import Happening, History
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

MOST_EXAMINED: Final = 5_000
"""Entries that one page reads at most."""

_CHUNK: Final = 500
_FOLLOW_S: Final = 0.2


@record(frozen=True, slots=True, kw_only=True)
class EventPage:
    """The matching events, in the requested order. `next_cursor` is set if there may be more."""

    events: tuple[Happening, ...]
    next_cursor: str | None = None

    as_json = json_method()


class Histories:
    """The histories of runs."""

    def __init__(self, plane: ControlPlane, history: History) -> None:
        self._plane = plane
        self.history = history

    def page(
        self,
        workflow_id: str,
        query: EventQuery,
        *,
        cursor: str | None = None,
        limit: int = 1000,
        fits: Callable[[Happening], bool] = lambda _: True,
    ) -> EventPage:
        """Return the events after the cursor, as many as are wanted and `fits` says. Raise UnknownRun."""
        self._status(workflow_id)
        happenings: list[Happening] = []
        last, examined, size = cursor, 0, min(_CHUNK, limit + 1) if query.takes_all else _CHUNK
        while examined < MOST_EXAMINED:
            chunk = self._chunk(workflow_id, query, last, size)
            for event in chunk:
                if _is_beyond(event, query):
                    return EventPage(events=tuple(happenings))
                if query.wants(event.type, event.state):
                    if len(happenings) == limit or not fits(event):
                        return EventPage(events=tuple(happenings), next_cursor=last)
                    happenings.append(event)
                last = event.event_id
            examined += len(chunk)
            if len(chunk) < size:
                return EventPage(events=tuple(happenings))
        return EventPage(events=tuple(happenings), next_cursor=last)

    def follow(
        self, workflow_id: str, query: EventQuery, *, cursor: str | None = None, onwards: bool = False
    ) -> Iterator[Happening]:
        """Yield all events from the oldest; with `onwards` also those to come, until the run has ended."""
        last = cursor
        while True:
            is_over = self._status(workflow_id) is not RunStatus.RUNNING
            chunk = self._chunk(workflow_id, query, last)
            for event in chunk:
                if _is_beyond(event, query):
                    return
                if query.wants(event.type, event.state):
                    yield event
                last = event.event_id
            if len(chunk) < _CHUNK:
                if is_over or not onwards:
                    return
                time.sleep(_FOLLOW_S)

    def _status(self, workflow_id: str) -> RunStatus:
        meta = self._plane.read(workflow_id, (), whole_meta=False).existing_meta
        return meta.status

    def _chunk(self, workflow_id: str, query: EventQuery, last: str | None, size: int = _CHUNK) -> list[Happening]:
        if query.newest_first:
            return self.history.newest_before(workflow_id, last or _end(query.until), size)
        return self.history.after(workflow_id, last or _start(query.since), size)


def _start(since: int | None) -> str:
    """Return the id before the first event of this millisecond."""
    return "0" if not since or since < 0 else f"{since - 1}-18446744073709551615"


def _end(until: int | None) -> str:
    """Return the id after the last event of this millisecond."""
    return "+" if until is None else f"{max(0, until) + 1}-0"


def _is_beyond(happening: Happening, query: EventQuery) -> bool:
    """Return True if neither this event nor any after it in this order is wanted."""
    at = int(happening.event_id.partition("-")[0])
    if query.newest_first:
        return query.since is not None and at < query.since
    return query.until is not None and at > query.until
