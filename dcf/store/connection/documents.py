"""Transactions on single JSON documents outside runs.

One packet has WATCH, TIME and the read, another MULTI and EXEC. A decision must recognise what it wrote before (by a
token of its own), since it runs again if the reply to EXEC was lost (`attempts`).
"""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.faults import no_json
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import companions as companion_keys
from dcf.store.transaction.attempts import Attempts, commit
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record

Answer = TypeVar("Answer")


@record(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[Answer]):
    """Result of a decision: the answer, and the new document `write` if `changed` is set.

    `write` None deletes the document. `life_s` is its expiry in seconds from this change. `announcements` are commands
    that add it to indexes, sent just before it is written.
    """

    answer: Answer
    changed: bool = False
    write: Json = None
    life_s: int | None = None
    announcements: tuple[Command, ...] = ()


class Documents:
    """Documents by key."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0, deadline_s: float = 10.0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, deadline_s=deadline_s, wait_replicas=wait_replicas)

    def read(self, key: str) -> tuple[Json, int]:
        """Return the document (None if there is none) and the server's time in microseconds."""
        clock, reply = self._connections.send(("TIME",), self._connections.form.read(key))
        return _document(self._connections.form.text(reply)), micros(clock)

    def transact(self, key: str, decide: Callable[[Json, int], Verdict[Answer]]) -> Answer:
        """Read, decide, commit; retry after a lost race. Raise UnknownOutcome if the outcome stays unknown."""
        return self._attempts.until_done(lambda connection: self._once(connection, key, decide))

    def _once(self, connection: Connection, key: str, decide: Callable[[Json, int], Verdict[Answer]]) -> Answer:
        barrier = companion_keys.barrier(key)
        opening: list[Command] = [("WATCH", key), ("TIME",), self._connections.form.read(key)]
        _, clock, reply = map(checked, exchange(connection, opening))
        deciding = partial(decide, _document(self._connections.form.text(reply)), micros(clock))
        verdict = self._attempts.result_of(connection, barrier, deciding)
        if not verdict.changed:
            self._attempts.let_go(connection, barrier)
        else:
            commit(connection, _commands(self._connections.form, key, verdict), verdict.announcements)
            self._attempts.confirm(connection, barrier)
        return verdict.answer


def _commands(form: DocumentForm, key: str, verdict: Verdict[Answer]) -> list[Command]:
    if verdict.write is None:
        return [("DEL", key)]
    written: list[Command] = [form.put(key, dump(verdict.write))]
    return [*written, ("EXPIRE", key, verdict.life_s)] if verdict.life_s is not None else written


def _document(text: bytes | None) -> Json:
    try:
        return None if text is None else load(text)
    except ValueError:
        raise no_json() from None


def micros(clock: list[bytes]) -> int:
    """Return the reply to TIME in microseconds."""
    return int(clock[0]) * SECOND + int(clock[1])
