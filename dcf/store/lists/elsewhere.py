"""Scripts that look at keys which are elsewhere on a Redis Cluster: at the documents of runs, from a list or a book.

On a single server such a script reads them itself, so it is one atomic step. No script of a cluster may: there it is
given what was read just before. It asks for what it has not been given, is sent again with the replies, and changes
nothing until it has all that it asked for. So on a cluster a decision rests on what was true a round trip ago.

A script begins with `LOOK`, and then with `DOCUMENTS` if it reads documents. It reads keys of other slots by
`look(mark, command…)`, and returns `unseen()` before it changes anything, where that is not nil. The mark is what the
question is about, such as the value of an entry in a book: a reply counts only while the entry has the same one.
"""

from collections.abc import Sequence
from typing import Final

from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS, DocumentForm
from dcf.values.json_text import Json, dump

LOOK: Final = """
local function look(mark, ...)
  return redis.call(...)
end
local function unseen()
  return nil
end
"""
"""The beginning of a script that reads other keys, if they are on the same server."""

_ELSEWHERE: Final = """
local seen, asked = cjson.decode(table.remove(ARGV)), {}
local function look(mark, ...)
  local name = cjson.encode({mark, ...})
  if seen[name] == nil then
    asked[#asked + 1] = {name, ...}
  end
  return seen[name] or false
end
local function unseen()
  return #asked > 0 and {'unseen', asked} or nil
end
"""
"""The same if they are not: the last argument has the values that were read, by name."""

_UNSEEN: Final = b"unseen"
_MOST_ROUNDS: Final = 20


def take_off_unless(condition: str) -> str:
    """Return a script that takes the entry ARGV[1] off the list KEYS[1], unless a condition holds of a state.

    ARGV[3] is the key of the state's document, and ARGV[2] a value for the condition. The condition is Lua. It uses
    `state` (the document), `score` (that of the entry) and `waits(part, name)`, which says whether a part of the
    document has an open entry with the name in ARGV[2]. The script reads the document itself, since a failover may have
    undone a write that its caller saw or made.
    """
    return f"""{LOOK}{DOCUMENTS}
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score then
  return 0
end
local function ask(...)
  return look(score, ...)
end
local text = read_document(ask, ARGV[3])
local state = text and text ~= 'null' and cjson.decode(text) or {{}}
local function waits(part, name)
  for _, one in ipairs(type(part) == 'table' and type(part.open) == 'table' and part.open or {{}}) do
    if one[name] == ARGV[2] then
      return true
    end
  end
  return false
end
if {condition} then
  return 0
end
return unseen() or redis.call('ZREM', KEYS[1], ARGV[1])
"""


def ask(connections: Connections, *scripts: Command) -> list[Reply]:
    """Send scripts that look at keys of other slots, and other commands, in one packet on a single server.

    Return their replies.

    Raise AssertionError if a script asks for more again and again: each asks for all keys that it knows, and then for
    those that follow from them.
    """
    scripts = tuple(_in_form(connections.form, script) for script in scripts)
    if connections.shards == 1:
        return connections.send(*scripts)
    replies: dict[int, Reply] = {}
    seen: list[dict[str, Json]] = [{} for _ in scripts]
    for _ in range(_MOST_ROUNDS):
        left = [at for at in range(len(scripts)) if at not in replies]
        answers = connections.send(*(_with_values(scripts[at], seen[at]) for at in left)) if left else []
        questions: list[tuple[int, str, Command]] = []
        for at, answer in zip(left, answers, strict=True):
            if isinstance(answer, list) and answer[:1] == [_UNSEEN]:
                questions += [
                    (at, name.decode(), (command_name.decode(), *rest)) for name, command_name, *rest in answer[1]
                ]
            else:
                replies[at] = answer
        if not questions:
            return [replies[at] for at in range(len(scripts))]
        for (at, name, _), reply in zip(
            questions, connections.send(*(command for _, _, command in questions)), strict=True
        ):
            seen[at][name] = _json(reply)
    raise AssertionError("A script asks for keys of other slots without end.")


def _in_form(form: DocumentForm, command: Command) -> Command:
    """Return a script with the functions by which it reads documents; any other command as it is."""
    if command[0] != "EVAL" or DOCUMENTS not in str(command[1]):
        return command
    name, text, *rest = command
    return (name, form.script(str(text)), *rest)


def _with_values(script: Command, seen: dict[str, Json]) -> Command:
    """Return a script that asked for keys of other slots with their values; any other command as it is."""
    if script[0] != "EVAL" or not str(script[1]).startswith(LOOK):
        return script
    name, text, *rest = script
    return (name, _ELSEWHERE + str(text).removeprefix(LOOK), *rest, dump(seen))


def _json(reply: Reply) -> Json:
    """Return a reply as a script gets it from JSON: false where there is nothing."""
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "replace")
    if isinstance(reply, Sequence) and not isinstance(reply, str):
        return [_json(reply) for reply in reply]
    return False if reply is None else reply
