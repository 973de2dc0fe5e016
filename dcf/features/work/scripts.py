"""The Lua scripts that find work: one script for lists of runs and their open states, and its parts.

On a cluster the lists and the runs are in different slots, where no script may read both: there one script goes through
the lists of a shard, and another looks at one run. They send nothing themselves: `search_storage` makes commands of
them.

KEYS: lists that a run must all be on, then those of which it must be on one. ARGV: how many of the former and of the
latter. The place: score, run, states to pass over. Most runs to pass over, most documents to read, states of a run at a
time, how many states are wanted (of `LIST`, runs). The mode (open, ready, claim, running, review, done), the agent, the
skill, the mark and its life. The forms of the keys of timers, meta, states and marks; the run (`VISIT`). The type of a
state whose output is judged. Then states to pass over, as run and part.

Replies: whether another is about to take some, and the place where it stopped or nothing. Of each run: its id, the
fields of its meta, and the states with document, assignment and skills. `LIST`: of each run its place. `VISIT`: also
how many documents were read.
"""

from collections.abc import Iterable
from typing import Final

from dcf.store.forms.form import DOCUMENTS, Member
from dcf.store.lists.walks import WALK


def _lua_list(names: Iterable[str]) -> str:
    return "{" + ", ".join(f"'{name}'" for name in names) + "}"


FACTS: Final = ("status", "workflow_name", "project", "created_at", "paused_at", "blocked_by")
"""Members of meta that are read of a run in which work was found."""

_MOST_STATES: Final = 1001

ENDED: Final[tuple[Member, ...]] = (*FACTS, "agents", "skills", ("states", _MOST_STATES), "grown")
"""Members of meta that are read of a run whose ended states are listed."""

PAST: Final = 9_999_999
"""States to pass over at a place whose run was looked at."""

_GIVEN: Final = r"""
local all, any = tonumber(ARGV[1]), tonumber(ARGV[2])
local score, after, skip = ARGV[3], ARGV[4], tonumber(ARGV[5])
local most_runs, most_read, page = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local wanted, mode, agent, skill = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12]
local mark, life = ARGV[13], ARGV[14]
local timers, metas, states, marks = ARGV[15], ARGV[16], ARGV[17], ARGV[18]
local found, read, shown, contested = {}, 0, 0, 0
local chunk = 500
"""

_LOOK: Final = (
    DOCUMENTS
    + f"""
local fact_names = {_lua_list(FACTS)}
local ended_names = {_lua_list((*FACTS, "agents", "skills", f"states[0:{_MOST_STATES}]", "grown"))}
"""
    + r"""
local passed = {}
for i = 21, #ARGV do
  passed[ARGV[i]] = true
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
if mark ~= '' and redis.set_repl then
  redis.set_repl(redis.REPL_NONE)
end
-- A key that was damaged by hand must not hide the others.
local function told(...)
  local reply = redis.pcall(...)
  return not (type(reply) == 'table' and reply.err) and reply or false
end

local function of_name(meta, field, part)
  local name = part:match('[^/]*$'):gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
  return read_named(told, meta, field, name) or 'null'
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
  local docs = read_documents(told, keys)
  read = read + #docs
  local meta = metas:format(run)
  for i = 1, #docs do
    local part, doc = listed[2 * i - 1], docs[i]
    if fits(doc, tonumber(listed[2 * i])) and not passed[run .. '/' .. part] then
      if not of_run then
        local facts = read_members(told, meta, fact_names)
        local seen = facts and members_in(facts, fact_names)
        local stands = not seen or seen.status ~= 'running'
        if mode == 'claim' and not stands then
          stands = type(seen.paused_at) == 'string' or (type(seen.blocked_by) == 'table' and #seen.blocked_by > 0)
        end
        if stands then
          return first, true
        end
        of_run = {run, facts}
      end
      local agents = of_name(meta, 'agents', part)
      local skills = of_name(meta, 'skills', part)
      local is_open = agent == '' or not agents:find('^%[?"') or agents:find('"' .. agent .. '"', 1, true)
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
  local facts = read_parts(told, metas:format(run), ended_names)
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
"""
)

_ONE_RUN: Final = r"""
local stopped = visit(ARGV[19], '0', skip)
return {contested, stopped or {}, found, read}
"""

_COLLECT: Final = r"""
chunk = 2 * wanted
local function visit(run, at)
  found[#found + 1] = {at, run}
  return #found == wanted and {at, run, 9999999} or nil
end
"""

_WALK: Final = (
    WALK
    + r"""
local looked, names, scores, is_last = 0, nil, nil, nil
local is_done = mode == 'done'
repeat
  names, scores, is_last = next_chunk()
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
        return {contested, {at, run, 9999999}, found}
      end
    end
    if looked + i >= most_runs then
      return {contested, {at, run, 9999999}, found}
    end
  end
  looked = looked + #names
until is_last
return {contested, {}, found}
"""
)

FIND: Final = _GIVEN + _LOOK + _WALK
"""Finds work in the runs on some lists."""

VISIT: Final = _GIVEN + _LOOK + _ONE_RUN
"""Finds work in one run."""

LIST: Final = _GIVEN + _COLLECT + _WALK
"""Finds the runs on some lists, the oldest first."""
