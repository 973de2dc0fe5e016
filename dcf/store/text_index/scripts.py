"""The Lua scripts of text indexes. Each is atomic, so a document and the lists that it is on always agree.

They build keys from the prefix of an index, since an entry's own lists stand in the entry. They send nothing
themselves: `index` makes commands of them.
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
"""Says in the reply what is to be given back: on a Redis Cluster, `counting` counts entries before and after."""

_FORGET: Final = """
local function forget(prefix, register, quota, docs, id)
  local entry = prefix .. 'entry:' .. id
  local lists = redis.call('HGET', entry, 'lists')
  if not lists then return 0 end
  for list in string.gmatch(lists, '[^\\n]+') do redis.call('ZREM', prefix .. list, id) end
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
    if not kept[list] then redis.call('ZREM', prefix .. list, id) end
  end
end
local its_position = position(prefix .. 'all', id, at, found[4])
for one = 17, #ARGV, 2 do redis.call('ZADD', prefix .. ARGV[one], score(ARGV[one + 1], its_position), id) end
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

What an entry costs counts as bytes of the key that made it, however often others change it.
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
"""Removes entries whose time is over."""

SEARCH: Final = """#!lua flags=no-writes
local prefix, limit, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local piece, block, budget = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local driver, is_counted, groups, by_size, phrases = tonumber(ARGV[7]), ARGV[14] == '1', {}, {}, {}
local start = {tonumber(ARGV[8]), ARGV[9]}
local stop = ARGV[10] ~= '' and {tonumber(ARGV[10]), ARGV[11]} or nil
local last = ARGV[12] ~= '' and {tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[15]} or nil
local UNIT, MOST = 4398046511104, 4096
local at, of_words = 16, 0
for group = 1, tonumber(ARGV[at]) do
  local one = {is_words = ARGV[at + 1] == 'words', keys = {}, size = 0}
  for i = 1, tonumber(ARGV[at + 2]) do
    local key = prefix .. ARGV[at + 2 + i]
    one.keys[i] = key
    one.size = one.size + redis.call('ZCARD', key)
  end
  at = at + 2 + #one.keys
  if one.is_words then of_words = of_words + 1 end
  groups[group], by_size[group] = one, group
end
table.sort(by_size, function(one, other)
  if groups[one].size ~= groups[other].size then return groups[one].size < groups[other].size end
  return one < other
end)
driver = driver or by_size[1]
local is_weighed = groups[driver] and groups[driver].is_words and #groups[driver].keys == 1
if of_words == 0 or of_words == 1 and is_weighed then block = piece end
for i = at + 1, #ARGV do phrases[#phrases + 1] = ARGV[i] end

local function before(score, id, other_score, other_id)
  if score ~= other_score then return score > other_score end
  return id > other_id
end

local function take_after(key, score, id, most)
  local scores, ids, looked, high = {}, {}, 0, score and string.format('%.0f', score) or '+inf'
  while #ids < most do
    local page = redis.call('ZRANGE', key, high, '-inf', 'BYSCORE', 'REV', 'LIMIT', looked, most, 'WITHSCORES')
    for i = 1, #page, 2 do
      local its_score = tonumber(page[i + 1])
      if #ids < most and (not score or before(score, id, its_score, page[i])) then
        scores[#scores + 1] = its_score
        ids[#ids + 1] = page[i]
      end
    end
    if #page < 2 * most then break end
    looked = looked + most
  end
  return {key = key, at = 1, scores = scores, ids = ids, is_last = #ids < most}
end

local function first_of(heads, most)
  local first
  for i, head in ipairs(heads) do
    if head.at > #head.ids and not head.is_last then
      head = take_after(head.key, head.scores[#head.ids], head.ids[#head.ids], most)
      heads[i] = head
    end
    local id = head.ids[head.at]
    if id and (not first or before(head.scores[head.at], id, first.scores[first.at], first.ids[first.at])) then
      first = head
    end
  end
  return first
end

local function candidates(score, id, most)
  local heads, scores, ids = {}, {}, {}
  local part = math.ceil(most / #groups[driver].keys)
  for i, key in ipairs(groups[driver].keys) do heads[i] = take_after(key, score, id, part) end
  if #heads == 1 then return heads[1].scores, heads[1].ids end
  local first = first_of(heads, part)
  while first and #ids < most do
    if ids[#ids] ~= first.ids[first.at] then
      ids[#ids + 1] = first.ids[first.at]
      scores[#ids] = first.scores[first.at]
    end
    first.at = first.at + 1
    first = first_of(heads, part)
  end
  return scores, ids
end

local function on_one_of(found, number)
  local group, ids, best, kept = groups[number], {}, {}, {}
  if number == driver and (#group.keys == 1 or not group.is_words) or #found == 0 then return found end
  for i, one in ipairs(found) do ids[i] = one[3] end
  for _, key in ipairs(group.keys) do
    for i, score in ipairs(redis.call('ZMSCORE', key, unpack(ids))) do
      if score then
        score = tonumber(score)
        if not best[i] or score > best[i] then best[i] = score end
        if group.is_words then found[i][1] = found[i][1] + math.floor(score / UNIT) end
      end
    end
  end
  for i, one in ipairs(found) do
    if best[i] and (number ~= driver or best[i] <= one[2]) then kept[#kept + 1] = one end
  end
  return kept
end

local function has_phrases(id)
  local sequence = redis.call('HGET', prefix .. 'entry:' .. id, 'sequence')
  for _, phrase in ipairs(phrases) do
    if not sequence or not string.find(sequence, phrase, 1, true) then return false end
  end
  return true
end

local function matches(scores, ids)
  local found, kept = {}, {}
  for i, id in ipairs(ids) do found[i] = {is_weighed and math.floor(scores[i] / UNIT) or 0, scores[i], id} end
  for _, number in ipairs(by_size) do found = on_one_of(found, number) end
  for _, one in ipairs(found) do
    if #phrases == 0 or has_phrases(one[3]) then kept[#kept + 1] = {one[1], one[2] % UNIT, one[3]} end
  end
  return kept
end

local function better(one, other)
  if one[1] ~= other[1] then return one[1] > other[1] end
  if one[2] ~= other[2] then return one[2] > other[2] end
  return one[3] > other[3]
end

local function this_block(most)
  local scores, ids = candidates(start[1], start[2], most)
  if not stop then return scores, ids end
  if #ids == most and most < MOST and before(scores[most], ids[most], stop[1], stop[2]) then
    return this_block(2 * most)
  end
  while #ids > 0 and before(stop[1], stop[2], scores[#ids], ids[#ids]) do
    scores[#ids], ids[#ids] = nil, nil
  end
  return scores, ids
end

local hits, total, looked, ended, cursor = {}, 0, 0, false, false
if not groups[driver] or groups[driver].size == 0 then return {'0', '1', '', {}} end
while true do
  local scores, ids = this_block(block)
  local ends_at = stop or #ids > 0 and {scores[#ids], ids[#ids]}
  if not ends_at then ended = true; break end
  looked = looked + #ids
  local found = matches(scores, ids)
  table.sort(found, better)
  total = total + #found
  local is_full = false
  for _, hit in ipairs(found) do
    if not last or better(last, hit) then
      if skip > 0 then
        skip = skip - 1
      elseif #hits < limit then
        hits[#hits + 1] = hit
      else
        is_full = true
        break
      end
    end
  end
  if is_full then
    local shown = hits[#hits]
    cursor = {start[1] or '', start[2], ends_at[1], ends_at[2], shown[1], shown[2], shown[3]}
    ended = not stop and #ids < block
    break
  end
  if not stop and #ids < block then ended = true; break end
  start, stop, last = ends_at, nil, nil
  if looked >= budget or #hits >= limit then cursor = {start[1], start[2], '', '', '', '', ''}; break end
end
local shown = {}
for i, hit in ipairs(hits) do
  local document = redis.call('HGET', prefix .. 'entry:' .. hit[3], 'document')
  shown[i] = {hit[3], tostring(hit[1]), document or ''}
end
local place = ''
if cursor then
  for i, part in ipairs(cursor) do
    if type(part) == 'number' then part = string.format('%.0f', part) end
    place = place .. (i > 1 and ' ' or '') .. (part == '' and '-' or part)
  end
  place = driver .. ' ' .. place
end
if is_counted then total, ended = groups[driver].size, true end
return {string.format('%.0f', total), ended and '1' or '0', place, shown}
"""
"""Finds the entries that all groups of lists have, best first.

A block of candidates is taken from the smallest group: of the entries of a word those with its largest weights first,
else the newest first. Those that every other group has as well are ordered by the sum of their weights. Where that is
the order of the smallest group itself, a block need not be longer than a piece. It goes on with the next block until
the page is full or it has looked at enough, and then the next page does: what one call costs does not depend on how
many entries there are.
"""
