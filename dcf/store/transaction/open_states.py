"""Reads a page of a run's open states with one Lua script, and adds it to a snapshot.

They are ordered by when they next need attention, so claimable ones come first. The script writes nothing but marks.
"""

from typing import Any, Final

from dcf.asl.state_paths import name_of
from dcf.core.documents import codec
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import Meta, StateDoc, Status
from dcf.store.connection.commands import Command, Reply
from dcf.store.forms.form import DOCUMENTS, DocumentForm
from dcf.store.keys.parts import KeyText, decode_state, encode_state
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.state_texts import read_text
from dcf.values.digest import fingerprint
from dcf.values.json_text import load
from dcf.values.records import replace

# Reads a page of the open states, and the state that was claimed before, until enough ready ones are found: documents,
# assignments and inputs of these, and the scopes around them. A claim marks the states that it is about to lease, so
# that other claims lease other states. A mark lasts a moment and is written to no file and no replica: it saves lost
# races, and no decision rests on it. KEYS: timers, meta, claims. ARGV: first and last place of the page. Then the
# beginnings of the keys of states, inputs and marks. Then the fields of the claim, the number of states, the owner, the
# mark and its lifetime. Then the number of states to skip, these states, and states that are read anyway.
# The reply has four parts. (1) The states, each with document, assignment, input, and whether another claim marked it.
# (2) The scopes around them. (3) The length of the page. (4) Leased states, each with the time of its next check. That
# time is 0 if a reminder was sent: then the lease has ended, and the next check comes much later.
# While a slot of a cluster moves, a read of several documents ignores a document that has moved to the other node. But
# EXISTS is refused then.
_OPEN_STATES = (
    DOCUMENTS
    + r"""
local first, last, states, inputs, marks, claim = unpack(ARGV, 1, 6)
local most, owner, mark, life = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]
local everything = claim == '' and mark == ''
local listed = redis.call('ZRANGE', KEYS[1], first, last, 'WITHSCORES')
local page, size, dues = {}, #listed / 2, {}
for i = 1, size do
  page[i] = listed[2 * i - 1]
  dues[page[i]] = listed[2 * i]
end
local fields, claimed = {}, {}
for field in claim:gmatch('%S+') do
  fields[#fields + 1] = field
end
for _, part in ipairs(#fields > 0 and redis.call('HMGET', KEYS[3], unpack(fields)) or {}) do
  if part then
    claimed[part] = true
    table.insert(page, 1, part)
  end
end

local docs = {}
local function document(i)
  if docs[i] == nil then
    local keys = {}
    for j = i, math.min(i == 1 and 4 or i + 63, #page) do
      keys[#keys + 1] = states .. page[j]
    end
    for j, text in ipairs(read_documents(redis.call, keys)) do
      docs[i + j - 1] = text
      if not text then
        redis.call('EXISTS', keys[j])
      end
    end
  end
  return docs[i]
end

local function assignment(part)
  local name = part:match('[^/]*$'):gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
  return read_named(redis.call, KEYS[2], 'agents', name) or 'null'
end

local function is_of_others(agents)
  return owner ~= '' and agents:find('^%[?"') and not agents:find('"' .. owner .. '"', 1, true)
end

local function is_left(part, doc)
  if mark == '' then
    return true
  end
  local epoch = doc:match('"epoch":(%d+)') or ''
  local own = mark .. ':' .. epoch
  local before = redis.pcall('SET', marks .. part, own, 'NX', 'GET', 'PX', life)
  if type(before) ~= 'string' or before == own then
    return true
  elseif before:match('%d*$') == epoch then
    return false
  end
  redis.pcall('SET', marks .. part, own, 'PX', life)
  return true
end

if mark ~= '' and redis.set_repl then
  redis.set_repl(redis.REPL_NONE)
end
local found, around, held, later, seen, passed = {}, {}, {}, {}, {}, {}
for i = 12, #ARGV do
  local set = i < 12 + tonumber(ARGV[11]) and passed or seen
  set[ARGV[i]] = true
end

local function show(part, doc, agents, input, is_taken)
  found[#found + 1] = {part, doc, agents, input, is_taken}
  local outer = part:match('^(.*)/[^/]*/[^/]*$')
  while outer and not seen[outer] do
    seen[outer] = true
    around[#around + 1] = {outer, read_document(redis.call, states .. outer)}
    outer = outer:match('^(.*)/[^/]*/[^/]*$')
  end
end

local taken = 0
local function consider(part, doc)
  local agents = assignment(part)
  if is_of_others(agents) then
    return
  elseif is_left(part, doc) then
    taken = taken + 1
    show(part, doc, agents, read_document(redis.call, inputs .. part), 0)
  else
    show(part, doc, agents, false, 1)
  end
end

for i, part in ipairs(page) do
  if taken == most then
    break
  end
  local doc = not passed[part] and document(i)
  if doc then
    local goes_by_itself = doc:find('"type":"', 1, true)
    local is_free = doc:find('"status":"pending"', 1, true) and not goes_by_itself
    if claimed[part] or (everything and not is_free) then
      show(part, doc, false, false, 0)
    elseif is_free and doc:find('"not_before":"', 1, true) then
      later[#later + 1] = {part, doc}
    elseif is_free then
      consider(part, doc)
    elseif claim ~= '' and not goes_by_itself then
      local was_left = doc:find('\\"reminders\\":', 1, true) and not is_of_others(assignment(part))
      held[#held + 1] = part
      held[#held + 1] = was_left and 0 or dues[part]
    end
  end
end
for _, one in ipairs(later) do
  if taken == most then
    break
  end
  consider(one[1], one[2])
end
return {found, around, size, held}
"""
)

_MARK_MS: Final = 50
"""Milliseconds after which a mark expires: far longer than a claim takes, and short if the claim's process died."""

_GONE = StateDoc(status=Status.CANCELLED)
"""Replaces the document of an open state if that is null: no agent can lease the state, and it counts as read."""


def page_command(form: DocumentForm, run: RunKeys, page: tuple[int, int], reads: ReadSet) -> Command:
    """Return the command that reads a page of the open states, and the states that were claimed with tokens."""
    offset, length = page
    seeker = reads.seeker
    names = (run.timers, run.meta, run.claims)
    claimed = " ".join(map(fingerprint, reads.claims))
    beginnings = (KeyText(run.state("")), KeyText(run.input("")), KeyText(run.taking("")))
    sought = (seeker.most, seeker.owner, seeker.mark, _MARK_MS)
    named: Command = (len(seeker.passed), *map(encode_state, seeker.passed), *map(encode_state, reads.states))
    script = form.script(_OPEN_STATES)
    return ("EVAL", script, 3, *names, offset, offset + length - 1, *beginnings, claimed, *sought, *named)


def texts_of(reply: Reply) -> dict[str, bytes]:
    """Return the documents of a page as they were read, by path: of its states, and of the scopes around them."""
    page, around, *_ = reply
    documents = [(part, doc) for part, doc, *_ in page] + [(part, doc) for part, doc in around]
    return {decode_state(part.decode()): doc for part, doc in documents if doc is not None}


def ready_in(reply: Reply) -> list[str]:
    """Return the paths of the states of a page that were found ready, and of which the input was read."""
    page, *_ = reply
    return [decode_state(part.decode()) for part, _, _, input_text, _ in page if input_text is not None]


def add_page(rows: dict[str, Any], reply: Reply) -> None:
    """Add a page's documents, the scopes around them, their inputs and assignments to the rows of a snapshot."""
    states, inputs = rows.setdefault("states", {}), rows.setdefault("inputs", {})
    meta: Meta | None = rows["meta"]
    agents = {} if meta is None else dict(meta.agents)
    page, around, size, leased = reply
    for part, doc, assignment, input_text, _ in page:
        path = decode_state(part.decode())
        states[path] = read_text(doc) or _GONE
        if input_text is not None:
            inputs[path] = load(input_text)
        name = name_of(path)
        if assignment is not None:
            agents[name] = codec.read_assignment(load(assignment))
    for part, doc in around:
        known = None if doc is None else read_text(doc)
        if known is not None:
            states.setdefault(decode_state(part.decode()), known)
    rows["meta"] = None if meta is None else replace(meta, agents=agents)
    rows["page"] = int(size)
    rows["held"] = {decode_state(p.decode()): int(float(at)) for p, at in zip(leased[::2], leased[1::2], strict=True)}
    rows["taken"] = frozenset(decode_state(part.decode()) for part, _, _, _, is_taken in page if is_taken)
