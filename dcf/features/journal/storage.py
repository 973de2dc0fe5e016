"""Reads pages of journals in one packet, however long the journal is. Never writes.

A script takes the shortest of the lists that the filters name, from the cursor on, and leaves out what another of
them does not have. It looks at a bounded number of entries; a page that ends there says that there may be more.
"""

from typing import TYPE_CHECKING, Final

from dcf.features.journal.keys import AFTER_ALL, ALL, OPEN, ask_journal, entry_commands, of_agent, of_kind, of_state
from dcf.features.journal.model import ENTRIES, JournalEntry, read_entry
from dcf.features.journal.query import PAGE_BYTES, JournalPage, JournalQuery
from dcf.store.connection.connections import Connections
from dcf.store.extensions import PartRow
from dcf.store.keys.table import RunKeys, keys_of
from dcf.store.transaction.writing import Packet
from dcf.values.json_text import load

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_LOOKED_AT: Final = 2_000
"""Entries of a list that one page looks at, at most; then the page ends."""

_PAGE: Final = """
local order, journal = KEYS[1], KEYS[2]
local newest, low, high = ARGV[1] == '1', ARGV[2], ARGV[3]
local from, limit, most, bytes = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local chosen, total
for at = 8, #ARGV do
  local count = redis.call('ZLEXCOUNT', order, '[' .. ARGV[at] .. low, '(' .. ARGV[at] .. high)
  if not total or count < total then chosen, total = at, count end
end
local prefix, looked, entries, last, found = ARGV[chosen], 0, {}, nil, nil
local first, stop = '[' .. prefix .. low, '(' .. prefix .. high
if from ~= '' and newest and from < high then stop = '(' .. prefix .. from end
if from ~= '' and not newest and from >= low then first = '(' .. prefix .. from end
local function belongs(place)
  for at = 8, #ARGV do
    if at ~= chosen and not redis.call('ZSCORE', order, ARGV[at] .. place) then return false end
  end
  return true
end
repeat
  local batch = math.min(2 * limit + 2, most)
  if newest then
    found = redis.call('ZRANGE', order, stop, first, 'BYLEX', 'REV', 'LIMIT', 0, batch)
  else
    found = redis.call('ZRANGE', order, first, stop, 'BYLEX', 'LIMIT', 0, batch)
  end
  for _, member in ipairs(found) do
    local place = string.sub(member, #prefix + 1)
    if looked == most then return {total, last, entries} end
    looked = looked + 1
    if belongs(place) then
      local id = string.match(place, '[^:]+$')
      local text = redis.call('HGET', journal, id)
      if text then
        if #entries == 2 * limit or (#entries > 0 and bytes < #text) then return {total, last, entries} end
        bytes = bytes - #text
        entries[#entries + 1] = id
        entries[#entries + 1] = text
      end
    end
    last = place
    if newest then stop = '(' .. member else first = '(' .. member end
  end
until #found < batch
return {total, '', entries}
"""
"""Lua script that returns how many entries the shortest list has, where the page ends if there are more, and the page.

Entries that it looked at after the last one do not match, so the next page need not look at them again.
"""


class JournalReader:
    """The journals of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, workflow_id: str, query: JournalQuery) -> JournalPage | None:
        """Return a page of the run's journal; None if there is no such run."""
        run, lists = keys_of(workflow_id), _lists(query)
        low = "" if query.since is None else f"{max(0, query.since):016d}"
        high = AFTER_ALL if query.until is None else f"{max(0, query.until):016d}"
        script: Command = ("EVAL", _PAGE, 2, run.journalorder, run.journal)
        arguments = (0 if query.oldest_first else 1, low, high, query.cursor or "", query.limit, _LOOKED_AT, PAGE_BYTES)
        exists, (total, last, rows) = self._connections.send(("EXISTS", run.meta), (*script, *arguments, *lists))
        if not exists:
            return None
        pairs = zip(rows[::2], rows[1::2], strict=True)
        entries = [read_entry(name.decode(), load(text)) for name, text in pairs]
        return JournalPage(
            entries=[entry for entry in entries if entry is not None],
            matching=total if len(lists) == 1 else None,
            next_cursor=last.decode() or None,
        )


def _lists(query: JournalQuery) -> list[str]:
    """Return what the members begin with of the lists that have all entries wanted."""
    named = [
        None if query.kind is None else of_kind(query.kind),
        None if query.agent is None else of_agent(query.agent),
        None if query.state is None else of_state(query.state),
        OPEN if query.open else None,
    ]
    return [name for name in named if name is not None] or [ALL]


def _write(packet: Packet, run: RunKeys, entries: tuple[JournalEntry, ...]) -> None:
    packet.others += [command for entry in entries for command in entry_commands(run, entry)]


ROW: Final = PartRow(part=ENTRIES, ask=ask_journal, write=_write)
