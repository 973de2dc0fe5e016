"""The areas of a project in which agents work: a book across runs, whose entries the states' documents confirm.

A lease on a state that names areas is entered once it is granted; each reader of the book takes off ended leases.
It serves warnings only, so that nothing depends on an entry that is late or missing.
"""

from typing import Final

from dcf.features.work.areas import Occupied, read_occupied
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS
from dcf.store.keys.parts import decode_state, encode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import LOOK, ask
from dcf.values.json_text import dump, load

BOOKS: Final = "cp:idx:areas:"
_LIFE_S: Final = 30 * 24 * 3600
_MOST: Final = 1000
"""Entries of a book that one look compares."""

_BLANK: Final = RunKeys("%s")

_ENTER: Final = (
    LOOK
    + DOCUMENTS
    + r"""
local own, states = ARGV[1], ARGV[3]
local entries, found, gone = redis.call('HGETALL', KEYS[1]), {}, {}
for i = 1, math.min(#entries, 2 * tonumber(ARGV[5])), 2 do
  local run, part = entries[i]:match('^([^/]*)/(.*)$')
  local function ask(...) return look(entries[i + 1], ...) end
  local doc = run and read_document(ask, states:format(run) .. part)
  if entries[i] == own then
  elseif doc and doc:find('"status":"running"', 1, true) and not doc:find('"token":null', 1, true) then
    found[#found + 1] = entries[i]
    found[#found + 1] = entries[i + 1]
  else
    gone[#gone + 1] = entries[i]
  end
end
if unseen() then
  return unseen()
end
for _, entry in ipairs(gone) do
  redis.call('HDEL', KEYS[1], entry)
end
redis.call('HSET', KEYS[1], own, ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return found
"""
)


class AreaBook:
    """The areas that are worked on, by project; of a run without one, by run."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def enter(self, project: str | None, mine: Occupied) -> list[Occupied]:
        """Enter what is worked on now. Return what else is."""
        book = f"{BOOKS}run:{mine.workflow_id}" if project is None else f"{BOOKS}project:{project}"
        entry = f"{mine.workflow_id}/{encode_state(mine.state)}"
        details = dump({"owner": mine.owner, "areas": list(mine.areas)})
        (reply,) = ask(self._connections, ("EVAL", _ENTER, 1, book, entry, details, _BLANK.state(""), _LIFE_S, _MOST))
        return [
            read_occupied(name.decode(), load(value), decode_state(name.decode().partition("/")[2]))
            for name, value in zip(reply[::2], reply[1::2], strict=True)
        ]
