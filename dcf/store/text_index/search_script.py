"""The Lua script that searches a text index. It must not write; `asking` describes its arguments."""

from typing import Final

SEARCH: Final = """#!lua flags=no-writes
local prefix, limit, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local piece, block, budget = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local driver, is_counted, groups, by_size, phrases = tonumber(ARGV[7]), ARGV[14] == '1', {}, {}, {}
local start = {tonumber(ARGV[8]), ARGV[9]}
local stop = ARGV[10] ~= '' and {tonumber(ARGV[10]), ARGV[11]} or nil
local last = ARGV[12] ~= '' and {tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[15]} or nil
local UNIT, MOST = 4398046511104, 4096
local at, of_words, terms, program = 16, 0, {}, {}
local function lists_from(first, count)
  local keys = {}
  for i = first, first + count - 1 do
    local begin = string.match(ARGV[i], '^p:(.*)$')
    if begin then
      local range = {'[' .. begin, '(' .. begin .. '\\255'}
      local words = redis.call('ZRANGE', prefix .. 'words', range[1], range[2], 'BYLEX', 'LIMIT', 0, 128)
      for _, word in ipairs(words) do keys[#keys + 1] = prefix .. 'w:' .. word end
    else
      keys[#keys + 1] = prefix .. ARGV[i]
    end
  end
  return keys
end
for group = 1, tonumber(ARGV[at]) do
  local count = tonumber(ARGV[at + 2])
  local one = {is_words = ARGV[at + 1] == 'words', keys = lists_from(at + 3, count), size = 0}
  for _, key in ipairs(one.keys) do one.size = one.size + redis.call('ZCARD', key) end
  at = at + 2 + count
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
at = at + 1
for i = at + 1, at + tonumber(ARGV[at]) do phrases[#phrases + 1] = ARGV[i] end
at = at + #phrases + 1
for term = 1, tonumber(ARGV[at]) do
  local one = {words = {}, phrase = ARGV[at + 1]}
  local count = tonumber(ARGV[at + 2])
  at = at + 2
  for word = 1, count do
    local lists = tonumber(ARGV[at + 1])
    one.words[word] = lists_from(at + 2, lists)
    at = at + 1 + lists
  end
  terms[term] = one
end
for step in string.gmatch(ARGV[at + 1] or '', '%S+') do program[#program + 1] = step end

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
      end
    end
  end
  for i, one in ipairs(found) do
    if group.is_words and best[i] then one[1] = one[1] + math.floor(best[i] / UNIT) end
    if best[i] and (number ~= driver or best[i] <= one[2]) then kept[#kept + 1] = one end
  end
  return kept
end

local function has_phrase(sequence, phrase)
  for form in string.gmatch(phrase, '[^\\n]+') do
    if sequence and string.find(sequence, form, 1, true) then return true end
  end
  return false
end

local function has_phrases(id)
  local sequence = redis.call('HGET', prefix .. 'entry:' .. id, 'sequence')
  for _, phrase in ipairs(phrases) do
    if not has_phrase(sequence, phrase) then return false end
  end
  return true
end

local function weight_of_term(term, id)
  local weight = 0
  if term.phrase ~= '' and not has_phrase(redis.call('HGET', prefix .. 'entry:' .. id, 'sequence'), term.phrase) then
    return false
  end
  for _, lists in ipairs(term.words) do
    local best = false
    for _, key in ipairs(lists) do
      local score = redis.call('ZSCORE', key, id)
      if score and (not best or tonumber(score) > best) then best = tonumber(score) end
    end
    if not best then return false end
    weight = weight + math.floor(best / UNIT)
  end
  return weight
end

local function weight_of(id)
  local stack = {}
  for _, step in ipairs(program) do
    local kind, number = string.sub(step, 1, 1), tonumber(string.sub(step, 2))
    if kind == 't' then
      stack[#stack + 1] = weight_of_term(terms[number], id)
    elseif kind == '!' then
      stack[#stack] = stack[#stack] == false and 0
    else
      local weight = kind == '&' and 0
      for _ = 1, number do
        local part = table.remove(stack)
        if kind == '&' then
          weight = weight and part and weight + part
        elseif part and (not weight or part > weight) then
          weight = part
        end
      end
      stack[#stack + 1] = weight
    end
  end
  return stack[1]
end

local function matches(scores, ids)
  local found, kept = {}, {}
  for i, id in ipairs(ids) do found[i] = {is_weighed and math.floor(scores[i] / UNIT) or 0, scores[i], id} end
  for _, number in ipairs(by_size) do found = on_one_of(found, number) end
  for _, one in ipairs(found) do
    local weight = one[1]
    if #program > 0 then weight = weight_of(one[3]) end
    if weight and (#phrases == 0 or has_phrases(one[3])) then kept[#kept + 1] = {weight, one[2] % UNIT, one[3]} end
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
else the newest first. Of several lists in a group the best weight counts. Candidates that every other group has as
well, and that match the program if there is one, are ordered by the sum of their weights. Where that is
the order of the smallest group itself, a block need not be longer than a piece. The search continues with the next
block until the page is full or its budget is used up. Then the next page continues, so the cost of one call does not
depend on the number of entries.
"""
