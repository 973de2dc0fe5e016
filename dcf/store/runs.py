"""One door to Redis: `transact` reads, decides and commits in two round trips; nothing else writes a run.

First packet: WATCH, TIME and the reads. Second: MULTI, the changes, EXEC. What became of it: `attempts`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from dcf.core.decision import Decision, Reads, Remaining, Snapshot, Tally
from dcf.store.attempts import Attempts, commit
from dcf.store.connection import Connection, Connections, checked, exchange
from dcf.store.keys import RunKeys, decode_state
from dcf.store.reading import Reading
from dcf.store.writing import commit_commands, read_counts
from dcf.values.json_text import Json, load

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Generic[Answer_co]):
    """What came of a transaction: the answer, what it leaves to do, and how the scopes it added to stood after it."""

    answer: Answer_co
    remaining: Remaining = field(default_factory=Remaining)
    counts: Mapping[str, Tally] = field(default_factory=dict)


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
        """Name the keys of a run."""
        return RunKeys(workflow_id)

    def transact(self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]) -> Answer:
        """Read, decide, commit; again while somebody else was faster. Raise when the outcome stays unknown."""
        return self.commit(workflow_id, reads, decide).answer

    def commit(
        self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Committed[Answer]:
        """Do as `transact` does, and tell what is left to do and how the counts of scopes then stood."""
        reading = Reading(self.keys(workflow_id), reads)
        return self._attempts.until_done(lambda connection: self._once(connection, reading, decide))

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

    def _timed(self, snapshot: Snapshot) -> Snapshot:
        """Tell the time as tests may want it."""
        return snapshot if self._clock is None else replace(snapshot, now=self._clock(snapshot.now))

    def _once(
        self, connection: Connection, reading: Reading, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Committed[Answer]:
        replies = [checked(reply) for reply in exchange(connection, reading.opening())]
        snapshot = self._timed(reading.snapshot(replies))
        decision = decide(snapshot)
        if decision.changes is None:
            exchange(connection, [("UNWATCH",)])
            if decision.repeats:
                self._attempts.confirm(connection, reading.run.barrier)
            return Committed(answer=decision.answer)
        if self._before_commit is not None:
            self._before_commit()
        commands = commit_commands(reading.run, decision.changes)
        results = commit(connection, commands)
        self._attempts.confirm(connection, reading.run.barrier)
        counts = read_counts(reading.run, decision.changes, commands, results)
        return Committed(answer=decision.answer, remaining=decision.remaining, counts=counts)
