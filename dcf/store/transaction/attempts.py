"""Retries of transactions: after a lost race, a broken connection, or too few replicas that confirm.

A lost race is retried with backoff and jitter. A commit is in doubt if its reply was lost or too few replicas confirm
it. It is retried too, since decisions recognise what they wrote. At the deadline its outcome is unknown, not "failed".
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from dcf import metrics
from dcf.errors import Conflict, DcfError, StoreUnavailable, StoreUnsuitable, UnknownOutcome
from dcf.jitter import JITTER
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import (
    CONNECTION_ERRORS,
    Connection,
    Connections,
    all_checked,
    checked,
    exchange,
    unwatch_later,
)
from dcf.store.connection.faults import is_refused_login
from dcf.store.transaction.guards import Unchanged
from dcf.values.records import record
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")

Ground: TypeAlias = Callable[[Connection], Refusal | None]
"""Makes sure of what a transaction depends on, over the connection of an attempt at it, or refuses the transaction."""

_WAIT_MS: Final = 1000
_BARRIER_LIFE_S: Final = 60
"""Seconds until a barrier key expires, so that none is left of a run that is gone or never existed."""


class Overtaken(Exception):
    """Another transaction changed a watched key first; nothing was written."""


class Unsure(Exception):
    """It is unknown whether the commit took effect, or whether it would survive a failover."""


@record(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Retry settings: the deadline, and how many replicas must have a write before it is answered."""

    connections: Connections
    deadline_s: float = 10.0
    wait_replicas: int = 0

    def until_done(self, once: Callable[[Connection], Answer]) -> Answer:
        """Call `once` until it succeeds. Raise Conflict, StoreUnavailable or UnknownOutcome at the deadline."""
        deadline = time.monotonic() + self.deadline_s
        attempt, in_doubt, broken = 0, False, None
        while True:
            try:
                with self.connections.one() as connection:
                    try:
                        return once(connection)
                    except Overtaken:
                        broken = None
                        if metrics.current is not None:
                            metrics.current.overtaken()
            except Unsure:
                in_doubt = True
                self._recover(in_doubt=True)
            except CONNECTION_ERRORS as error:
                if not in_doubt and is_refused_login(error):
                    raise self.connections.unavailable(error) from None
                broken = error
                self._recover(in_doubt=in_doubt)
            except StoreUnavailable:
                if not in_doubt:
                    raise
            attempt += 1
            if time.monotonic() >= deadline:
                raise self._gave_up(broken, in_doubt=in_doubt)
            _pause(attempt)

    def confirm(self, connection: Connection, barrier: str) -> None:
        """Wait until enough replicas have the write, so that a failover cannot undo an answered write.

        WAIT only counts writes of its own connection, and the answered one may have come over another. So a small write
        goes before it (reliability notes, section 2).
        """
        if self.wait_replicas:
            self._confirm(connection, barrier)

    def let_go(self, connection: Connection, barrier: str) -> None:
        """End an attempt without writes. Its answer is confirmed by replicas like a write.

        A repetition must not be answered while a failover could still undo the original write. And a server that was
        replaced in a failover must not refuse requests by its outdated data.
        """
        if self.wait_replicas:
            self._confirm(connection, barrier, ("UNWATCH",))
        else:
            unwatch_later(connection)

    def result_of(self, connection: Connection, barrier: str, decide: Callable[[], Answer]) -> Answer:
        """Return what `decide` returns. If it raises its answer as an error, confirm that as well."""
        try:
            return decide()
        except DcfError:
            self.let_go(connection, barrier)
            raise

    def surely(self, commands: Sequence[Command], barrier: str) -> list[Reply]:
        """Read, and confirm what was read like an answer. For callers that report that something does not exist."""

        def once(connection: Connection) -> list[Reply]:
            replies = all_checked(exchange(connection, commands))
            self.confirm(connection, barrier)
            return replies

        return self.until_done(once)

    def _confirm(self, connection: Connection, barrier: str, *before: Command) -> None:
        waiting = (*before, ("SET", barrier, "1", "EX", _BARRIER_LIFE_S), ("WAIT", self.wait_replicas, _WAIT_MS))
        try:
            *_, written, acknowledged = exchange(connection, waiting)
            is_confirmed = not isinstance(written, Exception) and checked(acknowledged) >= self.wait_replicas
        except CONNECTION_ERRORS as error:  # a server that becomes a replica ends its clients' WAIT with an error
            raise Unsure from error
        if not is_confirmed:
            raise Unsure

    def _gave_up(self, broken: Exception | None, *, in_doubt: bool) -> DcfError:
        """Return the error to raise at the deadline; `broken` is what the last attempt ended with."""
        if in_doubt:
            return UnknownOutcome("It is not known whether the write took effect.")
        if broken is not None:
            return self.connections.unavailable(broken)
        return Conflict("Others kept changing the same documents until the deadline passed; nothing was written.")

    def _recover(self, *, in_doubt: bool) -> None:
        """Drop the broken connections. While a commit is in doubt, no other error may be raised in its place."""
        try:
            self.connections.recover()
        except DcfError:
            if not in_doubt:
                raise


def commit_one(connection: Connection, command: Command) -> Reply:
    """Commit a single command with MULTI and EXEC. Return its reply, an error too."""
    return _executed(connection, [command])[0][0]


def commit(
    connection: Connection,
    commands: Sequence[Command],
    announcements: Sequence[Command] = (),
    then: Sequence[Command] = (),
) -> tuple[list[Reply], list[Reply]]:
    """Commit with MULTI and EXEC: all commands or none. Return the replies to them, and to the reads `then` after them.

    Announcements are index entries, sent before MULTI in the same packet. So any copy that has the commit, such as a
    replica or the file after a power loss, has the entries too.
    """
    results, read = _executed(connection, commands, announcements, then)
    return _whole(results), read


def commit_if(
    connection: Connection,
    script: Command,
    announcements: Sequence[Command] = (),
    then: Sequence[Command] = (),
    *,
    is_watched: bool,
) -> tuple[list[Reply], list[Reply]]:
    """Commit like `commit`, by a script of `guards` that writes if its condition holds; raise Overtaken if not.

    If keys are watched, it is sent between MULTI and EXEC. If not, Overtaken is also raised if the server refuses the
    script: nothing was written, and the longer way, which the caller takes then, gets the server's reason.
    """
    if is_watched:
        (reply,), read = _executed(connection, [script], announcements, then)
    else:
        replies = _sent(connection, [*announcements, script, *then])
        all_checked(replies[: len(announcements)])
        reply, read = replies[len(announcements)], replies[len(announcements) + 1 :]
        if isinstance(reply, Exception):
            raise Overtaken
    results: list[Reply] | None = checked(reply)
    if results is None:
        raise Overtaken
    return _whole(results), read


def watch_if(connection: Connection, unchanged: Unchanged) -> None:
    """Watch the documents of a condition, if they still are as they were read; raise Overtaken if not.

    On a cluster, in place of the script of `commit_if`: while a slot moves, a script is refused the keys that are not
    there yet, after it has written others. What is sent between MULTI and EXEC is refused as a whole.
    """
    documents = [str(command[1]) for command in unchanged.replies]
    _, *replies = all_checked(exchange(connection, [("WATCH", *documents), *unchanged.replies]))
    if replies != list(unchanged.replies.values()):
        raise Overtaken


def _whole(results: list[Reply]) -> list[Reply]:
    for result in results:
        if isinstance(result, Exception):
            raise StoreUnsuitable(
                "Redis applied only part of a transaction, since it refused one of the commands.",
                "Look at the keys with TYPE and delete one of a foreign type, which dcf did not make.",
            )
    return results


def _executed(
    connection: Connection,
    commands: Sequence[Command],
    announcements: Sequence[Command] = (),
    then: Sequence[Command] = (),
) -> tuple[list[Reply], list[Reply]]:
    """Send the announcements, the commands between MULTI and EXEC, and the reads. Return the replies, errors too."""
    replies = _sent(connection, [*announcements, ("MULTI",), *commands, ("EXEC",), *then])
    last = len(replies) - len(then)
    *queued, executed = replies[:last]
    all_checked(queued)
    results: list[Reply] | None = checked(executed)
    if results is None:
        raise Overtaken
    return results, replies[last:]


def _sent(connection: Connection, commands: Sequence[Command]) -> list[Reply]:
    try:
        return exchange(connection, commands)
    except CONNECTION_ERRORS as error:
        raise Unsure from error


def _pause(attempt: int) -> None:
    time.sleep(JITTER.uniform(0, min(0.001 * 2**attempt, 0.1)))
