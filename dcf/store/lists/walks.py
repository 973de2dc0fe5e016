"""A part of Lua scripts that walks through lists of runs in their order: the oldest first, in chunks.

A script looks for runs that are on all of some lists and on one of some others. Its cost depends on the number of runs
that it walks through, so it takes the shortest list. It must not decide about a run.
"""

from typing import Final

WALK: Final = """
-- The smallest list is walked through; or those of which a run must be on one, if they are smaller together.
local chosen, size, of_any = nil, nil, 0
for at = 1, all do
  local count = redis.call('ZCARD', KEYS[at])
  if not size or count < size then
    chosen, size = at, count
  end
end
for at = all + 1, all + any do
  of_any = of_any + redis.call('ZCARD', KEYS[at])
end
local is_by_any = any > 0 and of_any < size
local walked = is_by_any and {} or {{at = chosen, upto = 0}}
if is_by_any then
  chosen = nil
  for at = all + 1, all + any do
    walked[#walked + 1] = {at = at, upto = 0}
  end
end

local function first_of(lists)
  local first, score_first, run_first
  for _, list in ipairs(lists) do
    local run, at = list.found[list.next], tonumber(list.found[list.next + 1])
    if run and (not first or at < score_first or (at == score_first and run < run_first)) then
      first, score_first, run_first = list, at, run
    end
  end
  return first, run_first
end

local function next_chunk()
  local most = chunk
  chunk = math.min(2 * chunk, 500)
  for _, list in ipairs(walked) do
    list.found = redis.call('ZRANGE', KEYS[list.at], score, '+inf', 'BYSCORE', 'LIMIT', list.upto, most, 'WITHSCORES')
    list.next = 1
  end
  local names, scores = {}, {}
  local list, run = first_of(walked)
  while list and (#names < most or run == names[#names]) do
    if run ~= names[#names] then
      names[#names + 1] = run
      scores[#scores + 1] = list.found[list.next + 1]
    end
    list.next, list.upto = list.next + 2, list.upto + 1
    list, run = first_of(walked)
  end
  return names, scores, #names < most
end
"""
"""Uses KEYS (`all` lists, then `any` lists), `score`, where to begin, and `chunk`, the size of the first chunk.

Makes `next_chunk`, `chosen` and `is_by_any`. `next_chunk` returns the next runs, each once, their scores, and whether
they are the last. All are on the list `chosen`, or each is on one of the `any` lists. A chunk has twice as many runs as
the one before, and at most 500.
"""
