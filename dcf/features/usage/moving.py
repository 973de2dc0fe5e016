"""Moves reports of usage to the books on a Redis Cluster, where a run and each book are in different slots.

A single server does it in one script (`scripts`). Here a report is first added to the books, and to the sums of the
trees that the run is in. Each of them remembers the last report that it has of the run. Then the report is added to the
sums of the run, and removed from the stream. So a crash between the two, or a second process at the same time, does not
count a report twice. A book that loses its latest writes in a failover loses reports that are removed already, unless
writes wait for replicas.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.usage import BilledTurn
from dcf.features.usage.bill_storage import Bills, stored_turn
from dcf.features.usage.scripts import ABOUT, ADD, BOOKS, LIFE_S, LINGER, MODELS, OTHER_MODELS, SUM_UP
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump

_PROJECT: Final = ("project",)

_REMEMBERED_S: Final = 7 * 24 * 3600
"""Seconds for which a book remembers the last report of a run: longer than a process that moves reports can lag."""

_EACH_NEW: Final = """
local function place_of(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
local function each_new(memory, reports, life_s, count)
  local last = redis.call('GET', memory) or '0-0'
  for _, report in ipairs(cjson.decode(reports)) do
    local ms, number = place_of(report[1])
    local last_ms, last_number = place_of(last)
    if ms > last_ms or (ms == last_ms and number > last_number) then
      count(report[2], report[3])
      last = report[1]
    end
  end
  redis.call('SET', memory, last, 'EX', life_s)
  return last
end
"""
"""A Lua function that counts reports, but for those that the memory has."""

_ADD_TO_BOOK: Final = (
    ADD
    + _EACH_NEW
    + """
local last = each_new(KEYS[2], ARGV[3], ARGV[2], function(day, amounts)
  local daily = KEYS[1] .. ':' .. day
  add(KEYS[1], '', amounts)
  add(daily, '', amounts)
  redis.call('EXPIRE', daily, ARGV[1])
end)
redis.call('EXPIRE', KEYS[1], ARGV[1])
return last
"""
)

_ADD_TO_TREE: Final = (
    ADD
    + _EACH_NEW
    + """
return each_new(KEYS[3], ARGV[2], ARGV[1], function(day, amounts) add_to_tree(KEYS[1], KEYS[2], amounts) end)
"""
)

_TAKE_AWAY: Final = (
    SUM_UP
    + """
for i = 3, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    local about, amounts = read_report(entry[2])
    add_parts(KEYS[2], about, amounts, ARGV[1], ARGV[2])
    redis.call('XDEL', KEYS[1], entry[1])
  end
end
return redis.call('XLEN', KEYS[1])
"""
)
"""Adds reports to the sums of their run and takes them away, each once.

The empty stream stays: it remembers its last id, so that ids grow even if the clock steps back.
"""

_NOTE_NO_MORE: Final = """
local noted = redis.call('ZSCORE', KEYS[1], ARGV[1])
if noted and tonumber(noted) < tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
"""
"""Takes a run off those that owe something, unless it was noted again since."""


def move(
    connections: Connections, workflow_id: str, most: int, bills: Bills, turns: Sequence[BilledTurn] = ()
) -> tuple[int, str, Sequence[str]]:
    """Move at most `most` reports, and settle turns, also those that the run has not.

    Return how many are left, the run's project or an empty text, and the runs in whose trees the reports count.
    """
    run = RunKeys(workflow_id)
    clock, entries, meta = connections.send(
        ("TIME",), ("XRANGE", run.spent, "-", "+", "COUNT", most), connections.form.members(run.meta, _PROJECT)
    )
    project = str((connections.form.values(_PROJECT, meta) or {}).get("project") or "")
    reports = [(entry_id.decode(), _fields(flat)) for entry_id, flat in entries]
    trees = _by_tree(reports)
    stored = [stored_turn(fields["turn"]) for _, fields in reports if "turn" in fields]
    additions = [_to_book(book, workflow_id, own) for book, own in _by_book(reports, project).items()]
    additions += [_to_tree(RunKeys(top), workflow_id, own) for top, own in trees.items() if top != workflow_id]
    additions += bills.commands([*dict.fromkeys((*stored, *turns))])
    if additions:
        connections.send(*additions)
    ids = [entry_id.decode() for entry_id, _ in entries]
    taken: Command = ("EVAL", _TAKE_AWAY, 2, run.spent, run.usage_parts, MODELS, OTHER_MODELS, *ids)
    (left,) = connections.send(taken)
    if not left:
        before = int(clock[0]) * SECOND + int(clock[1]) - LINGER
        connections.send(("EVAL", _NOTE_NO_MORE, 1, OWED, workflow_id, before))
    return int(left), project if entries else "", list(trees)


def _by_book(reports: Sequence[tuple[str, dict[str, str]]], project: str) -> Mapping[str, list[Json]]:
    """Return by book its reports in order, each with its id, its day and its amounts."""
    result: dict[str, list[Json]] = {}
    for entry_id, fields in reports:
        books = [f"{BOOKS}agent:{fields['agent']}", *([f"{BOOKS}project:{project}"] if project else [])]
        for book in books:
            result.setdefault(book, []).append(_counted(entry_id, fields))
    return result


def _by_tree(reports: Sequence[tuple[str, dict[str, str]]]) -> Mapping[str, list[Json]]:
    """Return the same by the run in whose tree a report counts."""
    result: dict[str, list[Json]] = {}
    for entry_id, fields in reports:
        for top in fields.get("trees", "").split():
            result.setdefault(top, []).append(_counted(entry_id, fields))
    return result


def _counted(entry_id: str, fields: Mapping[str, str]) -> list[Json]:
    return [entry_id, fields["day"], {name: value for name, value in fields.items() if name not in ABOUT}]


def _to_book(book: str, workflow_id: str, reports: Sequence[Json]) -> Command:
    return ("EVAL", _ADD_TO_BOOK, 2, book, f"{book}:of:{workflow_id}", LIFE_S, _REMEMBERED_S, dump(reports))


def _to_tree(top: RunKeys, workflow_id: str, reports: Sequence[Json]) -> Command:
    memory = f"{top.usage}:of:{workflow_id}"
    return ("EVAL", _ADD_TO_TREE, 3, top.usage, top.meta, memory, _REMEMBERED_S, dump(reports))


def _fields(flat: Sequence[bytes]) -> dict[str, str]:
    return dict(zip((name.decode() for name in flat[::2]), (text.decode() for text in flat[1::2]), strict=True))
