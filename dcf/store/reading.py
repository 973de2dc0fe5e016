"""What a decision reads, as one packet of commands, and the replies as a snapshot.

Paths are read, never whole meta documents, unless all of it is asked for: meta grows with the workflow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dcf.asl.steps import Entry
from dcf.core import codec
from dcf.core.decision import Reads, Snapshot
from dcf.core.instants import SECOND
from dcf.core.json_text import Json, load
from dcf.core.model import Meta, StateDoc, Status
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, decode_state, encode_state

_META_PATHS = ("$.status", "$.definition_sha256", "$.max_attempts")

# Read-only. A page of the open states with documents and assignments, and the inputs of those that are pending.
_OPEN_STATES = r"""
local found = {}
for i, part in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])) do
  local name = part:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
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
end
return found
"""


_GONE = StateDoc(status=Status.CANCELLED)
"""An open state whose document is missing: nobody can take it, and it counts as looked at."""


class Reading:
    """The first packet of a transaction, and how to understand its replies."""

    def __init__(self, run: RunKeys, reads: Reads) -> None:
        self.run = run
        self._reads = reads
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
        found = iter(rest.pop(0) if self._document_keys() else ())
        states = self._states(reads.states, found)
        inputs = dict(_present(reads.inputs, found))
        plain = {name: Entry(raw=given, variables={}, entered_at="") for name, given in _present(reads.entries, found)}
        kept = {name: codec.read_entry(entry) for name, entry in _present(reads.entries, found)}
        outputs = dict(_present(reads.outputs, found))
        audit = _root(next(found)) if reads.audit else None
        due = dict(_due(reads.timers, rest.pop(0))) if reads.timers else {}
        record, document = self._meta(meta)
        if reads.open_states is not None:
            record = self._add_open(rest.pop(0), record, states, inputs)
        return Snapshot(
            now=int(clock[0]) * SECOND + int(clock[1]),
            meta=record,
            states=states,
            inputs=inputs,
            entries=plain | kept,
            outputs=outputs,
            timers=due,
            meta_document=document,
            audit=audit,
        )

    def _meta_command(self) -> Command:
        if self._reads.whole_meta:
            return ("JSON.GET", self.run.meta, "$")
        return ("JSON.GET", self.run.meta, *_META_PATHS, *dict.fromkeys(map(_agent_path, self._reads.agents)))

    def _document_commands(self) -> Iterator[Command]:
        reads, run = self._reads, self.run
        keys = self._document_keys()
        if keys:
            yield ("JSON.MGET", *keys, "$")
        if reads.timers:
            yield ("ZMSCORE", run.timers, *map(encode_state, reads.timers))
        if reads.open_states is not None:
            offset, length = reads.open_states
            last = offset + length - 1
            yield ("EVAL", _OPEN_STATES, 2, run.timers, run.meta, offset, last, run.state(""), run.input(""))

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
        ]

    def _meta(self, reply: Reply) -> tuple[Meta | None, Mapping[str, Json] | None]:
        if reply is None:
            return None, None
        found = load(reply)
        if self._reads.whole_meta:
            return codec.read_meta(found[0]), found[0]
        fields: dict[str, Json] = {path[2:]: _first(found, path) for path in _META_PATHS}
        fields["agents"] = {name: _assignment(found.get(_agent_path(name)), name) for name in self._reads.agents}
        return codec.read_meta(fields), None

    def _states(self, names: tuple[str, ...], found: Iterator[Reply]) -> dict[str, StateDoc]:
        return {name: codec.read_state(doc) for name, doc in _present(names, found)}

    def _add_open(
        self,
        reply: Reply,
        record: Meta | None,
        states: dict[str, StateDoc],
        inputs: dict[str, Json],
    ) -> Meta | None:
        agents: dict[str, tuple[str, ...]] = {}
        for part, doc, assignment, given in reply:
            name = decode_state(part.decode())
            states[name] = _GONE if doc is None else codec.read_state(load(doc)[0])
            if given is not None:
                inputs[name] = load(given)[0]
            found = None if assignment is None else load(assignment)
            agents[name] = codec.read_assignment(_assignment(found, name))
        return None if record is None else replace(record, agents=agents)


def _agent_path(state: str) -> str:
    """Write the path of a state's assignment; RedisJSON understands no other escapes than these two.

    It drops spaces at the beginning of a quoted name (2.8.3), so for such a state all assignments are read.
    """
    if state.startswith(" "):
        return "$.agents"
    quoted = state.replace("\\", "\\\\").replace('"', '\\"')
    return f'$.agents["{quoted}"]'


def _assignment(found: list[Json] | None, state: str) -> Json:
    """Take what was found at `_agent_path`."""
    value = found[0] if found else None
    return value.get(state) if isinstance(value, dict) else value


def _present(names: tuple[str, ...], found: Iterator[Reply]) -> Iterator[tuple[str, Any]]:
    for name in names:
        document = _root(next(found))
        if document is not None:
            yield name, document


def _due(names: tuple[str, ...], scores: list[bytes | None]) -> Iterator[tuple[str, int]]:
    for name, score in zip(names, scores, strict=True):
        if score is not None:
            yield name, int(float(score))


def _root(reply: Reply) -> Json:
    return None if reply is None else load(reply)[0]


def _first(found: Mapping[str, Json], path: str) -> Json:
    values = found.get(path)
    return values[0] if values else None
