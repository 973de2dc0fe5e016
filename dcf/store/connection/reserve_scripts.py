"""The scripts of the reserve: Redis accepts them when it is full, because they are marked `allow-oom`."""

from typing import Final

_ALLOWED: Final = "#!lua flags=allow-oom\n"
_PLAIN: Final = "#!lua\n"
_MARK: Final = "#!"

ONE: Final = f"""{_ALLOWED}
local words = {{unpack(ARGV, 2)}}
table.insert(words, tonumber(ARGV[1]), KEYS[1])
return redis.call(unpack(words))
"""

DIGESTS: Final = """#!lua flags=no-writes
local found = {}
for at, key in ipairs(KEYS) do found[at] = redis.sha1hex(redis.call('DUMP', key) or '') end
return found
"""

# KEYS: those that are watched, then those that are written. ARGV: how many are watched, their digests, then for each
# command the number of its words, and its words.
COMMIT: Final = f"""{_ALLOWED}
local watched = tonumber(ARGV[1])
for at = 1, watched do
  if redis.sha1hex(redis.call('DUMP', KEYS[at]) or '') ~= ARGV[at + 1] then return false end
end
local at, results = watched + 2, {{}}
while ARGV[at] do
  local words = tonumber(ARGV[at])
  results[#results + 1] = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return results
"""
"""Carries out a transaction, if the keys that it watches are as they were."""


def allowed(script: str) -> str:
    """Return a script as Redis accepts it when it is full. A script with flags of its own is returned as it is."""
    plain = script.removeprefix(_PLAIN)
    return script if plain.startswith(_MARK) else _ALLOWED + plain
