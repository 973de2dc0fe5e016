"""A run's history: its event stream, read in pages. Reading never writes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from dcf.store.connection.connections import Connections
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.event_fields import read_events
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

_MILLISECOND: Final = 1000
_END: Final = "+"


@record(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event. Its id gives the order, `at` is the server's time, `by` the caller (None: dcf itself).

    The id is that of its entry in the stream, with its number there (`1795393221372-0.2`) unless it is the first.
    """

    event_id: str
    at: str
    type: str
    state: str | None
    data: dict[str, Json]
    by: str | None = None

    as_json = json_method("event_id at type state **data by", named={"event_id": "id"}, left_out="defaults")


class History:
    """The event streams of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def after(self, workflow_id: str, event_id: str = "0", limit: int = 1000) -> list[Happening]:
        """Return the events after this one, oldest first: so many at most, and fewer only if there are no more."""
        entries = self._entries("XRANGE", workflow_id, event_id, _END, limit)
        last = place(event_id)
        later = (happening for entry in entries for happening in happenings(*entry) if place(happening.event_id) > last)
        return list(islice(later, limit))

    def since(self, workflow_id: str, event_id: str, limit: int = 1000) -> list[Happening] | None:
        """Return the events after this one as `after` does; None if the history has no such event, or no longer has."""
        entries = self._entries("XRANGE", workflow_id, event_id, _END, limit)
        events = [happening for entry in entries for happening in happenings(*entry)]
        known = next((number for number, event in enumerate(events) if event.event_id == event_id), None)
        return None if known is None else events[known + 1 :][:limit]

    def newest_before(self, workflow_id: str, event_id: str = _END, limit: int = 1000) -> list[Happening]:
        """Return the events before this one, newest first: at most `limit`, and fewer only if there are no more."""
        entries = self._entries("XREVRANGE", workflow_id, event_id, "-", limit)
        newest_first = (happening for entry in entries for happening in reversed(list(happenings(*entry))))
        if event_id == _END:
            return list(islice(newest_first, limit))
        first = place(event_id)
        return list(islice((event for event in newest_first if place(event.event_id) < first), limit))

    def newest_ids(self, workflow_ids: Sequence[str]) -> dict[str, str | None]:
        """Return the id of the last entry of each run's history, None for a run without any; in one packet."""
        last = [("XREVRANGE", RunKeys(workflow_id).events, _END, "-", "COUNT", 1) for workflow_id in workflow_ids]
        replies = self._connections.send(*last)
        return {
            workflow_id: entries[0][0].decode() if entries else None
            for workflow_id, entries in zip(workflow_ids, replies, strict=True)
        }

    def _entries(
        self, command: str, workflow_id: str, event_id: str, end: str, limit: int
    ) -> list[tuple[bytes, list[bytes]]]:
        """Read from the entry of an event on: one entry more, since that one may have nothing that is wanted."""
        entry_id, key = event_id.partition(".")[0], RunKeys(workflow_id).events
        (entries,) = self._connections.send((command, key, entry_id, end, "COUNT", limit + 1))
        return list(entries)


def happenings(entry_id: bytes, fields: list[bytes]) -> Iterator[Happening]:
    """Yield the events of an entry, in order."""
    yield from events_in_entry(entry_id, dict(zip(fields[::2], fields[1::2], strict=True)))


def events_in_entry(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Iterator[Happening]:
    """Yield the events of an entry whose fields are given by name, in order."""
    events, author = read_events({name.decode(): value for name, value in fields.items()})
    name = entry_id.decode()
    at = to_text(int(name.partition("-")[0]) * _MILLISECOND)
    for number, event in enumerate(events):
        event_id = f"{name}.{number}" if number else name
        data = dict(event.data)
        yield Happening(event_id=event_id, at=at, type=event.type, state=event.state, data=data, by=author)


def place(event_id: str) -> tuple[int, int, int]:
    """Return the place of an event in the history: the time and number of its entry, and its number there."""
    entry_id, _, number = event_id.partition(".")
    at, _, sequence = entry_id.partition("-")
    return int(at), int(sequence or 0), int(number or 0)
