"""Reads pages of the list of runs, by indexes that cost what the page costs, however many runs there are.

Three packets. The first counts the runs. A script in it reads the newest entries of the smallest index of the filters,
without those that another of these indexes lacks. The second packet reads the meta documents of these runs, the third
the statuses of their states. The transactions of a run write its entries just before the commit (`writing`), so some
may be stale: a page leaves them out. The timer loop removes them when it retires the run (`due`), deleting a run
removes all of its entries, and a reconciliation those of missing runs (`checks`). Never writes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from dcf.core.documents.model import OPEN, RunStatus
from dcf.core.listing.runs import Counts, Cursor, RunPage, RunQuery, RunRow, read_row
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, checked
from dcf.store.connection.documents import micros
from dcf.store.forms.form import Member
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import by_shard, every_shard, in_every_shard, in_shard
from dcf.store.transaction.usage_sums import read_sums
from dcf.values.json_text import Json
from dcf.values.records import record, replace

_SPARE: Final = 14
"""Entries read beyond the page, in place of stale ones."""

_LOOKED_AT: Final = 2_000
"""Most entries of an index that one page reads; the next page continues after them."""

_MOST_DOUBLE: Final = 500
"""Runs on the list of running ones, at most, of which those on another list of a status are looked for."""

_LAST_ID: Final = "z" * 64

_MOST_STATES: Final = 100
"""States counted of a run; a run with more shows no count."""

_STATES: Final = ("states", 101)
"""The names of these states, and one more, which tells that there are more."""

_FIELDS: Final = (
    *("status", "workflow_name", "workflow_version", "definition_sha256", "tags", "created_at"),
    *("finished_at", "finalized_at", "paused_at", "blocked_by", "hold", "parent", "project", _STATES),
)
_AGENTS: Final = "agents"
_STATUS: Final = ("status",)


class Catalog:
    """The list of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, query: RunQuery) -> RunPage:
        """Return a page of the runs that the query describes, newest first."""
        shards = self._connections.shards
        indexes, counted = _indexes(query), _count_commands(shards)
        searched = [_search([in_shard(index, shard) for index in indexes], query) for shard in every_shard(shards)]
        replies = self._connections.send(*counted, *searched)
        size, source = _merged(replies[len(counted) :], query.limit + _SPARE)
        now, rows = self._rows(query, source.entries)
        expected: list[RunRow] = []
        ends_at = source.stopped
        for entry, row in zip(source.entries, rows, strict=True):
            if row is not None and query.matches(row):
                expected.append(row)
            if len(expected) == query.limit:
                ends_at = ends_at if entry == source.entries[-1] else entry
                break
        return RunPage(
            now=now,
            rows=tuple(self._counted(expected)),
            counts=_counts(replies[: len(counted)], shards),
            matching=size if len(indexes) == 1 else None,
            next_cursor=_further(ends_at, query.cursor),
        )

    def counted_once(self, counts: Counts) -> Counts:
        """Return the counts without runs that are on the list of another status too: their documents say which.

        An ended run stays on the list of running ones until a timer loop checks it, and there may be no timer loop.
        """
        if not 0 < counts.by_status[RunStatus.RUNNING] <= _MOST_DOUBLE:
            return counts
        shards, query = every_shard(self._connections.shards), RunQuery(limit=_MOST_DOUBLE)
        ended = [status for status, count in counts.by_status.items() if count and status != RunStatus.RUNNING]
        pairs = [(status, in_shard(_COUNTED[status], shard), shard) for status in ended for shard in shards]
        running = _COUNTED[RunStatus.RUNNING]
        commands = [_search([in_shard(running, shard), index], query) for _, index, shard in pairs]
        lists: dict[str, set[str]] = {}
        for (status, *_), (_, *entries) in zip(pairs, self._connections.send(*commands), strict=True):
            for entry in _source(entries).entries:
                lists.setdefault(entry.workflow_id, {RunStatus.RUNNING}).add(status)
        if not lists:
            return counts
        _, rows = self._rows(query, [Cursor(score=0, workflow_id=name) for name in lists])
        known = {row.workflow_id: row.status for row in rows if row is not None}
        stale = Counter(status for name, listed in lists.items() for status in listed - {known.get(name)})
        return replace(counts, by_status={name: count - stale[name] for name, count in counts.by_status.items()})

    def _rows(self, query: RunQuery, entries: Sequence[Cursor]) -> tuple[int, list[RunRow | None]]:
        """Return the server's time, and what the meta documents say; None for an entry without a run."""
        fields = (*_FIELDS, _AGENTS) if query.agent is not None else _FIELDS
        names = [entry.workflow_id for entry in entries]
        form = self._connections.form
        commands: list[Command] = [form.members(RunKeys(name).meta, fields) for name in names]
        parted = by_shard(names, self._connections.shards)
        stuck: list[Command] = [("ZMSCORE", in_shard(keys.STUCK, shard), *own) for shard, own in parted.items()]
        used: list[Command] = [("HGETALL", RunKeys(name).usage) for name in names]
        clock, *replies = self._connections.ask(("TIME",), *stuck, *commands, *used)
        marks = {name: mark for own in parted.values() for name, mark in zip(own, checked(replies.pop(0)), strict=True)}
        texts = zip(names, replies[: len(names)], replies[len(names) :], strict=True)
        rows = [self._row(name, fields, reply, sums, marks) for name, reply, sums in texts]
        return micros(checked(clock)), rows

    def _row(
        self, name: str, fields: Sequence[Member], reply: Reply, sums: Reply, marks: Mapping[str, Reply]
    ) -> RunRow | None:
        if isinstance(reply, Exception):  # damaged by hand: it must not hide the others
            return RunRow(workflow_id=name, status="unreadable", names=None)
        row_values = self._connections.form.values(fields, reply)
        return None if row_values is None else _row(name, row_values, sums, is_marked=marks[name] is not None)

    def _counted(self, rows: Sequence[RunRow]) -> Iterator[RunRow]:
        """Yield the rows with the number of states that have ended."""
        form, rows_counted = self._connections.form, [row for row in rows if row.names]
        commands = [form.members_of_each(_states_of(row), _STATUS) for row in rows_counted]
        replies = iter(self._connections.ask(*(command for own in commands for command in own)) if rows_counted else ())
        answers: dict[str, list[Reply]] = {
            row.workflow_id: [next(replies) for _ in own] for row, own in zip(rows_counted, commands, strict=True)
        }
        for row in rows:
            answer = answers.get(row.workflow_id, [])
            is_known = row.names is not None and not any(isinstance(reply, Exception) for reply in answer)
            states = form.values_of_each(_STATUS, answer) if answer and is_known else ()
            done = sum(state is not None and state.get("status") not in OPEN for state in states) if is_known else None
            yield replace(row, states_done=done)


@record(frozen=True, slots=True, kw_only=True)
class _Source:
    """Entries of an index. `stopped` is the last that was looked at, if there may be more; None if that was all."""

    entries: Sequence[Cursor]
    stopped: Cursor | None


_SEARCH: Final = """
local low, high, from, score, name = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local wanted, most = tonumber(ARGV[6]), tonumber(ARGV[7])
local chosen, size
for at, index in ipairs(KEYS) do
  local count = redis.call('ZCOUNT', index, low, high)
  if not size or count < size then chosen, size = at, count end
end
local entries, looked, found = {}, 0, nil
local function belongs(at)
  if score and tonumber(found[at + 1]) >= score and found[at] >= name then return false end
  for other, index in ipairs(KEYS) do
    if other ~= chosen and not redis.call('ZSCORE', index, found[at]) then return false end
  end
  return true
end
repeat
  found = redis.call('ZRANGE', KEYS[chosen], from, low, 'BYSCORE', 'REV', 'LIMIT', looked, wanted, 'WITHSCORES')
  for at = 1, #found, 2 do
    looked = looked + 1
    if belongs(at) then
      entries[#entries + 1] = found[at]
      entries[#entries + 1] = found[at + 1]
    end
    if #entries == 2 * wanted or looked == most then return {size, entries, found[at], found[at + 1]} end
  end
until #found < 2 * wanted
return {size, entries}
"""
"""Lua script that returns how many entries the smallest index has, and those after the cursor that all indexes have.

It stops after as many as are wanted, or when it has looked at too many; then it also returns where it stopped.
"""


def _indexes(query: RunQuery) -> list[str]:
    """Return the indexes that have all runs of the query."""
    named = [keys.runs_by(facet, value) for facet, value in query.facets.items()]
    return [*named, *([keys.STUCK] if query.stuck else [])] or [keys.RUNS]


def _search(indexes: Sequence[str], query: RunQuery) -> Command:
    low = "-inf" if query.since is None else str(query.since)
    high = "+inf" if query.until is None else f"({query.until}"
    after = query.cursor
    place = (high, "", "") if after is None else (str(after.score), str(after.score), after.workflow_id)
    return ("EVAL", _SEARCH, len(indexes), *indexes, low, high, *place, query.limit + _SPARE, _LOOKED_AT)


def _merged(replies: Sequence[Reply], most: int) -> tuple[int, _Source]:
    """Return how many entries the searched indexes have, and the newest of all shards, at most `most`.

    Entries after the place where a shard stopped are left for the next page: that shard may have entries in between.
    """
    sources = [(size, _source(entries)) for size, *entries in replies]
    stops = [source.stopped for _, source in sources if source.stopped is not None]
    until = max(stops, key=_place, default=None)
    every = [entry for _, source in sources for entry in source.entries]
    entries = sorted(every, key=_place, reverse=True)
    if until is not None:
        entries = [entry for entry in entries if not until.is_before(entry.score, entry.workflow_id)]
    if len(entries) > most:
        entries, until = entries[:most], entries[most - 1]
    return sum(size for size, _ in sources), _Source(entries=entries, stopped=until)


def _place(entry: Cursor) -> tuple[int, str]:
    return entry.score, entry.workflow_id


def _source(replies: Sequence[Reply]) -> _Source:
    entries, *stopped = replies
    return _Source(entries=_entries(entries), stopped=_entries(stopped)[0] if stopped else None)


def _entries(result: Sequence[bytes]) -> list[Cursor]:
    scored = zip(result[::2], result[1::2], strict=True)
    return [Cursor(score=int(float(score)), workflow_id=name.decode()) for name, score in scored]


def _further(ends_at: Cursor | None, begun: Cursor | None) -> Cursor | None:
    """Return the cursor of the next page; it gets on even where more runs than one page looks at have the same time."""
    if ends_at is None or begun is None or begun.is_before(ends_at.score, ends_at.workflow_id):
        return ends_at
    return Cursor(score=begun.score - 1, workflow_id=_LAST_ID)


def _row(workflow_id: str, document: Mapping[Member, Json], sums: Reply, *, is_marked: bool) -> RunRow:
    named = {name: value for name, value in document.items() if isinstance(name, str)}
    row = read_row({**named, "states": document.get(_STATES)}, workflow_id, _MOST_STATES)
    is_stuck = (is_marked or row.blocked) and row.status is RunStatus.RUNNING and row.paused_at is None
    return replace(row, stuck=is_stuck, usage={} if isinstance(sums, Exception) else read_sums(sums))


def _states_of(row: RunRow) -> list[str]:
    return [*map(RunKeys(row.workflow_id).state, row.names or ())]


_COUNTED: Final[Mapping[str, str]] = {status.value: keys.runs_by("status", status) for status in RunStatus}


@lru_cache(maxsize=64)
def _count_commands(shards: int) -> Sequence[Command]:
    """Return the commands that ask for the counts of all lists, in all shards of each."""
    lists = (keys.RUNS, keys.STUCK, *_COUNTED.values())
    return [("ZCARD", key) for index in lists for key in in_every_shard(index, shards)]


def _counts(replies: Sequence[Reply], shards: int) -> Counts:
    runs, stuck, *by_status = (sum(replies[first : first + shards]) for first in range(0, len(replies), shards))
    return Counts(runs=runs, stuck=stuck, by_status=dict(zip(_COUNTED, by_status, strict=True)))
