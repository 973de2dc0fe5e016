"""What a decision reads, as one packet of commands, and the replies as a snapshot.

Paths are read, never whole meta documents, unless all of it is asked for: meta grows with the workflow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dcf.asl.state_paths import name_of
from dcf.asl.steps import Entry
from dcf.core import codec
from dcf.core.decision import Reads, Snapshot, Tally
from dcf.core.model import Meta, StateDoc, StateInput, Status
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, decode_state, encode_state
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load

_FEW = 8
"""Assignments read one by one."""

_TALLY = ("done", "failed", "failure")
_META_FIELDS = ("status", "definition_sha256", "created_at", "started_at", "planner_agent_id", "max_attempts")
_META_PATHS = tuple(f"$.{name}" for name in _META_FIELDS)  # nosemgrep: jsonpaths-are-not-formatted - fields of our own

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
"""An open state whose document is missing: nobody can take it, and it counts as looked at."""


class Reading:
    """The first packet of a transaction, and how to understand its replies."""

    def __init__(self, run: RunKeys, reads: Reads) -> None:
        self.run = run
        self._reads = reads
        self._keys = self._document_keys()
        self._commands: list[Command] = [("TIME",), self._meta_command(), *self._document_commands()]

    def opening(self) -> list[Command]:
        """WATCH and the reads."""
        watched = [self.run.meta, *map(self.run.state, self._reads.states)]
        if self._reads.audit:
            watched.append(self.run.audit)
        if self._reads.open_states:
            watched.append(self.run.timers)
        return [("WATCH", *watched), *self._commands]

    def commands(self) -> list[Command]:
        """List the reads alone."""
        return self._commands

    def snapshot(self, replies: list[Reply]) -> Snapshot:
        """Understand the replies to `commands`, or to `opening`, whose first reply is WATCH's."""
        clock, meta, *rest = replies[-len(self._commands) :]
        reads = self._reads
        found = iter(rest.pop(0) if self._keys else ())
        states = self._states(reads.states, found)
        inputs = dict(_present(reads.inputs, found))
        plain = {name: Entry(raw=given, variables={}, entered_at="") for name, given in _present(reads.entries, found)}
        kept = {name: codec.read_entry(entry) for name, entry in _present(reads.entries, found)}
        outputs = dict(_present(reads.outputs, found))
        audit = _root(next(found)) if reads.audit else None
        scopes = dict(_scopes(reads.scopes, found))
        due = dict(_due(reads.timers, rest.pop(0))) if reads.timers else {}
        items = {wanted: _item(rest.pop(0)) for wanted in reads.items}
        tallies = {path: _tally(rest.pop(0)) for path in reads.tallies}
        record, document = self._meta(meta)
        page = 0
        if reads.open_states is not None:
            page = int(rest[0][2])
            record = self._add_open(rest.pop(0), record, states, inputs)
        return Snapshot(
            now=int(clock[0]) * SECOND + int(clock[1]),
            meta=record,
            states=states,
            inputs=inputs,
            entries=plain | kept,
            outputs=outputs,
            timers=due,
            scopes=scopes,
            items=items,
            tallies=tallies,
            page=page,
            meta_document=document,
            audit=audit,
        )

    def _meta_command(self) -> Command:
        if self._reads.whole_meta:
            return ("JSON.GET", self.run.meta, "$")
        return ("JSON.GET", self.run.meta, *_META_PATHS, *self._agent_paths())

    def _agent_paths(self) -> tuple[str, ...]:
        """Read each assignment by its path, or all of them where that is less work."""
        names = self._assigned_names()
        return ("$.agents",) if len(names) > _FEW else tuple(dict.fromkeys(map(_agent_path, names)))

    def _assigned_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(name_of, self._reads.agents)))

    def _document_commands(self) -> Iterator[Command]:
        reads, run = self._reads, self.run
        if self._keys:
            yield ("JSON.MGET", *self._keys, "$")
        if reads.timers:
            yield ("ZMSCORE", run.timers, *map(encode_state, reads.timers))
        for path, index in reads.items:
            item = f"$[{index}]"  # nosemgrep: jsonpaths-are-not-formatted - an index is a number
            yield ("JSON.GET", run.items(path), item)
        for path in reads.tallies:
            yield ("HMGET", run.join(path), *_TALLY)
        if reads.open_states is not None:
            offset, length = reads.open_states
            last = offset + length - 1
            mark = "" if reads.claim is None else fingerprint(reads.claim)
            names = (run.timers, run.meta, run.claims)
            yield ("EVAL", _OPEN_STATES, 3, *names, offset, last, run.state(""), run.input(""), mark)

    def _document_keys(self) -> list[str]:
        reads, run = self._reads, self.run
        return [
            *map(run.state, reads.states),
            *map(run.input, reads.inputs),
            # Where a state sees its whole raw input and there is nothing else to keep, no entry is stored.
            *map(run.input, reads.entries),
            *map(run.entry, reads.entries),
            *map(run.output, reads.outputs),
            *([run.audit] if reads.audit else ()),
            *map(run.input, reads.scopes),
            *map(run.entry, reads.scopes),
        ]

    def _meta(self, reply: Reply) -> tuple[Meta | None, Mapping[str, Json] | None]:
        if reply is None:
            return None, None
        found = load(reply)
        if self._reads.whole_meta:
            return codec.read_meta(found[0]), found[0]
        fields: dict[str, Json] = {path[2:]: _first(found, path) for path in _META_PATHS}
        every = found.get("$.agents")
        fields["agents"] = {
            name: _assignment(every or found.get(_agent_path(name)), name) for name in self._assigned_names()
        }
        return codec.read_meta(fields), None

    def _states(self, names: tuple[str, ...], found: Iterator[Reply]) -> dict[str, StateDoc]:
        return {name: codec.read_state(doc) for name, doc in _present(names, found) if doc is not None}

    def _add_open(
        self,
        reply: Reply,
        record: Meta | None,
        states: dict[str, StateDoc],
        inputs: dict[str, Json],
    ) -> Meta | None:
        agents: dict[str, tuple[str, ...]] = {}
        page, around, _ = reply
        for part, doc, assignment, given in page:
            path = decode_state(part.decode())
            states[path] = _GONE if doc is None else codec.read_state(load(doc)[0])
            if given is not None:
                inputs[path] = load(given)[0]
            name, found = name_of(path), None if assignment is None else load(assignment)
            agents[name] = codec.read_assignment(_assignment(found, name))
        for part, doc in around:
            if doc is not None:
                states.setdefault(decode_state(part.decode()), codec.read_state(load(doc)[0]))
        return None if record is None else replace(record, agents=agents)


def _agent_path(state: str) -> str:
    """Write the path of a state's assignment; RedisJSON understands no other escapes than these two.

    It drops spaces at the beginning of a quoted name (2.8.3), so for such a state all assignments are read.
    """
    if state.startswith(" "):
        return "$.agents"
    quoted = state.replace("\\", "\\\\").replace('"', '\\"')
    return f'$.agents["{quoted}"]'  # nosemgrep: jsonpaths-are-not-formatted - quoted just now


def _assignment(found: list[Json] | None, state: str) -> Json:
    """Take what was found at `_agent_path`."""
    value = found[0] if found else None
    return value.get(state) if isinstance(value, dict) else value


def _present(names: tuple[str, ...], found: Iterator[Reply]) -> Iterator[tuple[str, Any]]:
    for name in names:
        reply = next(found)
        if reply is not None:  # what is not there; null is a document like any other
            yield name, load(reply)[0]


def _due(names: tuple[str, ...], scores: list[bytes | None]) -> Iterator[tuple[str, int]]:
    for name, score in zip(names, scores, strict=True):
        if score is not None:
            yield name, int(float(score))


def _scopes(paths: tuple[str, ...], found: Iterator[Reply]) -> Iterator[tuple[str, StateInput]]:
    """Put together what opening scopes fixed: the input where it says it all, or the entry beside it."""
    inputs = [_root(next(found)) for _ in paths]
    for path, effective in zip(paths, inputs, strict=True):
        kept = _root(next(found))
        entry = Entry(raw=effective, variables={}, entered_at="") if kept is None else codec.read_entry(kept)
        yield path, StateInput(entry=entry, effective=effective)


def _item(reply: Reply) -> Json:
    found = [] if reply is None else load(reply)
    return found[0] if found else None


def _tally(reply: list[bytes | None]) -> Tally:
    done, failed, failure = reply
    error, cause = (None, None) if failure is None else load(failure)
    return Tally(done=int(done or 0), failed=int(failed or 0), error=error, cause=cause)


def _root(reply: Reply) -> Json:
    return None if reply is None else load(reply)[0]


def _first(found: Mapping[str, Json], path: str) -> Json:
    values = found.get(path)
    return values[0] if values else None
