"""The Lua functions with which scripts read and write documents that are kept as text. It must not send them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from dcf.store.forms.form import with_functions

PUT_FIELDS: Final = """
local key, mode, nested = KEYS[1], ARGV[1], ARGV[2]
if mode == 'NX' and redis.call('EXISTS', key) == 1 then
  return false
end
local left = redis.call('PTTL', key)
if nested == '' then
  redis.call('DEL', key)
else
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if field:sub(1, #nested + 1) == nested .. '[' then
      redis.call('HDEL', key, field)
    end
  end
end
for at = 3, #ARGV, 1000 do
  redis.call('HSET', key, unpack(ARGV, at, math.min(at + 999, #ARGV)))
end
if nested == '' and left > 0 then
  redis.call('PEXPIRE', key, left)
end
return {ok = 'OK'}
"""
"""Writes all fields of a document, or those of one member. It keeps the key's expiry.

ARGV: `NX` to write only a document that does not exist, else empty. Then the member, or empty, then fields and values.
"""

# `ask` is `redis.call` or a function like it. A missing document is false.
_FUNCTIONS: Final[Mapping[str, str]] = {
    "read_document": """
local function read_document(ask, key)
  return ask('GET', key)
end
""",
    "read_documents": """
local function read_documents(ask, keys)
  return ask('MGET', unpack(keys)) or {}
end
""",
    "read_member": """
local function read_member(ask, key, name)
  return ask('HGET', key, name)
end
""",
    "read_named": r"""
local function read_named(ask, key, name, own)
  return ask('HGET', key, name .. '["' .. own:gsub('[\\"]', '\\%0') .. '"]')
end
""",
    "read_members": """
local function read_members(ask, key, names)
  return ask('HMGET', key, '$', unpack(names))
end
""",
    "read_parts": """
local function read_parts(ask, key, names)
  return ask('HGETALL', key)
end
""",
    "members_in": """
local function members_in(reply, names)
  local values = {}
  for i, name in ipairs(names) do
    if reply[i + 1] then
      values[name] = cjson.decode(reply[i + 1])
    end
  end
  return values
end
""",
    "write_document": """
local function write_document(key, text)
  redis.call('SET', key, text, 'KEEPTTL')
end
""",
    "write_member": """
local function write_member(key, place, text)
  local name, own = place:match('^(%a+)%[(".*")%]$')
  local order = redis.call('HSET', key, place, text) == 1 and name and redis.call('HGET', key, name)
  local listed = order and order:match('^{"":%[(.*)%]}$')
  if listed then
    redis.call('HSET', key, name, '{"":[' .. listed .. (listed == '' and '' or ',') .. own .. ']}')
  end
end
""",
    "drop_member": """
local function drop_member(key, place)
  local name, own = place:match('^(%a+)%[(".*")%]$')
  local order = redis.call('HDEL', key, place) == 1 and name and redis.call('HGET', key, name)
  local from, upto = (order or ''):find(own or '', 1, true)
  if order and from then
    order = (order:sub(1, from - 1) .. order:sub(upto + 1)):gsub(',,', ','):gsub('%[,', '['):gsub(',%]', ']')
    redis.call('HSET', key, name, order)
  end
end
""",
}


@lru_cache(maxsize=256)
def with_text_functions(text: str) -> str:
    """Return a script with those of the functions that it calls."""
    return with_functions(text, _FUNCTIONS)
