"""One door to Redis: `transact` reads, decides and commits in two round trips; nothing else writes a run.

First packet: WATCH, TIME and the reads. Second: MULTI, the changes, EXEC. A lost race or a broken connection runs
the decision again with jitter until the deadline; then the outcome is unknown, never "failed".
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from dcf.core.decision import Changes, Decision, Reads, Snapshot, Tally
from dcf.core.json_text import Json, load
from dcf.errors import Conflict, DcfError, StoreUnsuitable, UnknownOutcome
from dcf.store.connection import (
    CONNECTION_ERRORS,
    Command,
    Connection,
    Connections,
    Reply,
    checked,
    exchange,
    is_refused_login,
    unavailable,
)
from dcf.store.keys import RunKeys, decode_state
from dcf.store.reading import Reading
from dcf.store.writing import commit_commands, read_counts

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)

_WAIT_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Generic[Answer_co]):
    """What came of a transaction: the answer, what was written if anything, and how scopes stood after it."""

    answer: Answer_co
    changes: Changes | None = None
    counts: Mapping[str, Tally] = field(default_factory=dict)


class RunStore:
    """The documents of runs in Redis."""

    def __init__(
        self,
        connections: Connections,
        *,
        clustered: bool = False,
        deadline_s: float = 10.0,
        wait_replicas: int = 0,
        before_commit: Callable[[], None] | None = None,
        clock: Callable[[int], int] | None = None,
    ) -> None:
        self._connections = connections
        self._clustered = clustered
        self._deadline_s = deadline_s
        self._wait_replicas = wait_replicas
        self._before_commit = before_commit
        self._clock = clock

    def keys(self, workflow_id: str) -> RunKeys:
        """Name the keys of a run."""
        return RunKeys(workflow_id, self._clustered)

    def transact(self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]) -> Answer:
        """Read, decide, commit; again while somebody else was faster. Raise when the outcome stays unknown."""
        return self.commit(workflow_id, reads, decide).answer

    def commit(
        self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Committed[Answer]:
        """Do as `transact` does, and tell what was written and how the counts of scopes then stood."""
        reading = Reading(self.keys(workflow_id), reads)
        deadline = time.monotonic() + self._deadline_s
        attempt, doubt = 0, None
        while True:
            try:
                committed = self._once(reading, decide)
                if committed is not None:
                    return committed
            except _Unsure as error:
                doubt = error
                self._recover(in_doubt=True)
            except CONNECTION_ERRORS as error:
                if doubt is None and (is_refused_login(error) or time.monotonic() >= deadline):
                    raise unavailable(error) from None
                self._recover(in_doubt=doubt is not None)
            attempt += 1
            if time.monotonic() >= deadline:
                raise _gave_up(doubt)
            _pause(attempt)

    def read(self, workflow_id: str, reads: Reads) -> Snapshot:
        """Take the same view that a decision would get, without watching or writing anything."""
        reading = Reading(self.keys(workflow_id), reads)
        return self._timed(reading.snapshot(self._connections.send(*reading.commands())))

    def open_states(self, workflow_id: str) -> tuple[str, ...]:
        """List the paths of a run's open states, by when they next need attention."""
        (found,) = self._connections.send(("ZRANGE", self.keys(workflow_id).timers, 0, -1))
        return tuple(decode_state(part.decode()) for part in found)

    def scopes(self, workflow_id: str) -> dict[str, int]:
        """List every Parallel and Map that was ever opened in a run, with the most branches or iterations it had."""
        (found,) = self._connections.send(("ZRANGE", self.keys(workflow_id).scopes, 0, -1, "WITHSCORES"))
        return {decode_state(p.decode()): int(float(n)) for p, n in zip(found[::2], found[1::2], strict=True)}

    def definition(self, workflow_id: str) -> tuple[Json, Mapping[str, Json]] | None:
        """Fetch the stored workflow and its run's fixed facts (definition_sha256, input, created_at); None: no run."""
        run = self.keys(workflow_id)
        facts = ("$.definition_sha256", "$.input", "$.created_at")
        found, meta = self._connections.send(("JSON.GET", run.definition, "$"), ("JSON.GET", run.meta, *facts))
        if found is None or meta is None:
            return None
        return load(found)[0], {path[2:]: values[0] for path, values in load(meta).items() if values}

    def _recover(self, *, in_doubt: bool) -> None:
        """While it is unclear whether a commit took effect, no other trouble may be told in its place."""
        try:
            self._connections.recover()
        except DcfError:
            if not in_doubt:
                raise

    def _timed(self, snapshot: Snapshot) -> Snapshot:
        """Tell the time as tests may want it."""
        return snapshot if self._clock is None else replace(snapshot, now=self._clock(snapshot.now))

    def _once(self, reading: Reading, decide: Callable[[Snapshot], Decision[Answer]]) -> Committed[Answer] | None:
        """Try once; None when somebody else was faster."""
        with self._connections.one() as connection:
            replies = [checked(reply) for reply in exchange(connection, reading.opening())]
            snapshot = self._timed(reading.snapshot(replies))
            decision = decide(snapshot)
            if decision.changes is None:
                exchange(connection, [("UNWATCH",)])
                if decision.repeats:
                    self._wait_for_replicas(connection, reading.run)
                return Committed(answer=decision.answer)
            if self._before_commit is not None:
                self._before_commit()
            commands = commit_commands(reading.run, decision.changes)
            results = _commit(connection, commands)
            if results is None:
                return None
            self._wait_for_replicas(connection, reading.run)
            counts = read_counts(reading.run, decision.changes, commands, results)
            return Committed(answer=decision.answer, changes=decision.changes, counts=counts)

    def _wait_for_replicas(self, connection: Connection, run: RunKeys) -> None:
        """Answer only what enough replicas have, so that a failover cannot take it back.

        WAIT counts the writes of its own connection, hence the small write before it: a repeated reply may come over
        another connection than the commit did (reliability notes, section 2).
        """
        if self._wait_replicas == 0:
            return
        barrier: list[Command] = [("SET", run.barrier, "1"), ("WAIT", self._wait_replicas, _WAIT_MS)]
        try:
            _, acknowledged = exchange(connection, barrier)
        except CONNECTION_ERRORS as error:
            raise _Unsure from error
        if checked(acknowledged) < self._wait_replicas:
            raise _Unsure


class _Unsure(Exception):
    """The commit was sent and its reply was lost."""


def _commit(connection: Connection, commands: list[Command]) -> list[Reply] | None:
    try:
        replies = exchange(connection, [("MULTI",), *commands, ("EXEC",)])
    except CONNECTION_ERRORS as error:
        raise _Unsure from error
    for queued in replies[:-1]:
        checked(queued)
    results: list[Reply] | None = checked(replies[-1])
    if results is None:
        return None
    if any(isinstance(result, Exception) for result in results):
        raise StoreUnsuitable(
            "Redis applied only part of a transaction, since a key of this run has a foreign type.",
            "Look at the run's keys with TYPE and delete the one that dcf did not make.",
        )
    return results


def _gave_up(doubt: Exception | None) -> DcfError:
    if doubt is not None:
        return UnknownOutcome("It is not known whether the write took effect.")
    return Conflict("Others kept changing the same documents until the deadline passed; nothing was written.")


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, min(0.001 * 2**attempt, 0.1)))  # nosec B311 # noqa: S311 - jitter, not a secret
