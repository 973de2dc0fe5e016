"""The Lua scripts that move reports of usage to the books, and what both ways of doing so share. They send nothing."""

from typing import Final

from dcf.store.forms.form import DOCUMENTS
from dcf.values.instants import SECOND

BOOKS: Final = "cp:idx:usage:"
LIFE_S: Final = 400 * 24 * 3600
"""Seconds that the books of a day, of an agent and of a project are kept after the last report."""

LINGER: Final = 60 * SECOND
"""A run is noted for so long after its last report: what was noted before may be committed later."""

MODELS: Final = 50
"""Models of a run whose sums are kept apart; further ones are summed as one."""

OTHER_MODELS: Final = "(others)"

SUM_UP: Final = """
local function add(key, prefix, amounts)
  for name, amount in pairs(amounts) do
    redis.pcall('HINCRBY', key, prefix .. name, amount)
  end
end
local function read_report(fields)
  local about, amounts = {}, {}
  for i = 1, #fields, 2 do
    local name = fields[i]
    if name == 'state' or name == 'agent' or name == 'day' or name == 'model' or name == 'turn' then
      about[name] = fields[i + 1]
    else
      amounts[name] = fields[i + 1]
    end
  end
  return about, amounts
end
local function add_parts(parts, about, amounts, most_models, others)
  add(parts, 's:' .. about.state .. ':', amounts)
  add(parts, 'a:' .. about.agent .. ':', amounts)
  local model = about.model
  if model then
    if not redis.call('HGET', parts, 'm:' .. model .. ':reports') then
      if tonumber(redis.call('HGET', parts, 'models') or '0') < tonumber(most_models) then
        redis.call('HINCRBY', parts, 'models', 1)
      else
        model = others
      end
    end
    add(parts, 'm:' .. model .. ':', amounts)
  end
end
"""
"""Lua functions that read a report and add it to the sums of its run."""

SETTLE: Final = (
    DOCUMENTS
    + SUM_UP
    + """
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[5])
local touched = {}
local project, unpaid, paid = false, {}, {}
for i = 9, #ARGV do paid[ARGV[i]] = true end
local function is_paid(turn)
  local bill = cjson.decode(turn)
  local name = bill.account .. '/' .. bill.reservation
  if paid[name] then return true end
  local known = redis.call('GET', ARGV[8]:format(bill.account, bill.reservation))
  local tokens_in, tokens_out = (known or ''):match('^%d+|(%d+)|(%d+)|')
  return tokens_in and tonumber(tokens_in) >= (bill.usage.tokens_in or 0)
    and tonumber(tokens_out) >= (bill.usage.tokens_out or 0)
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
return {left, project or '', unpaid}
"""
)
