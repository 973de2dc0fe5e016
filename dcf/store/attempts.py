"""Transactions that are tried until they are done: what a lost race, a broken connection or a late replica means.

A race lost is tried again with jitter. A commit whose reply was lost, or that too few replicas confirm, is in doubt: it
is tried again as well, since decisions recognise what they wrote, and at the deadline it is unknown, never "failed".
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from dcf.errors import Conflict, DcfError, StoreUnavailable, StoreUnsuitable, UnknownOutcome
from dcf.store.connection import CONNECTION_ERRORS, Command, Connection, Connections, Reply, checked, exchange
from dcf.store.faults import is_refused_login

Answer = TypeVar("Answer")

_WAIT_MS: Final = 1000


class Overtaken(Exception):
    """Somebody else was faster; nothing was written."""


class Unsure(Exception):
    """It is not known whether the commit took effect, or whether it would survive a failover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How long something is tried, and how many replicas must have a write before it is answered."""

    connections: Connections
    deadline_s: float = 10.0
    wait_replicas: int = 0

    def until_done(self, once: Callable[[Connection], Answer]) -> Answer:
        """Try until it is done. Raise when it cannot be done in time, or when the outcome stays unknown."""
        deadline = time.monotonic() + self.deadline_s
        attempt, in_doubt = 0, False
        while True:
            try:
                with self.connections.one() as connection:
                    try:
                        return once(connection)
                    except Overtaken:
                        pass
            except Unsure:
                in_doubt = True
                self._recover(in_doubt=True)
            except CONNECTION_ERRORS as error:
                if not in_doubt and (is_refused_login(error) or time.monotonic() >= deadline):
                    raise self.connections.unavailable(error) from None
                self._recover(in_doubt=in_doubt)
            except StoreUnavailable:
                if not in_doubt:
                    raise
            attempt += 1
            if time.monotonic() >= deadline:
                raise _gave_up(in_doubt=in_doubt)
            _pause(attempt)

    def confirm(self, connection: Connection, barrier: str) -> None:
        """Answer only what enough replicas have, so that a failover cannot take it back.

        WAIT counts the writes of its own connection, hence the small write before it: a repeated reply may come over
        another connection than the commit did (reliability notes, section 2).
        """
        if self.wait_replicas == 0:
            return
        waiting: list[Command] = [("SET", barrier, "1"), ("WAIT", self.wait_replicas, _WAIT_MS)]
        try:
            written, acknowledged = exchange(connection, waiting)
        except CONNECTION_ERRORS as error:
            raise Unsure from error
        if isinstance(written, Exception) or checked(acknowledged) < self.wait_replicas:
            raise Unsure

    def _recover(self, *, in_doubt: bool) -> None:
        """While it is unclear whether a commit took effect, no other trouble may be told in its place."""
        try:
            self.connections.recover()
        except DcfError:
            if not in_doubt:
                raise


def commit(connection: Connection, commands: Sequence[Command], announcements: Sequence[Command] = ()) -> list[Reply]:
    """Write all of it or nothing.

    Announcements are index entries, sent before it in the same packet: whatever has the commit, be it a replica or what
    a power loss left of a file, has the entries too.
    """
    try:
        replies = exchange(connection, [*announcements, ("MULTI",), *commands, ("EXEC",)])
    except CONNECTION_ERRORS as error:
        raise Unsure from error
    for reply in replies[:-1]:
        checked(reply)
    results: list[Reply] | None = checked(replies[-1])
    if results is None:
        raise Overtaken
    if any(isinstance(result, Exception) for result in results):
        raise StoreUnsuitable(
            "Redis applied only part of a transaction, since it refused one of the commands.",
            "Look at the keys with TYPE and delete one of a foreign type, which dcf did not make.",
        )
    return results


def _gave_up(*, in_doubt: bool) -> DcfError:
    if in_doubt:
        return UnknownOutcome("It is not known whether the write took effect.")
    return Conflict("Others kept changing the same documents until the deadline passed; nothing was written.")


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, min(0.001 * 2**attempt, 0.1)))  # nosec B311 # noqa: S311 - jitter, not a secret
