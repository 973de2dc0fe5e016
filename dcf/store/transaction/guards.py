"""Writes that happen only if Redis still gives the same replies: for what could not be watched.

A claim learns which states are ready in the same packet that would have to watch them. Watching all open states instead
would fail it whenever anybody takes another one. And what was read ahead (`prefetched`) was not watched either.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.store.connection.commands import Command, Reply
from dcf.values.records import record

_LATENESS: Final = 100_000
"""Microseconds by which a decision may lie behind the server's clock; it may never lie ahead."""

# ARGV: the server time of the decision (0: not compared) and the largest delay. Then the number of reads. Each read has
# the number of its words, the words, the number of its replies, and the replies (empty for None). Then the commands:
# the number of words of each, and the words.
# The first line has Redis refuse the whole script where it takes no writes, in place of some of its commands.
# The values of several JSONPaths come in any order, so they are compared one by one.
GUARDED: Final = """#!lua
local function equal(one, other)
  if type(one) ~= 'table' or type(other) ~= 'table' then
    return one == other
  end
  for key, value in pairs(one) do
    if not equal(value, other[key]) then
      return false
    end
  end
  return true
end
local function same(text, expected)
  if text == expected then
    return true
  end
  local alike = #text == #expected and text:sub(1, 1) == '{'
  return alike and equal(cjson.decode(text), cjson.decode(expected))
end
local decided = tonumber(ARGV[1]:sub(4))
if decided > 0 then
  local time = redis.call('TIME')
  local late = time[1] * 1000000 + time[2] - decided
  if late < 0 or late > tonumber(ARGV[2]) then
    return false
  end
end
local at = 4
for _ = 1, tonumber(ARGV[3]) do
  local words = tonumber(ARGV[at])
  local found = redis.call(unpack(ARGV, at + 1, at + words))
  if type(found) ~= 'table' then
    found = {found}
  end
  at = at + words + 1
  local replies = tonumber(ARGV[at])
  for i = 1, replies do
    if not same(found[i] or '', ARGV[at + i]) then
      return false
    end
  end
  at = at + replies + 1
end
local results = {}
while ARGV[at] do
  local words = tonumber(ARGV[at])
  results[#results + 1] = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return results
"""


@record(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """A condition: Redis gives these replies to these commands, and its time is `now` or little more, if that is given.

    A reply is a text, None, or a list of both.
    """

    replies: Mapping[Command, Reply]
    now: int = 0


def guarded(commands: Sequence[Command], unchanged: Unchanged, key: str) -> Command:
    """Return one command that sends the others if the condition holds. `key` is any key of the run.

    Its reply is a list of theirs, or None if the condition does not hold.
    """
    words: list[str | bytes | int | float] = [f"at={unchanged.now}", _LATENESS, len(unchanged.replies)]
    for command, reply in unchanged.replies.items():
        expected = reply if isinstance(reply, list) else [reply]
        words += (
            len(command),
            *command,
            len(expected),
            *(b"" if expected is None else expected for expected in expected),
        )
    for command in commands:
        words += (len(command), *command)
    return ("EVAL", GUARDED, 1, key, *words)
