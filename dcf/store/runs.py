"""The only writer of runs: `transact` reads, decides and commits in two round trips.

First packet: WATCH, TIME and the reads. Second packet: index entries, MULTI, the changes, EXEC. `attempts` retries it.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Generic, TypeVar

from dcf.core import codec
from dcf.core.decision import Decision, Reads, Remaining, Snapshot, Tally
from dcf.errors import DcfError
from dcf.store.attempts import Attempts, commit
from dcf.store.authors import current_account
from dcf.store.connection import Command, Connection, Connections, Reply, all_checked, exchange
from dcf.store.keys import RunKeys, decode_state, keys_of
from dcf.store.quotas import charge, refusal_in, reservation
from dcf.store.reading import Reading
from dcf.store.writing import announcements, commit_commands, read_counts
from dcf.values.json_text import Json, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


@record(frozen=True, slots=True, kw_only=True)
class Committed(Generic[Answer_co]):
    """Result of a transaction: the answer, the follow-up work, and the counts after it of the scopes it added to.

    `owes`: it put notifications into the outbox.
    """

    answer: Answer_co
    remaining: Remaining = field(default_factory=Remaining)
    counts: Mapping[str, Tally] = field(default_factory=dict)
    owes: bool = False


class RunStore:
    """The documents of runs in Redis."""

    def __init__(
        self,
        connections: Connections,
        *,
        deadline_s: float = 10.0,
        wait_replicas: int = 0,
        before_commit: Callable[[], None] | None = None,
        clock: Callable[[int], int] | None = None,
    ) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, deadline_s=deadline_s, wait_replicas=wait_replicas)
        self._before_commit = before_commit
        self._clock = clock

    def keys(self, workflow_id: str) -> RunKeys:
        """Return the keys of a run."""
        return keys_of(workflow_id)

    def transact(self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]) -> Answer:
        """Read, decide, commit; retry after a lost race. Raise UnknownOutcome if the outcome stays unknown."""
        return self.commit(workflow_id, reads, decide).answer

    def commit(
        self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Committed[Answer]:
        """Like `transact`, but also return the follow-up work and the counts of scopes after the commit."""
        reading = Reading(self.keys(workflow_id), reads)
        return self._attempts.until_done(partial(self._once, reading, decide))

    def create(
        self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]], size: Callable[[], int]
    ) -> Committed[Answer | Refusal]:
        """Like `commit`, for a run that is to be created; `size` is asked for the bytes of its workflow and its input.

        Refuse a run beyond the quotas of the caller's key, in the packet that reads whether the run is there.
        """
        reading, account = Reading(self.keys(workflow_id), reads), current_account()
        if account is None:
            return self._attempts.until_done(partial(self._once, reading, decide))
        reserve = reservation(reading.run, size(), account)
        return self._attempts.until_done(partial(self._reserved, reading, decide, reserve))

    def read(self, workflow_id: str, reads: Reads) -> Snapshot:
        """Return the snapshot that a decision would get, without WATCH."""
        reading = Reading(self.keys(workflow_id), reads)
        return self._timed(reading.snapshot(self._connections.send(*reading.commands())))

    def open_states(self, workflow_id: str) -> tuple[str, ...]:
        """Return the paths of a run's open states, ordered by when they next need attention."""
        (found,) = self._connections.send(("ZRANGE", self.keys(workflow_id).timers, 0, -1))
        return tuple(decode_state(part.decode()) for part in found)

    def scopes(self, workflow_id: str) -> dict[str, int]:
        """Return every Parallel and Map that was ever opened in a run, with the most branches or iterations it had."""
        (found,) = self._connections.send(("ZRANGE", self.keys(workflow_id).scopes, 0, -1, "WITHSCORES"))
        return {decode_state(p.decode()): int(float(n)) for p, n in zip(found[::2], found[1::2], strict=True)}

    def definition(self, workflow_id: str) -> tuple[Json, Mapping[str, Json]] | None:
        """Return the stored workflow and the run's fixed facts (definition_sha256, input, created_at); None: no run."""
        run = self.keys(workflow_id)
        facts = ("$.definition_sha256", "$.input", "$.created_at")
        commands: list[Command] = [("JSON.GET", run.definition, "$"), ("JSON.GET", run.meta, *facts)]
        found, meta = self._connections.send(*commands)
        if (found is None or meta is None) and self._attempts.wait_replicas:
            found, meta = self._attempts.surely(commands, run.barrier)
        if found is None or meta is None:
            return None
        return codec.whole_definition(load(found)[0]), {
            path[2:]: values[0] for path, values in load(meta).items() if values
        }

    def _timed(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time that a test may have set."""
        return snapshot if self._clock is None else replace(snapshot, now=self._clock(snapshot.now))

    def _reserved(
        self,
        reading: Reading,
        decide: Callable[[Snapshot], Decision[Answer]],
        reserve: Command,
        connection: Connection,
    ) -> Committed[Answer | Refusal]:
        reply, *replies = exchange(connection, [reserve, *reading.opening()])
        refusal = refusal_in(reply)
        if refusal is None:
            return self._decided(connection, reading, decide, replies)
        self._attempts.let_go(connection, reading.run.barrier)
        return Committed(answer=refusal)

    def _once(
        self, reading: Reading, decide: Callable[[Snapshot], Decision[Answer]], connection: Connection
    ) -> Committed[Answer]:
        return self._decided(connection, reading, decide, exchange(connection, reading.opening()))

    def _decided(
        self,
        connection: Connection,
        reading: Reading,
        decide: Callable[[Snapshot], Decision[Answer]],
        replies: list[Reply],
    ) -> Committed[Answer]:
        snapshot = reading.snapshot(all_checked(replies))
        try:
            decision = decide(snapshot if self._clock is None else self._timed(snapshot))
        except DcfError:  # an answer too, which is confirmed as well
            self._attempts.let_go(connection, reading.run.barrier)
            raise
        if decision.changes is None:
            self._attempts.let_go(connection, reading.run.barrier)
            return Committed(answer=decision.answer)
        if self._before_commit is not None:
            self._before_commit()
        commands = commit_commands(reading.run, decision.changes)
        announced, account = announcements(reading.run, decision.changes, snapshot), current_account()
        announced += reading.unmarked(replies, decision.changes)
        if account is not None:
            announced.append(charge(reading.run, commands, len(decision.changes.events), account))
        results = commit(connection, commands, announced, reading.guards(replies, decision.changes))
        self._attempts.confirm(connection, reading.run.barrier)
        counts = read_counts(reading.run, decision.changes, commands, results) if decision.changes.ended else {}
        owes = bool(decision.changes.notices)
        return Committed(answer=decision.answer, remaining=decision.remaining, counts=counts, owes=owes)
