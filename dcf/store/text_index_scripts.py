"""The Lua scripts of text indexes. Each is atomic, so a document and the lists that it is on always agree.

They build keys from the prefix of an index, since an entry's own lists stand in the entry. They send nothing
themselves: `text_index` makes commands of them.
"""

from typing import Final

from dcf.store.quota_scripts import GIVE_BACK, RECEIPTS

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

PUT: Final = (
    "#!lua\n"
    + GIVE_BACK
    + RECEIPTS
    + _FORGET
    + """
local prefix, id, at, revision, text, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local sequence, lists, ends, most = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
local owner, most_documents, most_bytes = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
local register, quota, docs, expected = KEYS[1], ARGV[14], ARGV[15], ARGV[16]
local entry, account, mine = prefix .. 'entry:' .. id, quota .. owner, docs .. owner
forget_expired(prefix, register, quota, docs, now_ms(), 100)
local found = redis.call('HMGET', entry, 'revision', 'document', 'lists')
if expected ~= '*' and (found[1] or '') ~= expected then return {'differs', found[2] or ''} end
local size = #text + #body + #sequence + 100 * (#ARGV - 16) / 2
local record = redis.call('HGET', register, entry)
local its_owner, before = owner, 0
if record then its_owner, before = string.match(record, '^(%S+) (%d+)') end
if not found[1] and redis.call('ZCARD', prefix .. 'all') >= most then return {'full', most} end
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
for one = 17, #ARGV, 2 do redis.call('ZADD', prefix .. ARGV[one], ARGV[one + 1], id) end
redis.call('ZADD', prefix .. 'all', at, id)
if ends ~= '' then redis.call('ZADD', prefix .. 'until', ends, id) else redis.call('ZREM', prefix .. 'until', id) end
redis.call('HSET', entry, 'revision', revision, 'document', text, 'body', body, 'sequence', sequence, 'lists', lists)
give_back(register, quota, docs, entry)
redis.call('HSET', register, entry, its_owner .. ' ' .. size .. ' 0')
redis.call('ZADD', docs .. its_owner, 9007199254740992, entry)
redis.call('HINCRBY', quota .. its_owner, 'bytes', size)
return {'put'}
"""
)
"""Writes an entry and its lists, unless its revision is another one, the index is full, or the key holds too much.

What an entry costs counts as bytes of the key that made it, however often others change it.
"""

REMOVE: Final = (
    "#!lua\n"
    + GIVE_BACK
    + _FORGET
    + """
return forget(ARGV[1], KEYS[1], ARGV[2], ARGV[3], ARGV[4])
"""
)
"""Removes an entry from its index."""

PRUNE: Final = (
    "#!lua flags=allow-oom\n"
    + GIVE_BACK
    + _FORGET
    + """
forget_expired(ARGV[1], KEYS[1], ARGV[2], ARGV[3], now_ms(), 100)
return redis.call('ZCARD', ARGV[1] .. 'until')
"""
)
"""Removes entries whose time is over."""

SEARCH: Final = """#!lua flags=no-writes
local prefix, limit, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local block, budget = tonumber(ARGV[4]), tonumber(ARGV[5])
local driver, is_counted, groups, phrases = tonumber(ARGV[6]), ARGV[13] == '1', {}, {}
local start = {tonumber(ARGV[7]), ARGV[8]}
local stop = ARGV[9] ~= '' and {tonumber(ARGV[9]), ARGV[10]} or nil
local last = ARGV[11] ~= '' and {tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[14]} or nil
local UNIT = 4398046511104
local at = 15
for group = 1, tonumber(ARGV[at]) do
  local one = {is_words = ARGV[at + 1] == 'words', keys = {}, size = 0}
  for i = 1, tonumber(ARGV[at + 2]) do
    local key = prefix .. ARGV[at + 2 + i]
    one.keys[i] = key
    one.size = one.size + redis.call('ZCARD', key)
  end
  at = at + 2 + #one.keys
  groups[group] = one
  if ARGV[6] == '' and (not driver or one.size < groups[driver].size) then driver = group end
end
for i = at + 1, #ARGV do phrases[#phrases + 1] = ARGV[i] end

local function before(score, id, other_score, other_id)
  if score ~= other_score then return score > other_score end
  return id > other_id
end

local function take_after(key, score, id, most, scores, ids)
  local taken, looked, high = 0, 0, score and string.format('%.0f', score) or '+inf'
  while taken < most do
    local page = redis.call('ZRANGE', key, high, '-inf', 'BYSCORE', 'REV', 'LIMIT', looked, most, 'WITHSCORES')
    for i = 1, #page, 2 do
      local its_score = tonumber(page[i + 1])
      if taken < most and (not score or before(score, id, its_score, page[i])) then
        taken = taken + 1
        scores[#scores + 1] = its_score
        ids[#ids + 1] = page[i]
      end
    end
    if #page < 2 * most then break end
    looked = looked + most
  end
end

local function candidates(score, id, most)
  local scores, ids = {}, {}
  for _, key in ipairs(groups[driver].keys) do take_after(key, score, id, most, scores, ids) end
  if #groups[driver].keys == 1 then return scores, ids end
  local order = {}
  for i = 1, #ids do order[i] = i end
  table.sort(order, function(one, other) return before(scores[one], ids[one], scores[other], ids[other]) end)
  local kept_scores, kept = {}, {}
  for _, i in ipairs(order) do
    if #kept == most then break end
    if kept[#kept] ~= ids[i] then
      kept[#kept + 1] = ids[i]
      kept_scores[#kept] = scores[i]
    end
  end
  return kept_scores, kept
end

local function matches(scores, ids)
  local rank, gone = {}, {}
  for i = 1, #ids do rank[i] = 0 end
  for number, group in ipairs(groups) do
    local best, alone = {}, number == driver and #group.keys == 1
    for _, key in ipairs(group.keys) do
      for from = 1, #ids, 2000 do
        local last_one = math.min(from + 1999, #ids)
        local found = not alone and redis.call('ZMSCORE', key, unpack(ids, from, last_one))
        for i = from, last_one do
          local score = alone and scores[i] or not alone and found[i - from + 1]
          if score then
            score = tonumber(score)
            if not best[i] or score > best[i] then best[i] = score end
            if group.is_words then rank[i] = rank[i] + math.floor(score / UNIT) end
          end
        end
      end
    end
    for i = 1, #ids do
      if not best[i] or number == driver and best[i] > scores[i] then gone[i] = true end
    end
  end
  local found = {}
  for i, id in ipairs(ids) do
    local sequence = not gone[i] and #phrases > 0 and redis.call('HGET', prefix .. 'entry:' .. id, 'sequence')
    for _, phrase in ipairs(phrases) do
      if gone[i] or not sequence or not string.find(sequence, phrase, 1, true) then gone[i] = true end
    end
    if not gone[i] then found[#found + 1] = {rank[i], scores[i] % UNIT, id} end
  end
  return found
end

local function better(one, other)
  if one[1] ~= other[1] then return one[1] > other[1] end
  if one[2] ~= other[2] then return one[2] > other[2] end
  return one[3] > other[3]
end

local hits, total, looked, ended, cursor = {}, 0, 0, false, false
if not groups[driver] or groups[driver].size == 0 then return {'0', '1', '', {}} end
while true do
  local scores, ids = candidates(start[1], start[2], stop and 2 * block or block)
  while stop and #ids > 0 and before(stop[1], stop[2], scores[#ids], ids[#ids]) do
    scores[#ids], ids[#ids] = nil, nil
  end
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
else the newest first. Those that every other group has as well are ordered by the sum of their weights. Where there are
more candidates than a block has, the next page goes on with the next block: what one call costs does not depend on how
many entries there are.
"""
