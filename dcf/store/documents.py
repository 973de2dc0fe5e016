"""Single JSON documents outside every run, changed by one short transaction each.

The same loop as a run's: WATCH, TIME and the document in one packet, MULTI and EXEC in another. A decision must
recognise what it wrote before (by a token of its own), since it runs again when the reply to EXEC was lost.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dcf.core.instants import SECOND
from dcf.core.json_text import Json, dump, load
from dcf.errors import Conflict, DcfError, UnknownOutcome
from dcf.store.connection import (
    CONNECTION_ERRORS,
    Command,
    Connection,
    Connections,
    checked,
    exchange,
    unavailable,
)

Answer = TypeVar("Answer")

_DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[Answer]):
    """What a decision answers, and the document it wants: `write` replaces it, where `changed` is set.

    `write` None deletes it. `life_s` lets it expire so many seconds after this change.
    """

    answer: Answer
    changed: bool = False
    write: Json = None
    life_s: int | None = None


class Documents:
    """Documents by key."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, key: str) -> tuple[Json, int]:
        """Return the document (None: there is none) and the server's time in microseconds."""
        clock, found = self._connections.send(("TIME",), ("JSON.GET", key, "$"))
        return _document(found), micros(clock)

    def transact(self, key: str, decide: Callable[[Json, int], Verdict[Answer]]) -> Answer:
        """Read, decide, commit; again while somebody else was faster. Raise when the outcome stays unknown."""
        return repeat_until_done(self._connections, lambda connection: self._once(connection, key, decide))

    def _once(
        self, connection: Connection, key: str, decide: Callable[[Json, int], Verdict[Answer]]
    ) -> tuple[bool, Answer]:
        opening: list[Command] = [("WATCH", key), ("TIME",), ("JSON.GET", key, "$")]
        _, clock, found = map(checked, exchange(connection, opening))
        verdict = decide(_document(found), micros(clock))
        if not verdict.changed:
            exchange(connection, [("UNWATCH",)])
            return True, verdict.answer
        return commit(connection, _commands(key, verdict)), verdict.answer


def repeat_until_done(connections: Connections, once: Callable[[Connection], tuple[bool, Answer]]) -> Answer:
    """Try until it is done, over races and broken connections. Raise when the outcome stays unknown."""
    deadline = time.monotonic() + _DEADLINE_S
    attempt, in_doubt = 0, False
    while True:
        try:
            with connections.one() as connection:
                done, answer = once(connection)
            if done:
                return answer
        except _Unsure:
            in_doubt = True
            _recover(connections, in_doubt)
        except CONNECTION_ERRORS as error:
            if not in_doubt and time.monotonic() >= deadline:
                raise unavailable(error) from None
            _recover(connections, in_doubt)
        attempt += 1
        if time.monotonic() >= deadline:
            raise _gave_up(in_doubt)
        time.sleep(random.uniform(0, min(0.001 * 2**attempt, 0.1)))  # nosec B311 # noqa: S311 - jitter, not a secret


def commit(connection: Connection, commands: list[Command]) -> bool:
    """Write all of it or nothing; False when somebody else was faster."""
    try:
        replies = exchange(connection, [("MULTI",), *commands, ("EXEC",)])
    except CONNECTION_ERRORS as error:
        raise _Unsure from error
    for queued in replies[:-1]:
        checked(queued)
    results = checked(replies[-1])
    for result in results or ():
        checked(result)
    return results is not None


def _recover(connections: Connections, in_doubt: bool) -> None:
    """While it is unclear whether a commit took effect, no other trouble may be told in its place."""
    try:
        connections.recover()
    except DcfError:
        if not in_doubt:
            raise


class _Unsure(Exception):
    """The commit was sent and its reply was lost."""


def _commands(key: str, verdict: Verdict[Answer]) -> list[Command]:
    if verdict.write is None:
        return [("DEL", key)]
    written: list[Command] = [("JSON.SET", key, "$", dump(verdict.write))]
    return [*written, ("EXPIRE", key, verdict.life_s)] if verdict.life_s is not None else written


def _document(found: bytes | None) -> Json:
    return None if found is None else load(found)[0]


def micros(clock: list[bytes]) -> int:
    """Read the reply to TIME."""
    return int(clock[0]) * SECOND + int(clock[1])


def _gave_up(in_doubt: bool) -> DcfError:
    if in_doubt:
        return UnknownOutcome("It is not known whether the write took effect.")
    return Conflict("Others kept changing the same document until the deadline passed; nothing was written.")
