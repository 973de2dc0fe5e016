"""The Lua script of the protocol of an account: the twin of `decisions`, in Redis. Change both together.

KEYS: the hash of the account, its reservations, their order, what the keys of settled turns and of days begin with,
its log, the shares of runs, the runs that asked. ARGV: the operation, the time or 0 for that of Redis, then what the
operation takes.
"""

import re
from typing import Final

from dcf.core.documents.parking import OF_MODELS
from dcf.features.accounts import model
from dcf.features.accounts.closure_scripts import CLOSED, LIMIT

_LIFE_S: Final = 7 * 86_400
_DAY_LIFE_S: Final = 400 * 86_400

_HEAD: Final = r"""
local acc, held, tills, dones, days, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local shares, asked = KEYS[7], KEYS[8]
local now = tonumber(ARGV[2])
if now == 0 then local t = redis.call('TIME'); now = t[1] * 1000000 + t[2] end
local floor, max, min = math.floor, math.max, math.min
local function whole(value) return string.format('%.0f', value) end

-- The hash of the account is read once, and what changed in it is written once.
local account, changed = {}, {}
local flat = redis.call('HGETALL', acc)
for i = 1, #flat, 2 do account[flat[i]] = flat[i + 1] end
local function get(name) return tonumber(account[name] or '0') end
local function text(name) return account[name] or '' end
local function set_text(name, value) if account[name] ~= value then account[name] = value; changed[name] = value end end
local function set(name, value) set_text(name, whole(value)) end
local function add(name, more) if more ~= 0 then set(name, get(name) + more) end end
local function write()
  local words = {}
  for name, value in pairs(changed) do words[#words + 1] = name; words[#words + 1] = value end
  if #words > 0 then redis.call('HSET', acc, unpack(words)) end
end
local function note(what, more)
  redis.call('XADD', log, 'MAXLEN', '~', 1000, '*', 'what', what, 'at', whole(now), 'more', more or '')
end
local function enter(day, name, amount)
  if amount ~= 0 then
    local key = days .. whole(day)
    redis.call('HINCRBY', key, name, whole(amount))
    redis.call('EXPIRE', key, DAY_LIFE)
  end
end

local function parts(value)
  local found = {}
  for part in (value .. '|'):gmatch('([^|]*)|') do found[#found + 1] = part end
  return found
end
local function read_turn(value)
  if not value then return nil end
  local p = parts(value)
  return {till = tonumber(p[1]), day = tonumber(p[2]), et = tonumber(p[3]), en = tonumber(p[4]), ti = tonumber(p[5]),
    to = tonumber(p[6]), un = tonumber(p[7]), cur = p[8], pt = tonumber(p[9]), pn = tonumber(p[10]),
    agent = p[12], run = p[13], tc = tonumber(p[14] or '0'), tw = tonumber(p[15] or '0')}
end
local function read_done(value)
  if not value then return nil end
  local p = parts(value)
  return {day = tonumber(p[1]), ti = tonumber(p[2]), to = tonumber(p[3]), un = tonumber(p[4]), cur = p[5],
    ot = tonumber(p[6]), on = tonumber(p[7]), ocur = p[8], final = tonumber(p[9]), tc = tonumber(p[10] or '0'),
    tw = tonumber(p[11] or '0')}
end
-- Amounts of a turn: tokens in, out, read from a cache and written to it, and billionths.
local KINDS = {ti = 'tokens_in', to = 'tokens_out', tc = 'tokens_cached', tw = 'tokens_cache_written'}
local function amounts(ti, to, tc, tw, un)
  return {ti = tonumber(ti), to = tonumber(to), tc = tonumber(tc), tw = tonumber(tw), un = tonumber(un)}
end
local function tokens(r) return r.ti + r.to + r.tc + r.tw end
local function copy(r) return {ti = r.ti, to = r.to, tc = r.tc, tw = r.tw, un = r.un} end
local function larger(r, sent)
  local most = {}
  for name, amount in pairs(sent) do most[name] = max(r[name], amount) end
  return most
end
local function enter_tokens(day, before, after)
  for name, sum in pairs(KINDS) do enter(day, sum, after[name] - before[name]) end
end
local function settle(id, d)
  local value = string.format('%.0f|%.0f|%.0f|%.0f|%s|%.0f|%.0f|%s|%.0f|%.0f|%.0f', d.day, d.ti, d.to, d.un, d.cur,
    d.ot or 0, d.on or 0, d.ocur or '', d.final or 0, d.tc, d.tw)
  redis.call('SET', dones .. id, value, 'EX', DONE_LIFE)
end
local function hold(id, r, is_new)
  local pt, pn = r.pt or 0, r.pn or 0
  r.pt = max(0, r.et - tokens(r))
  r.pn = r.en
  if r.cur == '' or r.cur == text('currency') then r.pn = max(0, r.en - r.un) end
  add('tokens', r.pt - pt); add('nanos', r.pn - pn)
  if is_new then add('count', 1) end
  -- The 1 says that the turn has begun. Servers of an earlier version read it.
  redis.call('HSET', held, id, string.format('%.0f|%.0f|%.0f|%.0f|%.0f|%.0f|%.0f|%s|%.0f|%.0f|1|%s|%s|%.0f|%.0f',
    r['till'], r.day, r.et, r.en, r.ti, r.to, r.un, r.cur, r.pt, r.pn, r.agent, r.run, r.tc, r.tw))
  redis.call('ZADD', tills, whole(r['till']), id)
end
local function drop(id, r)
  redis.call('HDEL', held, id); redis.call('ZREM', tills, id)
  add('tokens', -r.pt); add('nanos', -r.pn); add('count', -1)
end
local function lapse()
  local over = redis.call('ZRANGE', tills, '-inf', '(' .. whole(now), 'BYSCORE', 'LIMIT', 0, 100)
  for _, id in ipairs(over) do
    local r, currency = read_turn(redis.call('HGET', held, id)), text('currency')
    local ot, on = r.pt, currency ~= '' and r.pn or 0
    enter(r.day, 'lapsed', 1); enter(r.day, 'open_tokens', ot); enter(r.day, 'open_cost:' .. currency, on)
    local d = copy(r)
    d.day, d.cur, d.ot, d.on, d.ocur = r.day, r.cur, ot, on, currency
    settle(id, d)
    drop(id, r)
    if text('probing') == id then set_text('probing', '') end
  end
end

local function bucket(name)
  local rate, at = get(name), floor(now / 1000)
  local level = account[name .. '_level'] and get(name .. '_level') or rate * BUCKET
  local passed = max(0, min(at - get(name .. '_at'), REFILL))
  level = min(rate * BUCKET, level + rate * passed)
  set(name .. '_level', level); set(name .. '_at', at)
  return level
end
local function pour(name, amount)
  local rate = get(name)
  if rate ~= 0 then
    amount = max(-ESTIMATE, min(amount, ESTIMATE))
    local level = (account[name .. '_level'] and get(name .. '_level') or rate * BUCKET) - amount * BUCKET
    set(name .. '_level', max(level, -rate * REFILL))
  end
end

"""

_ROOM: Final = r"""
-- Replies: why no turn may start now, and when to ask again; nothing if one may.
local function full()
  local most = get('in_flight')
  if most > 0 and get('count') >= most then return 'in_flight', now + AGAIN end
  for _, name in ipairs({'rpm', 'tpm'}) do
    local rate = get(name)
    if rate > 0 then
      local level = bucket(name)
      if level <= 0 then return name, now + 1000 * (1 + floor(-level / rate)) end
    end
  end
end
-- Between runs: those that asked a moment ago and have had less go first.
local function share_of(run) return max(tonumber(redis.call('ZSCORE', shares, run) or '0'), get('vmin')) end
local function behind(run, width)
  if not width then return nil end
  local gone = redis.call('ZRANGE', asked, '-inf', '(' .. whole(now - SEEN), 'BYSCORE')
  if #gone > 0 then redis.call('ZREM', asked, unpack(gone, 1, min(#gone, 5000))) end
  local waiting, ahead = redis.call('ZRANGE', asked, 0, WAITING - 1), 0
  local own = #waiting > 0 and share_of(run)
  for _, other in ipairs(waiting) do
    if other ~= run and share_of(other) < own then ahead = ahead + 1 end
  end
  if ahead >= width - get('count') then return 'turn', now + AGAIN end
end
local function start(run, tokens)
  redis.call('ZREM', asked, run)
  local own, waiting = share_of(run), redis.call('ZRANGE', asked, 0, WAITING - 1)
  tokens = max(1, tokens)
  local least = #waiting > 0 and own or own - tokens * get('count')
  for _, other in ipairs(waiting) do least = min(least, share_of(other)) end
  redis.call('ZADD', shares, whole(own + tokens), run)
  set('vmin', max(get('vmin'), least))
  local past = redis.call('ZRANGE', shares, '-inf', whole(get('vmin')), 'BYSCORE', 'LIMIT', 0, PRUNED)
  if #past > 0 then redis.call('ZREM', shares, unpack(past)) end
end
local function over(budget, spent, more)
  local most = get(budget)
  return most > 0 and (spent >= most or (spent + more > most and get('count') > 0))
end
local function spent_up(et, en)
  if get('day_tokens') == 0 and get('day_nanos') == 0 then return nil end
  local day, currency = floor(now / DAY), text('currency')
  local sums = redis.call('HMGET', days .. whole(day), 'tokens_in', 'tokens_out', 'tokens_cached',
    'tokens_cache_written', 'open_tokens', 'cost:' .. currency, 'open_cost:' .. currency)
  for i = 1, 7 do sums[i] = tonumber(sums[i] or '0') end
  if over('day_tokens', sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + get('tokens'), et)
    or over('day_nanos', sums[6] + sums[7] + get('nanos'), en) then
    return 'day', (day + 1) * DAY
  end
end

local function moved(before, after)
  enter_tokens(before.day, before, after)
  enter(before.day, 'cost:' .. before.cur, -before.un); enter(before.day, 'cost:' .. after.cur, after.un)
  enter(before.day, 'open_tokens', -(before.ot or 0))
  enter(before.day, 'open_cost:' .. (before.ocur or ''), -(before.on or 0))
end
local function currency_of(known, nanos, currency)
  if nanos == 0 or known == '' or known == currency then
    if nanos ~= 0 and currency ~= '' then return currency end
    return known
  end
end
local operations = {}
"""

_RESERVE: Final = r"""
-- id, run, agent, estimated tokens, estimated billionths, how long it lasts, the model
function operations.reserve(id, run, agent, et, en, lasts, of_model)
  et, en, lasts = tonumber(et), tonumber(en), tonumber(lasts)
  if redis.call('EXISTS', dones .. id) == 1 then return {'settled', '0', 0, whole(now)} end
  if redis.call('HGET', held, id) then return {'granted', '0', text('probing') == id and 1 or 0, whole(now)} end
  lapse()
  if et == 0 then et = get('mean') end
  local of_family = family_closed(of_model)
  if of_family then return of_family end
  local why, at = closed()
  local width = get('in_flight') > 0 and get('in_flight') or nil
  if not why and get('ramp') > 0 then
    local ramped = 2 ^ (1 + floor((now - get('ramp')) / STEP))
    width = min(width or ramped, ramped)
  end
  if not why then why, at = full() end
  if not why then why, at = behind(run, width) end
  if why and why ~= 'closed' then redis.call('ZADD', asked, whole(now), run) end
  if not why then why, at = spent_up(et, en) end
  if why == 'closed' then return {why, whole(at), 0, whole(now), text('kind'), text('by'), text('told'), ''} end
  if why then return {why, whole(at), 0, whole(now)} end
  local is_probe = get('until') > 0 and get('ramp') == 0
  if is_probe then set('probe_at', now); set_text('probing', id); note('probe', id) end
  pour('rpm', 1); pour('tpm', et)
  start(run, et)
  local r = amounts(0, 0, 0, 0, 0)
  r['till'], r.day, r.et, r.en, r.cur = now + lasts, floor(now / DAY), et, en, ''
  r.agent, r.run = agent, run
  hold(id, r, true)
  return {'granted', '0', is_probe and 1 or 0, whole(now)}
end
"""

_REPORT: Final = r"""
-- id, tokens in, out, cached, written to caches, billionths, currency, 1 if it ended, 1 if accepted, how long it lasts
function operations.report(id, ti, to, tc, tw, un, cur, ended, ok, lasts)
  local sent = amounts(ti, to, tc, tw, un)
  ended, ok = ended == '1', ok == '1'
  local r = read_turn(redis.call('HGET', held, id))
  if r then
    local currency = currency_of(r.cur, sent.un, cur)
    if not currency then return 'currency' end
    local used = larger(r, sent)
    enter_tokens(r.day, r, used); enter(r.day, 'cost:' .. currency, used.un - r.un)
    probed(id, sent, ended, ok)
    if ended then
      local all = tokens(used)
      enter(r.day, 'turns', 1); pour('tpm', all - r.et)
      local mean = get('mean') > 0 and get('mean') or all
      set('mean', min(floor((mean * (AVERAGED - 1) + all) / AVERAGED), ESTIMATE))
      redis.call('ZADD', shares, whole(share_of(r.run) + all - r.et), r.run)
      drop(id, r)
      used.day, used.cur = r.day, currency
      settle(id, used)
      return 'settled'
    end
    for name, amount in pairs(used) do r[name] = amount end
    r.cur, r['till'] = currency, now + tonumber(lasts)
    hold(id, r)
    return 'renewed'
  end
  local d = read_done(redis.call('GET', dones .. id))
  if d and d.final == 1 then return 'settled' end
  local before = d or amounts(0, 0, 0, 0, 0)
  if not d then before.day, before.cur = floor(now / DAY), '' end
  local currency = currency_of(before.cur, sent.un, cur)
  if not currency then return 'currency' end
  local after = larger(before, sent)
  after.day, after.cur = before.day, currency
  moved(before, after)
  if not d then enter(before.day, 'turns', 1) end
  settle(id, after)
  return d and 'late' or 'unknown'
end

-- id, tokens in, out, cached, written to caches, billionths, currency, the day of a turn that nobody reserved
function operations.state(id, ti, to, tc, tw, un, cur, day)
  local r, d = read_turn(redis.call('HGET', held, id)), read_done(redis.call('GET', dones .. id))
  local after = amounts(ti, to, tc, tw, un)
  local before = d or amounts(0, 0, 0, 0, 0)
  if not d then before.day, before.cur = tonumber(day), '' end
  if r then
    before = copy(r)
    before.day, before.cur = r.day, r.cur
    probed(id, after, true, false)
    drop(id, r)
  end
  after.day, after.cur, after.final = before.day, cur, 1
  moved(before, after)
  if not d then enter(before.day, 'turns', 1) end
  settle(id, after)
  return 'stated'
end
"""

_CALL: Final = r"""
local reply = operations[ARGV[1]](unpack(ARGV, 3))
write()
return reply
"""


def _with_constants(text: str) -> str:
    values = {
        "DAY_LIFE": _DAY_LIFE_S,
        "DONE_LIFE": _LIFE_S,
        "BUCKET": model.WHOLE_BUCKET_MS,
        "REFILL": model.LONGEST_REFILL_MS,
        "ESTIMATE": model.MOST_ESTIMATE,
        "SILENCE": model.SILENCE,
        "PROBE": model.PROBE_EVERY,
        "AGAIN": model.AGAIN,
        "SEEN": model.SEEN,
        "AVERAGED": model.AVERAGED,
        "PRUNED": model.MOST_PRUNED,
        "WAITING": model.MOST_WAITING,
        "STEP": model.STEP,
        "DOUBLINGS": model.DOUBLINGS,
        "MOST_FAMILIES": model.MOST_FAMILIES,
        "OF_MODELS": f"'{OF_MODELS}'",
        "DAY": model.DAY,
    }
    begin = "local " + ", ".join(values) + " = " + ", ".join(map(str, values.values())) + "\n"
    return begin + text


def _shortened(text: str) -> str:
    """Leave out comments and indents: Redis computes the hash of the whole text for each call."""
    lines = (re.sub(r"\s+-- .*$", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


PROTOCOL: Final = _shortened(_with_constants(_HEAD + CLOSED + _ROOM + _RESERVE + _REPORT + LIMIT + _CALL))
"""The script. It is atomic: a turn is reserved or refused, counted once, and a closure holds for the next call."""
