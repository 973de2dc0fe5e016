"""The Lua scripts that count what API keys hold. Each is atomic, so what it counts always agrees with its entries.

They build keys of owners from prefixes in their arguments, because a write also changes the count of an earlier owner.
They send nothing themselves: `quotas` makes commands of them.
"""

from typing import Final

from dcf.store.forms.form import DOCUMENTS
from dcf.store.lists.elsewhere import LOOK

GIVE_BACK: Final = """
local function give_back(register, quota, docs, name)
  local record = redis.call('HGET', register, name)
  if not record then return end
  local owner, size = string.match(record, '^(%S+) (%d+)')
  redis.call('HDEL', register, name)
  redis.call('ZREM', docs .. owner, name)
  if redis.call('HINCRBY', quota .. owner, 'bytes', -tonumber(size)) <= 0 then
    redis.call('HDEL', quota .. owner, 'bytes')
  end
end
"""

FREE_RUNS: Final = """
local function free_run(quota, runs, part, run)
  local size = 0
  for _, one in ipairs(redis.call('HVALS', part .. ':' .. run)) do size = size + tonumber(one) end
  redis.call('ZREM', runs, run)
  redis.call('DEL', part .. ':' .. run)
  if redis.call('HINCRBY', quota, 'bytes', -size) <= 0 then redis.call('HDEL', quota, 'bytes') end
end
local function free_runs(quota, runs, part, before, after, now)
  if now - (tonumber(redis.call('HGET', quota, 'looked')) or 0) < 10 then return end
  local gone = {}
  for _, run in ipairs(redis.call('ZRANGE', runs, '-inf', now - 60, 'BYSCORE', 'LIMIT', 0, 500)) do
    if look(run, 'EXISTS', before .. run .. after) == 0 then gone[#gone + 1] = run end
  end
  if unseen() then return end
  for _, run in ipairs(gone) do free_run(quota, runs, part, run) end
  redis.call('HSET', quota, 'looked', now)
end
"""
"""Frees the quota of runs that no longer exist: called before a refusal, every ten seconds at most.

A run that was entered in the last minute may be about to be created. Runs are looked at by `lists.elsewhere`.
"""

RECEIPTS: Final = """
local function held(account)
  local found = redis.call('HMGET', account, 'bytes', 'receipts')
  return (tonumber(found[1]) or 0) + (tonumber(found[2]) or 0)
end
local function drop_receipts(account, receipts, now)
  local size = 0
  for _, one in ipairs(redis.call('ZRANGE', receipts, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)) do
    redis.call('ZREM', receipts, one)
    size = size + tonumber(string.match(one, ' (%d+)$'))
  end
  if size > 0 and redis.call('HINCRBY', account, 'receipts', -size) <= 0 then
    redis.call('HDEL', account, 'receipts')
  end
end
local function hold_receipt(account, receipts, name, size, life, now)
  if redis.call('ZADD', receipts, now + life, name .. ' ' .. size) == 1 then
    redis.call('HINCRBY', account, 'receipts', size)
  end
end
"""
"""Receipts of changes by hand count as bytes until they expire: one change a request can make many."""

HOLD_RECEIPT: Final = (
    RECEIPTS
    + """
local now = tonumber(redis.call('TIME')[1])
drop_receipts(KEYS[1], KEYS[2], now)
hold_receipt(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], now)
return 1
"""
)
"""Counts the receipt of a change of a run's document."""

WRITE_DOCUMENT: Final = (
    LOOK
    + DOCUMENTS
    + GIVE_BACK
    + FREE_RUNS
    + RECEIPTS
    + """
local document, receipt, register = KEYS[1], KEYS[2], KEYS[3]
local owner, text, wish = ARGV[1], ARGV[2], ARGV[3]
local most_documents, most_bytes = tonumber(ARGV[7]), tonumber(ARGV[8])
local quota, docs = ARGV[9], ARGV[10]
local account, mine = quota .. owner, docs .. owner
local now = tonumber(redis.call('TIME')[1])
for _, name in ipairs(redis.call('ZRANGE', mine, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
  if redis.pcall('EXISTS', name) ~= 1 then give_back(register, quota, docs, name) end
end
drop_receipts(account, ARGV[15] .. owner, now)
local record = redis.call('HGET', register, document)
local before, was_mine, life = 0, 0, tonumber(ARGV[4])
if record then
  local its_owner, size, its_life = string.match(record, '^(%S+) (%d+) (%d+)')
  life = tonumber(its_life)
  if its_owner == owner then before, was_mine = tonumber(size), 1 end
end
if wish ~= '' then life = tonumber(wish) end
if most_documents >= 0 and text ~= '' then
  local count = redis.call('ZCARD', mine)
  if was_mine == 0 and count >= most_documents then return {'documents', count, most_documents} end
  if #text > before and held(account) + #text - before > most_bytes then
    free_runs(account, ARGV[11] .. owner, ARGV[12] .. owner, ARGV[13], ARGV[14], now)
    if held(account) + #text - before > most_bytes then return {'stored_bytes', held(account), most_bytes} end
  end
end
if text == '' then
  redis.call('DEL', document)
else
  write_document(document, text)
  if life > 0 then redis.call('EXPIRE', document, life) else redis.call('PERSIST', document) end
end
give_back(register, quota, docs, document)
if text ~= '' then
  redis.call('HSET', register, document, owner .. ' ' .. #text .. ' ' .. life)
  redis.call('ZADD', mine, life > 0 and now + life or 9007199254740992, document)
  redis.call('HINCRBY', account, 'bytes', #text)
end
redis.call('SET', receipt, ARGV[5], 'EX', ARGV[6])
hold_receipt(account, ARGV[15] .. owner, receipt, #ARGV[5] + #receipt, ARGV[6], now)
return {}
"""
)
"""Writes or deletes a document and its receipt, if the owner's quotas allow it; who writes a document owns it."""

WRITE_HELD_DOCUMENT: Final = (
    DOCUMENTS
    + """
local document, receipt, register = KEYS[1], KEYS[2], KEYS[3]
local owner, text, life, mark = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
redis.call('HDEL', register, ARGV[7])
if text == '' then
  redis.call('DEL', document)
else
  write_document(document, text)
  redis.call('HSET', register, ARGV[7], owner .. ' ' .. #text .. ' ' .. life .. ' ' .. mark)
  for _, one in ipairs({document, register}) do
    if life > 0 then redis.call('EXPIRE', one, life) else redis.call('PERSIST', one) end
  end
end
redis.call('SET', receipt, ARGV[5], 'EX', ARGV[6])
return {}
"""
)
"""Writes or deletes a document and its receipt on a Redis Cluster, where both were counted before (`counting`)."""

FORGET_DOCUMENT: Final = (
    GIVE_BACK
    + """
if redis.call('EXISTS', ARGV[1]) == 1 then return 0 end
give_back(KEYS[1], ARGV[2], ARGV[3], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
"""
)
"""Frees the quota of a document that no longer exists."""

FORGET_RUN: Final = (
    LOOK
    + FREE_RUNS
    + """
local is_there = look(ARGV[1], 'EXISTS', ARGV[3]) == 1
if unseen() then return unseen() end
if is_there then return 0 end
free_run(KEYS[1], KEYS[2], ARGV[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
"""
)
"""Releases the counts of a deleted run, also its place among the live runs."""

RESERVE_RUN: Final = (
    LOOK
    + DOCUMENTS
    + FREE_RUNS
    + RECEIPTS
    + """
local quota, runs, live, parts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local run, size, most_live, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local before, after, over = ARGV[6], ARGV[7], {}
local is_there = look(run, 'EXISTS', before .. run .. after) == 1
if unseen() then return unseen() end
if is_there then return {} end
local now = tonumber(redis.call('TIME')[1])
if not redis.call('ZSCORE', live, run) and redis.call('ZCARD', live) >= most_live then
  local entered = redis.call('ZRANGE', live, 0, -1, 'WITHSCORES')
  for at = 1, #entered, 2 do
    local function ask(...) return look(entered[at], ...) end
    local status = read_member(ask, before .. entered[at] .. after, 'status')
    local may_come = not status and tonumber(entered[at + 1]) > now - 60
    if status ~= '"running"' and not may_come then over[#over + 1] = entered[at] end
  end
  if unseen() then return unseen() end
  for _, one in ipairs(over) do redis.call('ZREM', live, one) end
  local count = redis.call('ZCARD', live)
  if count >= most_live then return {'live_runs', count, most_live} end
end
local counted = tonumber(redis.call('HGET', parts, 'workflow')) or 0
drop_receipts(quota, KEYS[5], now)
if held(quota) + size - counted > most_bytes then
  free_runs(quota, runs, ARGV[5], before, after, now)
  if unseen() then return unseen() end
  if held(quota) + size - counted > most_bytes then return {'stored_bytes', held(quota), most_bytes} end
end
redis.call('ZADD', live, now, run)
redis.call('ZADD', runs, now, run)
redis.call('HSET', parts, 'workflow', size)
redis.call('HINCRBY', quota, 'bytes', size - counted)
return {}
"""
)
"""Enters a run that is to be created, if the quotas of the key allow it. A run that is there costs nothing more.

Before it refuses, it takes off the runs whose documents do not say that they run: the list of live ones has a run until
the clock has retired it. A run that was entered in the last minute and has no document may be about to be created.
"""

CHARGE_RUN: Final = (
    RECEIPTS
    + """
local quota, runs, parts, rate = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local events = tonumber(redis.call('HGET', rate, 'events'))
if events then
  redis.set_repl(redis.REPL_NONE)
  redis.call('HSET', rate, 'events', string.format('%.6f', events - tonumber(ARGV[2])))
  redis.set_repl(redis.REPL_ALL)
end
local more = 0
for at = 3, #ARGV, 2 do
  local before, size = tonumber(redis.call('HGET', parts, ARGV[at])) or 0, tonumber(ARGV[at + 1])
  if size > 0 then redis.call('HSET', parts, ARGV[at], size) else redis.call('HDEL', parts, ARGV[at]) end
  more = more + size - before
end
if #ARGV > 2 then redis.call('ZADD', runs, redis.call('TIME')[1], ARGV[1]) end
if more ~= 0 then redis.call('HINCRBY', quota, 'bytes', more) end
drop_receipts(quota, KEYS[5], tonumber(redis.call('TIME')[1]))
return 1
"""
)
"""Counts the events and the data of a commit. A commit that was counted under the same name is not counted again."""

MAY_NOTIFY: Final = (
    LOOK
    + """
local most = tonumber(ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
local size, gone = redis.call('ZCARD', KEYS[1]), {}
if size < most then return {} end
local first = math.floor(math.max(0, size - 200) * tonumber(ARGV[4]))
for _, entry in ipairs(redis.call('ZRANGE', KEYS[1], first, first + 199)) do
  local agent, id = string.match(entry, '^(.*) (%S+)$')
  local found = look(entry, 'XRANGE', ARGV[2] .. agent, id, id)
  if found and #found == 0 then gone[#gone + 1] = entry end
end
if unseen() then return unseen() end
for _, entry in ipairs(gone) do redis.call('ZREM', KEYS[1], entry) end
local count = redis.call('ZCARD', KEYS[1])
if count < most then return {} end
return {'inbox_entries', count, most}
"""
)
"""Says whether a key may notify. Before it refuses, it drops what was acknowledged of some entries, drawn by lot."""
