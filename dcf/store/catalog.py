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

_SIEVED: Final = 2_000
"""Entries that one page looks at, at most, where there are several filters; then the next page goes on."""

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
        indexes, length = _indexes(query), query.limit + _SPARE
        if len(indexes) == 1:
            *counts, matching, found = self._connections.send(
                *_COUNTS, _size(indexes[0], query), _entries(indexes[0], query, length)
            )
            source = _Source(entries=_after(found, query.cursor), goes_on=len(found) >= 2 * length)
        else:
            *counts, reply = self._connections.send(*_COUNTS, _sieve(indexes, query, length))
            matching, source = None, _sieved(reply, query.cursor)
        return self._read(query, source, _counts(counts), matching)

    def _read(self, query: RunQuery, source: "_Source", counts: Counts, matching: int | None) -> RunPage:
        now, rows = self._rows(query, source.entries)
        wanted: list[RunRow] = []
        last: Cursor | None = None
        is_all = True
        for entry, row in zip(source.entries, rows, strict=True):
            if len(wanted) == query.limit:
                is_all = False
                break
            last = entry
            if row is not None and query.matches(row):
                wanted.append(row)
        if is_all and source.goes_on:
            last, is_all = source.last or last or _beyond(query.cursor), False
        return RunPage(
            now=now,
            rows=tuple(self._counted(wanted)),
            counts=counts,
            matching=matching,
            next_cursor=None if is_all else last,
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
    """Entries of an index; `goes_on`: there may be more after them, after `last` where entries were left out."""

    entries: Sequence[Cursor]
    goes_on: bool
    last: Cursor | None = None


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


_SIEVE: Final = """
local low, high, from, wanted, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local chosen, size
for at, index in ipairs(KEYS) do
  local count = redis.call('ZCOUNT', index, low, high)
  if not size or count < size then chosen, size = at, count end
end
local found = redis.call('ZRANGE', KEYS[chosen], from, low, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES')
local entries, goes_on, last = {}, #found >= 2 * most, #found - 1
for at = 1, #found, 2 do
  local is_in_all = true
  for other, index in ipairs(KEYS) do
    if other ~= chosen and not redis.call('ZSCORE', index, found[at]) then is_in_all = false break end
  end
  if is_in_all then
    entries[#entries + 1] = found[at]
    entries[#entries + 1] = found[at + 1]
    if #entries == 2 * wanted then
      goes_on, last = goes_on or at < #found - 1, at
      break
    end
  end
end
return {goes_on and 1 or 0, found[last] or '', found[last + 1] or '0', entries}
"""
"""Lua script that returns entries of the smallest index that all others have too, and where it stopped."""


def _sieve(indexes: Sequence[str], query: RunQuery, length: int) -> Command:
    low, high = _bounds(query)
    begin = high if query.cursor is None else str(query.cursor.score)
    return ("EVAL", _SIEVE, len(indexes), *indexes, low, high, begin, length, _SIEVED)


def _sieved(reply: Reply, cursor: Cursor | None) -> _Source:
    goes_on, name, score, found = reply
    last = Cursor(score=int(float(score)), workflow_id=name.decode()) if goes_on else None
    is_further = last is not None and (cursor is None or cursor.is_before(last.score, last.workflow_id))
    return _Source(entries=_after(found, cursor), goes_on=bool(goes_on), last=last if is_further else None)


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
    runs, stuck, *by_status = replies
    return Counts(runs=runs, stuck=stuck, by_status=dict(zip(_COUNTED, by_status, strict=True)))
