"""The changes of an inbox as Lua scripts: put an event in, take the next one out, give it back, remove one.

Each is one atomic step, because an inbox has several writers and readers at once, any of which may die. The scripts
decide the order; `inbox` calls them.

An inbox is a stream of events and three further keys. `waiting` orders the events that are not taken by their rank,
`taken` orders the others by the time when they were handed out, and `book` has the counts. The rank makes runs, and the
creators of runs, take turns: it is the rank handed out last (or the last one of the same run, if that is higher), plus
the number of runs of the same creator with events here. So a creator's first event comes next but a few. Events of a
creator's thousandth run advance a thousand times as slowly: with n runs a creator gets at most about ln(n) + 1 turns
for each turn of another creator.
"""

from typing import Final

from dcf.values.records import record

_FORGET: Final = """
local stream, waiting, taken, book = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function less(field)
  local left = redis.call('HINCRBY', book, field, -1)
  if left <= 0 then
    redis.call('HDEL', book, field)
  end
  return left
end

local function fields_of(id)
  local found, fields = redis.call('XRANGE', stream, id, id)[1], {}
  if not found then
    return nil
  end
  for at = 1, #found[2], 2 do
    fields[found[2][at]] = found[2][at + 1]
  end
  return fields
end

local function forget(id)
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', taken, id)
  local fields = fields_of(id)
  if not fields then
    return 0
  end
  redis.call('XDEL', stream, id)
  if fields.lane then
    if less('unread:' .. fields.lane) <= 0 then
      redis.call('HDEL', book, 'last:' .. fields.lane)
      less('lanes:' .. fields.sender)
    end
    less('size:' .. fields.sender)
  end
  return 1
end
"""
"""Removes an event and its counts. Part of every script."""

_TELL: Final = """
local function tell(news, agent, most_news)
  redis.pcall('XADD', news, 'MAXLEN', '~', most_news, '*', 'agent', agent)
end
"""
_TELL_IN_CLUSTER: Final = """
local function tell(news, agent)
  redis.pcall('SPUBLISH', news, agent)
end
"""
"""Publishes that an agent got an event. If that fails, the event is put in all the same."""

_PUT: Final = (
    _FORGET
    + """
local sent, gone, news = KEYS[5], KEYS[6], KEYS[7]
local event_id, sender, lane, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local most, life_s, sent_life_s = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local agent, most_news = ARGV[8], ARGV[9]

if redis.call('EXISTS', gone) == 1 then
  return {'gone', ''}
end
local older, known = string.match(redis.call('GET', sent) or '', '^(%S+) (.*)$')
if known == event_id then
  return {'duplicate', older}
end
if redis.call('EXISTS', stream) == 0 then
  redis.call('DEL', waiting, taken, book)
end
local oldest_ms = redis.call('TIME')[1] * 1000 - life_s * 1000
for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', 10)) do
  if tonumber(string.match(entry[1], '^%d+')) < oldest_ms then
    forget(entry[1])
  end
end
local replaces = older and fields_of(older)
if not replaces and tonumber(redis.call('HGET', book, 'size:' .. sender) or 0) >= most then
  return {'full', ''}
end
local rank = replaces and redis.call('ZSCORE', waiting, older)
if replaces then
  forget(older)
end
redis.call('HINCRBY', book, 'size:' .. sender, 1)
if redis.call('HINCRBY', book, 'unread:' .. lane, 1) == 1 then
  redis.call('HINCRBY', book, 'lanes:' .. sender, 1)
end
local last = tonumber(redis.call('HGET', book, 'last:' .. lane) or 0)
if not rank then
  local now = tonumber(redis.call('HGET', book, 'rank') or 0)
  rank = math.max(now, last) + (redis.call('HGET', book, 'lanes:' .. sender) or 1)
end
redis.call('HSET', book, 'last:' .. lane, string.format('%.0f', math.max(last, rank)))
local id = redis.call('XADD', stream, '*', 'event', event, 'lane', lane, 'sender', sender)
redis.call('ZADD', waiting, rank, id)
for at = 1, 4 do
  redis.call('EXPIRE', KEYS[at], life_s)
end
redis.call('SET', sent, id .. ' ' .. event_id, 'EX', sent_life_s)
tell(news, agent, most_news)
return {'put', id}
"""
)
"""KEYS: the inbox's four, what was sent last about the same thing, whether the agent is gone, the news.

ARGV: the event's id, its sender, its lane (the sender's run) and the event. Then: the most events of one sender, the
lifetime of an event in seconds, seconds for which its id is stored, the agent, the most entries of the news. Returns
put, duplicate, full or gone, and the id of the message.
"""

TAKE: Final = (
    _FORGET
    + """
local gone = KEYS[5]
local visibility_ms, looked_s, life_s = ARGV[1], ARGV[2], ARGV[3]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function again()
  local late = redis.call('ZRANGE', taken, '-inf', now - visibility_ms, 'BYSCORE', 'LIMIT', 0, 1)[1]
  -- or it was handed out before the server's clock stepped back
  return late or redis.call('ZRANGE', taken, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
end

local function fresh()
  return redis.call('ZRANGE', waiting, 0, 0)[1]
end

if redis.call('EXISTS', gone) == 1 then
  return {'gone', '', 0}
end
if redis.call('EXISTS', stream) == 0 then
  redis.call('XDEL', stream, redis.call('XADD', stream, '*', 'seen', ''))
end
if redis.call('XLEN', stream) == 0 then
  redis.call('EXPIRE', stream, looked_s, 'NX')
  redis.call('EXPIRE', stream, looked_s, 'GT')
  return {'', '', -1}
end
while true do
  local first, second = again, fresh
  if redis.call('HGET', book, 'turn') == 'fresh' then
    first, second = fresh, again
  end
  local id = first() or second()
  if not id then
    local oldest = redis.call('ZRANGE', taken, 0, 0, 'WITHSCORES')[2]
    return {'', '', oldest and oldest + visibility_ms - now or -1}
  end
  local rank = redis.call('ZSCORE', waiting, id)
  local fields = fields_of(id)
  if fields then
    if rank then
      redis.call('HSET', book, 'rank', rank, 'turn', 'again')
    else
      redis.call('HSET', book, 'turn', 'fresh')
    end
    redis.call('ZREM', waiting, id)
    redis.call('ZADD', taken, now, id)
    redis.call('EXPIRE', taken, life_s)
    redis.call('EXPIRE', book, life_s)
    return {id, fields.event, 0}
  end
  forget(id)
end
"""
)
"""KEYS: the inbox's four, whether the agent is gone.

ARGV: the visibility timeout in ms, the lifetime of an inbox in seconds without events, and with events. Returns the id
and the event of the message. Without a message: an empty id, and the ms until an event is handed out again, or -1. For
a deleted agent: `gone`.
"""

_GIVE_BACK: Final = """
if redis.call('ZADD', KEYS[3], 'XX', 'CH', 0, ARGV[1]) == 1 then
  tell(KEYS[5], ARGV[2], ARGV[3])
end
"""
"""Makes an event that was taken but not received the next that is handed out.

KEYS: the inbox's four, the news. ARGV: the id of the message, the agent, the most entries of the news.
"""

REMOVE: Final = _FORGET + "return forget(ARGV[1])"
"""KEYS: the inbox's four. ARGV: the id of the message. Returns 1 if it was there."""


@record(frozen=True, slots=True, kw_only=True)
class TellingScripts:
    """The scripts that publish news: in a stream, or on a cluster in a channel. One connection hears many channels."""

    put: str
    give_back: str


ON_ONE_SERVER: Final = TellingScripts(put=_TELL + _PUT, give_back=_TELL + _GIVE_BACK)
ON_A_CLUSTER: Final = TellingScripts(put=_TELL_IN_CLUSTER + _PUT, give_back=_TELL_IN_CLUSTER + _GIVE_BACK)
