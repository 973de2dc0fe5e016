"""The Lua scripts of text indexes. Each is atomic, so a document and the lists that it is on always agree.

They build keys from the prefix of an index, since each entry records its own lists. This module must not send them:
`index` makes commands of them.
"""

from typing import Final

from dcf.store.access.quota_scripts import GIVE_BACK, RECEIPTS

_COUNTED_HERE: Final = (
    GIVE_BACK
    + """
local function take(register, quota, docs, owner, name, size)
  redis.call('HSET', register, name, owner .. ' ' .. size .. ' 0')
  redis.call('ZADD', docs .. owner, 9007199254740992, name)
  redis.call('HINCRBY', quota .. owner, 'bytes', size)
end
local function told(reply)
  return reply
end
"""
)
"""Counts entries for their owners, where all keys are on one server."""

_COUNTED_ELSEWHERE: Final = """
local mark, given_back = table.remove(ARGV), {}
local function give_back(register, quota, docs, name)
  local record = redis.call('HGET', register, name)
  if not record then return end
  local owner, its_mark = string.match(record, '^(%S+) .* (%S+)$')
  redis.call('HDEL', register, name)
  given_back[#given_back + 1] = {owner, name, its_mark}
end
local function take(register, quota, docs, owner, name, size)
  redis.call('HSET', register, name, owner .. ' ' .. size .. ' 0 ' .. mark)
end
local function told(reply)
  return {reply, given_back}
end
"""
"""Lists in the reply the removed entries: on a Redis Cluster, `counting` counts entries before and after."""

_FORGET: Final = """
local function take_off(prefix, list, id)
  redis.call('ZREM', prefix .. list, id)
  if string.sub(list, 1, 2) == 'w:' and redis.call('EXISTS', prefix .. list) == 0 then
    redis.call('ZREM', prefix .. 'words', string.sub(list, 3))
  end
end
local function forget(prefix, register, quota, docs, id)
  local entry = prefix .. 'entry:' .. id
  local lists = redis.call('HGET', entry, 'lists')
  if not lists then return 0 end
  for list in string.gmatch(lists, '[^\\n]+') do take_off(prefix, list, id) end
  redis.call('ZREM', prefix .. 'all', id)
  redis.call('ZREM', prefix .. 'until', id)
  redis.call('DEL', entry)
  give_back(register, quota, docs, entry)
  return 1
end
local function forget_expired(prefix, register, quota, docs, now, most)
  for _, id in ipairs(redis.call('ZRANGE', prefix .. 'until', '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
    forget(prefix, register, quota, docs, id)
  end
end
local function now_ms()
  local clock = redis.call('TIME')
  return tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
end
"""

_POSITION: Final = """
local WEIGHT = 4398046511104
local function position(all, id, at, at_before)
  local time, its_own = math.floor(at / 1000), tonumber(redis.call('ZSCORE', all, id) or '')
  local is_unchanged = at_before and at == at_before or not at_before and its_own == time
  if its_own and is_unchanged then return its_own end
  local newest = redis.call('ZRANGE', all, 0, 0, 'REV', 'WITHSCORES')[2]
  return math.max(time, newest and tonumber(newest) + 1 or 0)
end
local function score(weight, its_position)
  return string.format('%.0f', weight * WEIGHT + its_position)
end
"""
"""Gives an entry its position among those of its rank: a number that no other entry of the index has.

The position is the time of the entry in milliseconds, but at least one more than the largest position of the index. So
the entry that is put later comes first, also within a millisecond and after the clock was set back. An entry keeps its
position while its time stays the same. Entries of earlier releases have no field `at`: their position is their time.

A score has the position in its lower 42 bits and the weight of a word in the 11 bits above: a double is exact to 53
bits, so a counter below the milliseconds has no room.
"""

_PUT: Final = (
    RECEIPTS
    + _FORGET
    + _POSITION
    + """
local prefix, id, at, revision, text, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local sequence, lists, ends, most = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
local owner, most_documents, most_bytes = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
local register, quota, docs, expected = KEYS[1], ARGV[14], ARGV[15], ARGV[16]
local entry, account, mine = prefix .. 'entry:' .. id, quota .. owner, docs .. owner
forget_expired(prefix, register, quota, docs, now_ms(), 100)
local found = redis.call('HMGET', entry, 'revision', 'document', 'lists', 'at')
if expected ~= '*' and (found[1] or '') ~= expected then return told({'differs', found[2] or ''}) end
local size = #text + #body + #sequence + 100 * (#ARGV - 16) / 2
local record = redis.call('HGET', register, entry)
local its_owner, before = owner, 0
if record then its_owner, before = string.match(record, '^(%S+) (%d+)') end
if not found[1] and redis.call('ZCARD', prefix .. 'all') >= most then return told({'full', most}) end
if most_documents >= 0 then
  local count = redis.call('ZCARD', mine)
  if not found[1] and count >= most_documents then return {'documents', count, most_documents} end
  local more = its_owner == owner and size - tonumber(before) or 0
  if more > 0 and held(account) + more > most_bytes then return {'stored_bytes', held(account), most_bytes} end
end
if found[3] then
  local kept = {}
  for one = 17, #ARGV, 2 do kept[ARGV[one]] = true end
  for list in string.gmatch(found[3], '[^\\n]+') do
    if not kept[list] then take_off(prefix, list, id) end
  end
end
local its_position = position(prefix .. 'all', id, at, found[4])
for one = 17, #ARGV, 2 do
  redis.call('ZADD', prefix .. ARGV[one], score(ARGV[one + 1], its_position), id)
  if string.sub(ARGV[one], 1, 2) == 'w:' then redis.call('ZADD', prefix .. 'words', 0, string.sub(ARGV[one], 3)) end
end
redis.call('ZADD', prefix .. 'all', score(0, its_position), id)
if ends ~= '' then redis.call('ZADD', prefix .. 'until', ends, id) else redis.call('ZREM', prefix .. 'until', id) end
redis.call('HSET', entry, 'revision', revision, 'document', text, 'body', body, 'sequence', sequence, 'lists', lists)
redis.call('HSET', entry, 'at', at)
give_back(register, quota, docs, entry)
take(register, quota, docs, its_owner, entry, size)
return told({'put'})
"""
)
PUT: Final = f"#!lua\n{_COUNTED_HERE}{_PUT}"
PUT_HELD: Final = f"#!lua\n{_COUNTED_ELSEWHERE}{_PUT}"
"""Writes an entry and its lists, unless its revision is another one, the index is full, or the key holds too much.

The size of an entry counts for the key that made it, however often others change it.
"""

_REMOVE: Final = (
    _FORGET
    + """
return told(forget(ARGV[1], KEYS[1], ARGV[2], ARGV[3], ARGV[4]))
"""
)
REMOVE: Final = f"#!lua\n{_COUNTED_HERE}{_REMOVE}"
REMOVE_HELD: Final = f"#!lua\n{_COUNTED_ELSEWHERE}{_REMOVE}"
"""Removes an entry from its index."""

_PRUNE: Final = (
    _FORGET
    + """
forget_expired(ARGV[1], KEYS[1], ARGV[2], ARGV[3], now_ms(), 100)
return told(redis.call('ZCARD', ARGV[1] .. 'until'))
"""
)
PRUNE: Final = f"#!lua flags=allow-oom\n{_COUNTED_HERE}{_PRUNE}"
PRUNE_HELD: Final = f"#!lua flags=allow-oom\n{_COUNTED_ELSEWHERE}{_PRUNE}"
"""Removes expired entries."""
