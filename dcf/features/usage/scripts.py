"""The Lua scripts that move reports of usage to the books, and what both ways of doing so share. They send nothing."""

from typing import Final

from dcf.store.forms.form import DOCUMENTS
from dcf.values.instants import SECOND

BOOKS: Final = "cp:idx:usage:"
LIFE_S: Final = 400 * 24 * 3600
"""Seconds that the books of a day, of an agent and of a project are kept after the last report."""

RUNS: Final = "cp:wf:"
"""How the keys of runs begin, for a script that adds to those of several."""

LINGER: Final = 60 * SECOND
"""A run is noted for so long after its last report: what was noted before may be committed later."""

MODELS: Final = 50
"""Models of a run whose sums are kept apart; further ones are summed as one."""

OTHER_MODELS: Final = "(others)"

ABOUT: Final = ("state", "agent", "day", "model", "models", "turn", "trees")
"""The fields of a report that are no amounts; `trees` are the runs in whose trees the run is that reports."""

_ABOUT: Final = f"local ABOUT = {{{', '.join(f'{name} = true' for name in ABOUT)}}}\n"

ADD: Final = """
local function add(key, prefix, amounts)
  for name, amount in pairs(amounts) do
    redis.pcall('HINCRBY', key, prefix .. name, amount)
  end
end
local function add_to_tree(sums, meta, amounts)
  local life = redis.call('PTTL', meta)
  if life ~= -2 then
    add(sums, 'tree:', amounts)
    if life >= 0 then redis.call('EXPIRE', sums, math.ceil(life / 1000)) end
  end
end
"""
"""Lua functions that add amounts to sums, and to those of the tree of a run, which expire as its meta does."""

SUM_UP: Final = (
    _ABOUT
    + ADD
    + """
local function read_report(fields)
  local about, amounts = {}, {}
  for i = 1, #fields, 2 do
    local name = fields[i]
    if ABOUT[name] then
      about[name] = fields[i + 1]
    else
      amounts[name] = fields[i + 1]
    end
  end
  return about, amounts
end
local function add_model(parts, model, amounts, most_models, others)
  if not redis.call('HGET', parts, 'm:' .. model .. ':reports') then
    if tonumber(redis.call('HGET', parts, 'models') or '0') < tonumber(most_models) then
      redis.call('HINCRBY', parts, 'models', 1)
    else
      model = others
    end
  end
  add(parts, 'm:' .. model .. ':', amounts)
end
local function add_parts(parts, about, amounts, most_models, others)
  add(parts, 's:' .. about.state .. ':', amounts)
  add(parts, 'a:' .. about.agent .. ':', amounts)
  if about.model then add_model(parts, about.model, amounts, most_models, others) end
  for _, part in ipairs(about.models and cjson.decode(about.models) or {}) do
    add_model(parts, part[1], part[2], most_models, others)
  end
end
"""
)
"""Lua functions that read a report and add it to the sums of its run."""

SETTLE: Final = (
    DOCUMENTS
    + SUM_UP
    + """
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[5])
local touched, trees, listed = {}, {}, {}
local project, unpaid, answered = false, {}, {}
for i = 10, #ARGV do answered[ARGV[i]] = true end
local function nanos_of(cost)
  local whole, part = (cost or '0'):match('^(%d+)%.?(%d*)$')
  return tonumber(whole .. (part .. '000000000'):sub(1, 9))
end
local function is_paid(turn)
  if answered[turn] then return true end
  local bill = cjson.decode(turn)
  local known = redis.call('GET', ARGV[9]:format(bill.account, bill.reservation))
  if not known then return false end
  local has, used = {}, bill.usage
  for part in (known .. '|'):gmatch('([^|]*)|') do has[#has + 1] = part end
  local function covers(part, amount) return tonumber(has[part] or '0') >= (amount or 0) end
  return covers(2, used.tokens_in) and covers(3, used.tokens_out) and covers(4, nanos_of(used.cost))
    and covers(10, used.tokens_cached) and covers(11, used.tokens_cache_written) and has[6] == '0' and has[7] == '0'
end
if #entries > 0 then
  local told = read_member(redis.call, KEYS[3], 'project')
  project = told and told:match('^"([%w_.-]+)"$')
end
for _, entry in ipairs(entries) do
  local about, amounts = read_report(entry[2])
  if about.turn and not is_paid(about.turn) then
    unpaid[#unpaid + 1] = about.turn
  else
    add_parts(KEYS[2], about, amounts, ARGV[6], ARGV[7])
    local books = {ARGV[2] .. 'agent:' .. about.agent}
    if project then
      books[2] = ARGV[2] .. 'project:' .. project
    end
    for _, book in ipairs(books) do
      add(book, '', amounts)
      add(book .. ':' .. about.day, '', amounts)
      touched[book] = true
      touched[book .. ':' .. about.day] = true
    end
    for run in string.gmatch(about.trees or '', '%S+') do
      if run ~= ARGV[1] then add_to_tree(ARGV[8] .. run .. ':usage', ARGV[8] .. run .. ':meta', amounts) end
      if not listed[run] then
        listed[run] = true
        trees[#trees + 1] = run
      end
    end
    redis.call('XDEL', KEYS[1], entry[1])
  end
end
for book in pairs(touched) do
  redis.call('EXPIRE', book, ARGV[3])
end
local left = redis.call('XLEN', KEYS[1])
if left == 0 then
  redis.call('DEL', KEYS[1])
  local noted = redis.call('ZSCORE', KEYS[4], ARGV[1])
  local clock = redis.call('TIME')
  if noted and tonumber(noted) < clock[1] * 1000000 + clock[2] - ARGV[4] then
    redis.call('ZREM', KEYS[4], ARGV[1])
  end
end
return {left, project or '', trees, unpaid}
"""
)
