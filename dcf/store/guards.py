"""Writes that happen only if some documents are still as they were read: for documents that could not be watched.

A claim learns which states are ready in the same packet that would have to watch them. Watching all open states instead
would fail it whenever anybody takes another one.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dcf.store.connection import Command

NO_GUARDS: Final[Mapping[str, bytes]] = MappingProxyType({})

# ARGV: how many documents, their texts, and then for each command how many words it has, and its words.
# The first line has Redis refuse the whole script where it takes no writes, in place of some of its commands.
_GUARDED: Final = """#!lua
local documents = tonumber(ARGV[1])
local keys = {unpack(KEYS)}
keys[documents + 1] = '$'
for i, text in ipairs(redis.call('JSON.MGET', unpack(keys))) do
  if text ~= ARGV[i + 1] then
    return false
  end
end
local results, at = {}, documents + 2
while ARGV[at] do
  local words = tonumber(ARGV[at])
  results[#results + 1] = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return results
"""


def guarded(commands: Sequence[Command], guards: Mapping[str, bytes]) -> Command:
    """Return one command that sends the others if each document of `guards`, by key, is still this text.

    Its reply is a list of theirs, or None if a document changed.
    """
    words = [word for command in commands for word in (len(command), *command)]
    return ("EVAL", _GUARDED, len(guards), *guards, len(guards), *guards.values(), *words)
