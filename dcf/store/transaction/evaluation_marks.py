"""Reads and writes the marks of risky evaluations in Redis: which process evaluates for which state of a run.

It must not decide whether a process may evaluate: `core/completing/evaluation_marks.py` does.
"""

from collections.abc import Iterable
from typing import Final

from dcf.core.completing.evaluation_marks import Mark
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys.table import keys_of
from dcf.values.json_text import Json, dump, load
from dcf.values.records import replace

_PUT: Final = """
if redis.call('EXISTS', KEYS[2]) == 0 then return {redis.call('TIME'), {}} end
local clock = redis.call('TIME')
local since = clock[1] .. string.format('%06d', clock[2])
redis.call('HSET', KEYS[1], ARGV[1], since .. ' ' .. ARGV[2])
return {clock, redis.call('HGETALL', KEYS[1])}
"""
"""Lua script that adds a mark to a run that is there, and returns the time and all marks."""


class EvaluationMarks:
    """The marks of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, workflow_id: str, mark: Mark) -> tuple[Mark, list[Mark]]:
        """Add a mark. Return it with the server's time, and the marks that were there."""
        run, about = keys_of(workflow_id), dump({"state": mark.state, "process": mark.process})
        command = ("EVAL", _PUT, 2, run.evaluating, run.meta, mark.mark_id, about)
        ((clock, fields),) = self._connections.send(command)
        marks = [_read(name, text) for name, text in zip(fields[::2], fields[1::2], strict=True)]
        own = replace(mark, since=micros(clock))
        return own, [other for other in marks if other.mark_id != mark.mark_id]

    def remove(self, workflow_id: str, mark_ids: Iterable[str]) -> None:
        """Take marks off."""
        self._connections.send(("HDEL", keys_of(workflow_id).evaluating, *mark_ids))

    def clear(self, workflow_id: str) -> None:
        """Take all marks of a run off, those of deaths included."""
        self._connections.send(("DEL", keys_of(workflow_id).evaluating))


def _read(name: bytes, text: bytes) -> Mark:
    since, _, about = text.partition(b" ")
    document: dict[str, Json] = load(about)
    return Mark(mark_id=name.decode(), state=str(document["state"]), process=str(document["process"]), since=int(since))
