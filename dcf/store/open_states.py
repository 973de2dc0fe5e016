"""Reads a page of a run's open states with one read-only Lua script, and adds it to a snapshot.

They are ordered by when they next need attention, so claimable ones come first. The script may not write.
"""

from dataclasses import replace
from typing import Any

from dcf.asl.state_paths import name_of
from dcf.core import codec
from dcf.core.model import Meta, StateDoc, Status
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, decode_state
from dcf.store.state_texts import read_text
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json, load

# Read-only. The state that was claimed before, and a page of the open states, with documents and assignments, the
# inputs of those that are pending, and the documents of the scopes around them.
_OPEN_STATES = r"""
local found, around, seen = {}, {}, {}
local page = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])
local size = #page
local claimed = redis.call('HGET', KEYS[3], ARGV[5])
if claimed then
  page[size + 1] = claimed
end
for i, part in ipairs(page) do
  local name = part:match('[^/]*$'):gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
  local path = '$.agents'
  if name:sub(1, 1) ~= ' ' then
    path = path .. '["' .. name:gsub('[\\"]', '\\%0') .. '"]'
  end
  local doc = redis.call('JSON.GET', ARGV[3] .. part, '$')
  local input = false
  if doc and doc:find('"status":"pending"', 1, true) then
    input = redis.call('JSON.GET', ARGV[4] .. part, '$')
  end
  found[i] = {part, doc, redis.call('JSON.GET', KEYS[2], path), input}
  local outer = part:match('^(.*)/[^/]*/[^/]*$')
  while outer and not seen[outer] do
    seen[outer] = true
    around[#around + 1] = {outer, redis.call('JSON.GET', ARGV[3] .. outer, '$')}
    outer = outer:match('^(.*)/[^/]*/[^/]*$')
  end
end
return {found, around, size}
"""

_GONE = StateDoc(status=Status.CANCELLED)
"""Stands for an open state whose document is missing: no agent can take it, and it counts as read."""


def page_command(run: RunKeys, page: tuple[int, int], claim: str | None) -> Command:
    """Return the command that reads a page of the open states, and the state that was claimed with a token."""
    offset, length = page
    mark = "" if claim is None else fingerprint(claim)
    names = (run.timers, run.meta, run.claims)
    return ("EVAL", _OPEN_STATES, 3, *names, offset, offset + length - 1, run.state(""), run.input(""), mark)


def texts_of(reply: Reply) -> dict[str, bytes]:
    """Return the documents of a page as they were read, by path: of its states, and of the scopes around them."""
    page, around, _ = reply
    found = [(part, doc) for part, doc, *_ in page] + [(part, doc) for part, doc in around]
    return {decode_state(part.decode()): doc for part, doc in found if doc is not None}


def add_page(rows: dict[str, Any], reply: Reply) -> None:
    """Add a page's documents, the scopes around them, their inputs and assignments to the rows of a snapshot."""
    states, inputs = rows.setdefault("states", {}), rows.setdefault("inputs", {})
    meta: Meta | None = rows["meta"]
    agents = {} if meta is None else dict(meta.agents)
    page, around, size = reply
    for part, doc, assignment, given in page:
        path = decode_state(part.decode())
        states[path] = _GONE if doc is None else read_text(doc) or _GONE
        if given is not None:
            inputs[path] = load(given)[0]
        name = name_of(path)
        agents[name] = () if assignment is None else assigned(load(assignment), name)
    for part, doc in around:
        known = None if doc is None else read_text(doc)
        if known is not None:
            states.setdefault(decode_state(part.decode()), known)
    rows["meta"] = None if meta is None else replace(meta, agents=agents)
    rows["page"] = int(size)


def assigned(found: list[Json] | None, name: str) -> tuple[str, ...]:
    """Return the agents assigned to a state, from the reply for its path, or for the path of all assignments."""
    if not found:
        return ()
    value = found[0]
    return codec.read_assignment(value.get(name) if isinstance(value, dict) else value)
