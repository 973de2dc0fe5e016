"""Finds work across live runs by one script, which costs what it looks at, however many runs have ended. Never writes.

There is no index of ready states: it would cost every completion a command. The script goes through the smallest of the
lists of runs that the filters name, the oldest run first, passes over runs that another of these lists does not have,
and looks at the open states of those that are left. It writes nothing but marks: a claim marks the state that it is
about to take for a moment, so that claims at the same time take different ones (`open_states`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.asl.state_paths import join, name_of
from dcf.core.catalog import FOR_ANYBODY, Facet
from dcf.core.codec import read_assignment
from dcf.core.gates import KIND as GATE
from dcf.core.model import RunStatus
from dcf.core.work_list import RunFacts, WorkItem, WorkPage, WorkPlace, WorkQuery, WorkStatus, facts_of, item_of
from dcf.store import keys
from dcf.store.connection import Command, Connections, Reply
from dcf.store.documents import micros
from dcf.store.key_parts import decode_state, encode_state
from dcf.store.keys import RunKeys
from dcf.store.list_walks import WALK
from dcf.store.state_texts import read_text
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record

_MOST_RUNS: Final = 10_000
"""Runs that one page passes over by their lists, at most; then the next page goes on."""

_MOST_READ: Final = 600
"""Documents of states that one page looks at, or runs, at most."""

_PAGE_OF_RUN: Final = 64
"""Open states of one run that are looked at before the next page goes on."""

_MARK_MS: Final = 50

# KEYS: lists that a run must all be on, then those of which it must be on one. ARGV: how many of the former and of the
# latter; the place: score, run, states to pass over; most runs to pass over, most documents to read, states of a run at
# a time, how many states are wanted; what is wanted (open, ready, claim, running, review, done), the agent, the skill,
# the mark and its life; what the keys of timers, meta, states and marks look like; one run instead of lists; the type
# of a state whose output is judged; then states to pass
# over, as run and part. Replies: whether another is about to take some, the place where it stopped or nothing, and of
# each run its id, the fields of its meta, and the states with document, assignment and skills.
_FIND: Final = (
    r"""
local all, any = tonumber(ARGV[1]), tonumber(ARGV[2])
local score, after, skip = ARGV[3], ARGV[4], tonumber(ARGV[5])
local most_runs, most_read, page = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local wanted, mode, agent, skill = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12]
local mark, life = ARGV[13], ARGV[14]
local timers, metas, states, marks = ARGV[15], ARGV[16], ARGV[17], ARGV[18]
local passed = {}
for i = 21, #ARGV do
  passed[ARGV[i]] = true
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
if mark ~= '' and redis.set_repl then
  redis.set_repl(redis.REPL_NONE)
end
local found, read, shown, contested = {}, 0, 0, 0

-- A key that was damaged by hand must not hide the others.
local function told(...)
  local reply = redis.pcall(...)
  return not (type(reply) == 'table' and reply.err) and reply or false
end

local function of_name(meta, field, part)
  local name = part:match('[^/]*$'):gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
  if name:sub(1, 1) == ' ' then
    return told('JSON.GET', meta, '$.' .. field) or '[]'
  end
  return told('JSON.GET', meta, '$.' .. field .. '["' .. name:gsub('[\\"]', '\\%0') .. '"]') or '[]'
end

local function is_left(key, doc)
  if mark == '' then
    return true
  end
  local epoch = doc:match('"epoch":(%d+)') or ''
  local own = mark .. ':' .. epoch
  local before = redis.pcall('SET', key, own, 'NX', 'GET', 'PX', life)
  if type(before) ~= 'string' or before == own then
    return true
  elseif before:match('%d*$') == epoch then
    contested = 1
    return false
  end
  redis.pcall('SET', key, own, 'PX', life)
  return true
end

local function fits(doc, due)
  if not doc then
    return false
  end
  local is_judged = doc:find('"type":"' .. ARGV[20] .. '"', 1, true)
  if not is_judged and (mode == 'review' or doc:find('"type":"', 1, true)) then
    return false
  end
  local is_held = is_judged or (doc:find('"status":"running"', 1, true) and due > now)
  if is_held then
    local is_mine = agent == '' or doc:find('"owner_agent_id":"' .. agent .. '"', 1, true)
    return is_mine and (mode == 'open' or mode == (is_judged and 'review' or 'running'))
  end
  if mode == 'claim' and due > now and doc:find('"not_before":"', 1, true) then
    return false
  end
  return mode ~= 'running'
end

local function look(run, first)
  local listed = told('ZRANGE', timers:format(run), first, first + page - 1, 'WITHSCORES')
  if not listed or #listed == 0 then
    return first, true
  end
  local keys, of_run = {}, nil
  for i = 1, #listed, 2 do
    keys[#keys + 1] = states:format(run) .. listed[i]
  end
  keys[#keys + 1] = '$'
  local docs = told('JSON.MGET', unpack(keys)) or {}
  read = read + #docs
  local meta = metas:format(run)
  for i = 1, #docs do
    local part, doc = listed[2 * i - 1], docs[i]
    if fits(doc, tonumber(listed[2 * i])) and not passed[run .. '/' .. part] then
      if not of_run then
        local facts = told('JSON.GET', meta, '$.status', '$.workflow_name', '$.project', '$.created_at',
          '$.paused_at', '$.blocked_by')
        local stands = not facts or not facts:find('"$.status":["running"]', 1, true)
        if mode == 'claim' and not stands then
          stands = facts:find('"$.paused_at":["', 1, true) or facts:find('"$.blocked_by":[[{', 1, true)
            or facts:find('"$.blocked_by":[["', 1, true)
        end
        if stands then
          return first, true
        end
        of_run = {run, facts}
      end
      local agents = of_name(meta, 'agents', part)
      local skills = of_name(meta, 'skills', part)
      local is_open = agent == '' or not agents:find('^%[%[?"') or agents:find('"' .. agent .. '"', 1, true)
        or doc:find('"owner_agent_id":"' .. agent .. '"', 1, true)
      local is_skilled = skill == '' or (skills .. doc):find('"' .. skill .. '"', 1, true)
      if is_open and is_skilled
        and (mode ~= 'claim' or is_left(marks:format(run) .. part, doc)) then
        of_run[#of_run + 1] = {part, doc, agents, skills}
        shown = shown + 1
        if shown == wanted then
          found[#found + 1] = of_run
          return first + i, false
        end
      end
    end
  end
  if of_run and #of_run > 2 then
    found[#found + 1] = of_run
  end
  return first + #listed / 2, #listed / 2 < page
end

local function ended(run)
  local facts = told('JSON.GET', metas:format(run), '$.status', '$.workflow_name', '$.project', '$.created_at',
    '$.paused_at', '$.blocked_by', '$.agents', '$.skills', '$.states[0:1001]', '$.grown')
  read = read + 20
  if facts then
    found[#found + 1] = {run, facts}
    shown = shown + 1
  end
end

local function visit(run, at, first)
  if mode == 'done' then
    ended(run)
    return shown == wanted and {at, run, 1} or nil
  end
  repeat
    local upto, is_all = look(run, first)
    first = upto
    if not is_all and (shown == wanted or read >= most_read) then
      return {at, run, first}
    end
  until is_all
end

if ARGV[19] ~= '' then
  local stopped = visit(ARGV[19], '0', skip)
  return {contested, stopped or {}, found}
end
"""
    + WALK
    + r"""
local looked, names, scores = 0, nil, nil
local is_done = mode == 'done'
repeat
  names, scores = next_chunk()
  local on = {}
  for at = 1, #names > 0 and all + any or 0 do
    on[at] = at ~= chosen and not (is_by_any and at > all) and redis.call('ZMSCORE', KEYS[at], unpack(names))
  end
  for i, run in ipairs(names) do
    local at, belongs, on_one = scores[i], true, any == 0 or is_by_any
    for key = 1, all do
      belongs = belongs and (key == chosen or on[key][i])
    end
    for key = all + 1, is_by_any and 0 or all + any do
      on_one = on_one or on[key][i]
    end
    local is_first = run == after and at == score
    local is_before = at == score and run < after
    if belongs and on_one and not is_before and not (is_done and is_first) then
      local stopped = visit(run, at, is_first and skip or 0)
      read = read + 1
      if stopped then
        return {contested, stopped, found}
      elseif read >= most_read then
        return {contested, {at, run, 10000000}, found}
      end
    end
    if looked + i >= most_runs then
      return {contested, {at, run, 10000000}, found}
    end
  end
  looked = looked + #names
until #names < 500
return {contested, {}, found}
"""
)

_BLANK: Final = RunKeys("%s")
_DONE_AT_ONCE: Final = 1000
"""States of a run that are looked at for what is done."""


@record(frozen=True, slots=True, kw_only=True)
class FoundState:
    """A state that may be taken, by the list of work. `place` is where the list goes on."""

    workflow_id: str
    state: str


@record(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The states that a claim may try next. `is_contested`: others are about to take some that fit too."""

    states: tuple[FoundState, ...]
    is_contested: bool
    next_place: WorkPlace | None


class WorkList:
    """The work of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, query: WorkQuery) -> WorkPage:
        """Return a page of work in one round trip; in two, where it is about what is done."""
        clock, (_, stopped, runs) = self._connections.send(("TIME",), _command(query, _mode(query), query.limit))
        now = micros(clock)
        items = (
            self._done(runs) if query.status is WorkStatus.DONE else [item for run in runs for item in _items(run, now)]
        )
        wanted = tuple(item for item in items if query.wants(item))
        return WorkPage(now=now, items=wanted, next_place=_place(stopped))

    def next_ready(self, query: WorkQuery, mark: str, passed: Sequence[FoundState]) -> Candidates:
        """Return the next state that the query's agent may take, and mark it; with an empty mark also a marked one."""
        (reply,) = self._connections.send(_command(query, "claim", 1, mark, passed))
        contested, stopped, runs = reply
        states = tuple(
            FoundState(workflow_id=run.decode(), state=decode_state(part.decode()))
            for run, _, *parts in runs
            for part, *_ in parts
        )
        return Candidates(states=states, is_contested=bool(contested), next_place=_place(stopped))

    def _done(self, runs: Sequence[Reply]) -> Iterator[WorkItem]:
        """Yield what has ended in these runs; it is on no list of open states, so the documents of all are read."""
        told = [(run.decode(), load(facts)) for run, facts in runs]
        named = {
            run: [join("", name) for name in meta.get("$.states[0:1001]", [])][:_DONE_AT_ONCE] for run, meta in told
        }
        grown = [run for run, meta in told if meta.get("$.grown") == [True]]
        listed: list[Command] = [("XRANGE", RunKeys(run).units, "-", "+", "COUNT", _DONE_AT_ONCE) for run in grown]
        for run, units in zip(grown, self._connections.send(*listed) if listed else [], strict=True):
            named[run] = [load(fields[1])["name"] for _, fields in units]
        asked: list[Command] = [
            ("JSON.MGET", *map(RunKeys(run).state, paths), "$") for run, paths in named.items() if paths
        ]
        replies = iter(self._connections.ask(*asked) if asked else ())
        for run, meta in told:
            facts, paths = _facts(run, meta), named[run]
            docs: Reply = next(replies) if paths else []
            agents, skills = _first(meta, "$.agents"), _first(meta, "$.skills")
            for path, text in zip(paths, docs if isinstance(docs, list) else [], strict=False):
                doc = None if text is None else read_text(text)
                if doc is not None and doc.status.is_terminal:
                    name = name_of(path)
                    item = item_of(facts, path, doc, _assigned(agents, name), _assigned(skills, name), 0)
                    if item is not None and (doc.attempts or name in (skills or {})):
                        yield item


def _mode(query: WorkQuery) -> str:
    if query.status in (WorkStatus.RUNNING, WorkStatus.DONE, WorkStatus.READY, WorkStatus.REVIEW):
        return str(query.status)
    return "open"


def _command(query: WorkQuery, mode: str, wanted: int, mark: str = "", passed: Sequence[FoundState] = ()) -> Command:
    every, one_of = _lists(query, mode)
    place = query.place or WorkPlace(score=0, workflow_id="")
    first = ("-inf", "", 0) if query.place is None else (place.score, place.workflow_id, place.skipped)
    bounds = (_MOST_RUNS, _MOST_READ, _PAGE_OF_RUN, wanted)
    asked = (mode, query.agent or "", "" if query.skill is None else dump(query.skill)[1:-1], mark, _MARK_MS)
    forms = (_BLANK.timers, _BLANK.meta, _BLANK.state(""), _BLANK.taking(""))
    left = [f"{one.workflow_id}/{encode_state(one.state)}" for one in passed]
    names = (*every, *one_of)
    return (
        "EVAL",
        _FIND,
        len(names),
        *names,
        len(every),
        len(one_of),
        *first,
        *bounds,
        *asked,
        *forms,
        query.run or "",
        GATE,
        *left,
    )


def _lists(query: WorkQuery, mode: str) -> tuple[list[str], list[str]]:
    """Return the lists of runs that all must have a run, and those of which one must."""
    facets = {Facet.WORKFLOW: query.workflow, Facet.PROJECT: query.project}
    every = [keys.runs_by(facet, value) for facet, value in facets.items() if value is not None]
    if mode != "done":
        every.append(keys.runs_by(Facet.STATUS, RunStatus.RUNNING))
    one_of = [] if query.agent is None else [keys.runs_by(Facet.AGENT, one) for one in (query.agent, FOR_ANYBODY)]
    return (every, one_of) if every else (one_of[:1], [])


def _items(run: Reply, now: int) -> Iterator[WorkItem]:
    name, meta, *parts = run
    facts = _facts(name.decode(), load(meta))
    for part, text, agents, skills in parts:
        doc, path = read_text(text), decode_state(part.decode())
        if doc is None:
            continue
        own = name_of(path)
        item = item_of(facts, path, doc, _read(agents, own), _read(skills, own), now)
        if item is not None:
            yield item


def _facts(workflow_id: str, found: Mapping[str, Json]) -> RunFacts:
    return facts_of(workflow_id, {path[2:]: values[0] for path, values in found.items() if values and path[2] != "["})


def _first(found: Mapping[str, Json], path: str) -> dict[str, Json]:
    values = found.get(path) or [None]
    return values[0] if isinstance(values[0], dict) else {}


def _read(reply: bytes, name: str) -> tuple[str, ...]:
    values = load(reply)
    value = values[0] if values else None
    return read_assignment(value.get(name) if isinstance(value, dict) else value)


def _assigned(of_all: Mapping[str, Json], name: str) -> tuple[str, ...]:
    return read_assignment(of_all.get(name))


def _place(stopped: Sequence[bytes]) -> WorkPlace | None:
    if not stopped:
        return None
    score, run, skipped = stopped
    return WorkPlace(score=int(float(score)), workflow_id=run.decode(), skipped=int(skipped))
