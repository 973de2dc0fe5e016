"""Reads pages of the list of runs, by indexes that cost what the page costs, however many runs there are.

Three packets at most. The first asks how many runs each index has, and for the newest entries of those that the query
names; the second reads what their meta documents say, of the smallest index; the third the statuses of the states. The
entries are written by the runs' own transactions, just before the commit (`writing`), so some may be stale: a page
leaves them out. The clock takes them off when it retires the run (`due`), deleting a run takes all off, and a sweep
those that name nothing (`listings`). Never writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dcf.core.catalog import Counts, Cursor, RunPage, RunQuery, RunRow, read_row
from dcf.core.model import OPEN, RunStatus
from dcf.store import keys
from dcf.store.connection import Command, Connections, Reply, checked
from dcf.store.documents import micros
from dcf.store.keys import RunKeys
from dcf.values.json_text import load

_SPARE: Final = 14
"""Entries read beyond the page, in place of stale ones."""

_SIEVED: Final = 400
"""Entries read at least where one index is sieved by other filters: as many meta documents are read in one packet."""

_MOST_STATES: Final = 100
"""States counted of a run; a run with more shows no count."""

_FIELDS: Final = (
    *("$.status", "$.workflow_name", "$.workflow_version", "$.definition_sha256", "$.tags", "$.created_at"),
    *("$.finished_at", "$.finalized_at", "$.paused_at", "$.hold", f"$.states[0:{_MOST_STATES + 1}]"),
)
_STATES: Final = _FIELDS[-1]
_AGENTS: Final = "$.agents"

_UNENDED: Final = frozenset(f'["{status}"]'.encode() for status in OPEN)


class Catalog:
    """The list of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, query: RunQuery) -> RunPage:
        """Return a page of the runs that the query describes, newest first."""
        indexes = _indexes(query)
        length = query.limit + _SPARE if len(indexes) == 1 else max(query.limit + _SPARE, _SIEVED)
        asked = [_size(index, query) for index in indexes] + [_entries(index, query, length) for index in indexes]
        replies = self._connections.send(*_COUNTS, *asked)
        sizes, pages = replies[len(_COUNTS) : -len(indexes)], replies[-len(indexes) :]
        smallest = min(range(len(indexes)), key=sizes.__getitem__)
        found = _after(pages[smallest], query.cursor)
        return self._read(query, _Source(entries=found, goes_on=len(pages[smallest]) >= 2 * length), replies, sizes)

    def _read(self, query: RunQuery, source: "_Source", replies: Sequence[Reply], sizes: Sequence[int]) -> RunPage:
        now, rows = self._rows(query, source.entries)
        wanted: list[RunRow] = []
        last: Cursor | None = None
        for entry, row in zip(source.entries, rows, strict=True):
            if len(wanted) == query.limit:
                break
            last = entry
            if row is not None and query.matches(row):
                wanted.append(row)
        is_all = not source.goes_on and (not source.entries or last == source.entries[-1])
        return RunPage(
            now=now,
            rows=tuple(self._counted(wanted)),
            counts=_counts(replies),
            matching=sizes[0] if len(sizes) == 1 else None,
            next_cursor=None if is_all else last or _beyond(query.cursor),
        )

    def _rows(self, query: RunQuery, entries: Sequence[Cursor]) -> tuple[int, list[RunRow | None]]:
        """Return the server's time, and what the meta documents say; None for an entry without a run."""
        fields = (*_FIELDS, _AGENTS) if query.agent is not None else _FIELDS
        names = [entry.workflow_id for entry in entries]
        asked: list[Command] = [("JSON.GET", RunKeys(name).meta, *fields) for name in names]
        stuck: list[Command] = [("ZMSCORE", keys.STUCK, *names)] if names else []
        clock, *replies = self._connections.ask(("TIME",), *stuck, *asked)
        marks = checked(replies.pop(0)) if stuck else []
        rows = [
            _row(name, reply, is_marked=mark is not None)
            for name, reply, mark in zip(names, replies, marks, strict=True)
        ]
        return micros(checked(clock)), rows

    def _counted(self, rows: Sequence[RunRow]) -> Iterator[RunRow]:
        """Yield the rows with the number of states that have ended."""
        asked = {row.workflow_id: _statuses(row) for row in rows if row.names}
        replies = iter(self._connections.ask(*asked.values())) if asked else iter(())
        for row in rows:
            statuses = next(replies) if row.workflow_id in asked else []
            is_known = row.names is not None and not isinstance(statuses, Exception)
            done = sum(status is not None and status not in _UNENDED for status in statuses) if is_known else None
            yield replace(row, states_done=done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Entries of an index; `goes_on`: there may be more after them."""

    entries: Sequence[Cursor]
    goes_on: bool


def _indexes(query: RunQuery) -> list[str]:
    """Return the indexes that have all runs of the query."""
    named = [keys.runs_by(facet, value) for facet, value in query.facets.items()]
    return [*named, *([keys.STUCK] if query.stuck else [])] or [keys.RUNS]


def _size(index: str, query: RunQuery) -> Command:
    if query.since is None and query.until is None:
        return ("ZCARD", index)
    return ("ZCOUNT", index, *_bounds(query))


def _entries(index: str, query: RunQuery, length: int) -> Command:
    low, high = _bounds(query)
    if query.cursor is not None:
        high = str(query.cursor.score)  # of this very time there may be more
    return ("ZRANGE", index, high, low, "BYSCORE", "REV", "LIMIT", 0, length, "WITHSCORES")


def _bounds(query: RunQuery) -> tuple[str, str]:
    low = "-inf" if query.since is None else str(query.since)
    return low, "+inf" if query.until is None else f"({query.until}"


def _after(found: list[bytes], cursor: Cursor | None) -> list[Cursor]:
    """Return the entries after the cursor."""
    scored = zip(found[::2], found[1::2], strict=True)
    entries = [Cursor(score=int(float(score)), workflow_id=name.decode()) for name, score in scored]
    return [one for one in entries if cursor is None or cursor.is_before(one.score, one.workflow_id)]


def _beyond(cursor: Cursor | None) -> Cursor | None:
    """Return a later place, where more runs than are read at once have the cursor's very time: a page must get on."""
    return None if cursor is None else Cursor(score=cursor.score - 1, workflow_id="z" * 64)


def _row(workflow_id: str, reply: Reply, *, is_marked: bool) -> RunRow | None:
    if reply is None:
        return None
    if isinstance(reply, Exception):  # damaged by hand: it must not hide the others
        return RunRow(workflow_id=workflow_id, status="unreadable", names=None)
    found = load(reply)
    one = {path[2:]: values[0] for path, values in found.items() if values and path != _STATES}
    row = read_row({**one, "states": found.get(_STATES)}, workflow_id, _MOST_STATES)
    is_stuck = is_marked and row.status is RunStatus.RUNNING and row.paused_at is None
    return replace(row, stuck=is_stuck)


def _statuses(row: RunRow) -> Command:
    run = RunKeys(row.workflow_id)
    return ("JSON.MGET", *map(run.state, row.names or ()), "$.status")


_COUNTED: Final[Mapping[str, str]] = {status.value: keys.runs_by("status", status) for status in RunStatus}
_COUNTS: Final[Sequence[Command]] = (
    ("ZCARD", keys.RUNS),
    ("ZCARD", keys.STUCK),
    *(("ZCARD", index) for index in _COUNTED.values()),
)


def _counts(replies: Sequence[Reply]) -> Counts:
    runs, stuck, *by_status = replies[: len(_COUNTS)]
    return Counts(runs=runs, stuck=stuck, by_status=dict(zip(_COUNTED, by_status, strict=True)))
