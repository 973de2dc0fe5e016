"""The only writer of runs: `transact` reads, decides and commits in two round trips.

First packet: WATCH, TIME and the reads. Second packet: index entries, MULTI, the changes, EXEC. `attempts` retries it.
Where an earlier commit has read the first along (`prefetched`), one packet is enough.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Final, Generic, TypeVar

from dcf import metrics
from dcf.core.documents import codec
from dcf.core.documents.decision import Decision, Notice, ReadSet, Remaining, Snapshot, Tally
from dcf.errors import DcfError, StoreUnavailable
from dcf.store.access.authors import current_account
from dcf.store.access.quotas import charge, refusal_in, reservation
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, all_checked, exchange
from dcf.store.events.history import happenings
from dcf.store.extensions import LISTS
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys, keys_of
from dcf.store.lists.elsewhere import ask
from dcf.store.transaction.attempts import Attempts, Ground, Overtaken, commit, commit_if, watch_if
from dcf.store.transaction.evaluation_marks import EvaluationMarks
from dcf.store.transaction.guards import Unchanged, guarded
from dcf.store.transaction.prefetched import WORTHWHILE_S, Prefetched, Prefetches, RoundTrips
from dcf.store.transaction.reading import Reading
from dcf.store.transaction.writing import announcements, commit_commands, read_counts
from dcf.values.json_text import Json, load
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

_log = logging.getLogger(__name__)

_FACTS: Final = ("definition_sha256", "input", "created_at", "project", "gates")
"""Members of meta that never change."""

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


@record(frozen=True, slots=True, kw_only=True)
class Committed(Generic[Answer_co]):
    """Result of a transaction: the answer, the follow-up work, and the counts after it of the scopes it added to.

    `notices` are the notifications that it put into the outbox, and `seen` the documents that it decided on. `outdated`
    are commands that remove stale entries from lists across runs. Readers of these lists expect stale entries, so
    nothing depends on the removal.
    """

    answer: Answer_co
    remaining: Remaining = field(default_factory=Remaining)
    counts: Mapping[str, Tally] = field(default_factory=dict)
    notices: Sequence[Notice] = ()
    seen: Snapshot | None = None
    outdated: Sequence[Command] = ()


@record(frozen=True, slots=True, kw_only=True)
class Look:
    """A snapshot of a run with its first open states, how many there are in all, and the id of its last event."""

    snapshot: Snapshot
    open_states: tuple[str, ...]
    open_count: int
    newest_event: str | None


def nothing_ahead(_: object) -> None:
    """Read nothing ahead."""


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
        one_packet_from_s: float = WORTHWHILE_S,
    ) -> None:
        self._connections = connections
        self.marks = EvaluationMarks(connections)
        self._attempts = Attempts(connections=connections, deadline_s=deadline_s, wait_replicas=wait_replicas)
        self._before_commit = before_commit
        self._clock = clock
        self._prefetches = Prefetches()
        self._trips = RoundTrips()
        self._one_packet_from_s = one_packet_from_s

    def keys(self, workflow_id: str) -> RunKeys:
        """Return the keys of a run."""
        return keys_of(workflow_id)

    def transact(self, workflow_id: str, reads: ReadSet, decide: Callable[[Snapshot], Decision[Answer]]) -> Answer:
        """Read, decide, commit; retry after a lost race. Raise UnknownOutcome if the outcome stays unknown."""
        return self.commit(workflow_id, reads, decide).answer

    def commit(
        self,
        workflow_id: str,
        reads: ReadSet,
        decide: Callable[[Snapshot], Decision[Answer]],
        ahead: Callable[[Answer], ReadSet | None] = nothing_ahead,
    ) -> Committed[Answer]:
        """Like `transact`, but also return the follow-up work and the counts of scopes after the commit.

        `ahead` tells from the answer what a transaction that probably follows will read; this is read with the commit.
        """
        prefetched = self._prefetches.take(workflow_id, reads)
        reading = self._reading(workflow_id, reads) if prefetched is None else prefetched.reading
        work = _Transaction(reading=reading, decide=decide, ahead=ahead)
        done = self._attempts.until_done(partial(self._once, work, [] if prefetched is None else [prefetched]))
        if done.outdated:
            self._take_off(done.outdated)
        return done

    def _take_off(self, outdated: Sequence[Command]) -> None:
        """Remove stale entries from lists after the commit; if Redis does not answer, a reader of the lists does."""
        try:
            ask(self._connections, *outdated)
        except StoreUnavailable as error:
            _log.debug("lists: %s", error.message)

    def create(
        self,
        workflow_id: str,
        reads: ReadSet,
        decide: Callable[[Snapshot], Decision[Answer]],
        size: Callable[[], int],
        ground: Ground | None = None,
    ) -> Committed[Answer | Refusal]:
        """Like `commit`, for a run that is to be created; `size` returns the bytes of its workflow and its input.

        Refuse a run beyond the quotas of the caller's key, in the packet that reads whether the run is there. A refusal
        of `ground` is the answer too.
        """
        account = current_account()
        if account is None and ground is None:
            return self.commit(workflow_id, reads, decide)
        work = _Transaction(reading=self._reading(workflow_id, reads), decide=decide)
        reserve = None if account is None else reservation(work.reading.form, work.reading.run, size(), account)
        return self._attempts.until_done(partial(self._created, work, ground, reserve))

    def read(self, workflow_id: str, reads: ReadSet) -> Snapshot:
        """Return the snapshot that a decision would get, without WATCH."""
        reading = self._reading(workflow_id, reads)
        return self._timed(reading.snapshot(self._connections.send(*reading.commands())))

    def read_surely(self, workflow_id: str, reads: ReadSet) -> Snapshot:
        """Return what `read` does, once enough replicas have it: before a dependent write to another node of a cluster.

        One server needs no such wait: its replicas have what was read before they have what is written after it.
        """
        if self._connections.shards == 1:
            return self.read(workflow_id, reads)
        reading = self._reading(workflow_id, reads)
        return self._timed(reading.snapshot(self._attempts.surely(reading.commands(), reading.run.barrier)))

    def look(self, workflow_id: str, reads: ReadSet, most: int) -> "Look":
        """Return what `read` does, at most `most` of the first open states, and the last event, in one round trip."""
        run = self.keys(workflow_id)
        reading = self._reading(workflow_id, reads)
        # The event comes first: a commit in between is then reported twice, and never missed.
        first: Command = ("XREVRANGE", run.events, "+", "-", "COUNT", 1)
        listing: list[Command] = [("ZRANGE", run.timers, 0, most - 1), ("ZCARD", run.timers)]
        newest, *replies, listed, count = self._connections.send(first, *reading.commands(), *listing)
        last = [happening.event_id for entry in newest for happening in happenings(*entry)]
        return Look(
            snapshot=self._timed(reading.snapshot(replies)),
            open_states=tuple(decode_state(part.decode()) for part in listed),
            open_count=count,
            newest_event=last[-1] if last else None,
        )

    def open_states(self, workflow_id: str) -> tuple[str, ...]:
        """Return the paths of a run's open states, ordered by when they next need attention."""
        (timers,) = self._connections.send(("ZRANGE", self.keys(workflow_id).timers, 0, -1))
        return tuple(decode_state(part.decode()) for part in timers)

    def scopes(self, workflow_id: str) -> dict[str, int]:
        """Return every Parallel and Map that was ever opened in a run, with the most branches or iterations it had."""
        (scored,) = self._connections.send(("ZRANGE", self.keys(workflow_id).scopes, 0, -1, "WITHSCORES"))
        return {decode_state(p.decode()): int(float(n)) for p, n in zip(scored[::2], scored[1::2], strict=True)}

    def definition(self, workflow_id: str) -> tuple[Json, Mapping[str, Json]] | None:
        """Return the stored workflow and the run's fixed facts (definition_sha256, input, created_at); None: no run.

        The fact `secret` is what its task tokens are made with, if it has any; `gates` those of all of its Tasks.
        """
        run = self.keys(workflow_id)
        form = self._connections.form
        commands: list[Command] = [form.read(run.definition), form.members(run.meta, _FACTS), ("GET", run.secret)]
        facts = self._facts(form, self._connections.send(*commands))
        if facts is None and self._attempts.wait_replicas:
            facts = self._facts(form, self._attempts.surely(commands, run.barrier))
        return facts

    @staticmethod
    def _facts(form: DocumentForm, replies: Sequence[Reply]) -> tuple[Json, Mapping[str, Json]] | None:
        definition, meta, secret = replies
        text, facts = form.text(definition), form.values(_FACTS, meta)
        if text is None or facts is None:
            return None
        named = {str(name): value for name, value in facts.items()}
        return codec.whole_definition(load(text)), named | ({} if secret is None else {"secret": secret.decode()})

    def units(self, workflow_id: str, since: str = "-") -> list[tuple[str, Json]]:
        """Return the documents of the units of a run, in the order in which they were added, by the ids of entries.

        `since` is the id of the first that is returned.
        """
        (entries,) = self._connections.send(("XRANGE", self.keys(workflow_id).units, since, "+"))
        return [(entry.decode(), load(fields[1])) for entry, fields in entries]

    def _reading(self, workflow_id: str, reads: ReadSet) -> Reading:
        return Reading(self._connections.form, self.keys(workflow_id), reads)

    def _in_current_form(self, work: "_Transaction[Answer]") -> "_Transaction[Answer]":
        """Return a transaction as it must be attempted now: after a failover another form may be known than before."""
        form, reading = self._connections.form, work.reading
        return work if reading.form is form else replace(work, reading=Reading(form, reading.run, reading.reads))

    def _timed(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time that a test may have set."""
        return snapshot if self._clock is None else replace(snapshot, now=self._clock(snapshot.now))

    def _created(
        self, work: "_Transaction[Answer]", ground: Ground | None, reserve: Command | None, connection: Connection
    ) -> Committed[Answer | Refusal]:
        work = self._in_current_form(work)
        refusal = None if ground is None else ground(connection)
        if refusal is None:
            refusal, replies = self._reserved(reserve, work.reading.opening(), connection)
            if refusal is None:
                return self._decided(work, replies, connection)
        self._attempts.let_go(connection, work.reading.run.barrier)
        return Committed(answer=refusal)

    def _reserved(
        self, reserve: Command | None, opening: list[Command], connection: Connection
    ) -> tuple[Refusal | None, list[Reply]]:
        """Enter the run for its key, if there is one, and open the transaction."""
        if reserve is None:
            return None, exchange(connection, opening)
        if self._connections.shards == 1:
            reply, *replies = exchange(connection, [reserve, *opening])
        else:  # the counts of the key are in another slot than the run
            (reply,), replies = ask(self._connections, reserve), exchange(connection, opening)
        return refusal_in(reply), replies

    def _once(
        self, work: "_Transaction[Answer]", prefetched: list[Prefetched], connection: Connection
    ) -> Committed[Answer]:
        if prefetched:
            done = self._in_one_packet(work, prefetched.pop(), connection)
            if done is not None:
                return done
        work = self._in_current_form(work)
        began = time.monotonic()
        replies = exchange(connection, work.reading.opening())
        self._trips.note(time.monotonic() - began)
        return self._decided(work, replies, connection)

    def _in_one_packet(
        self, work: "_Transaction[Answer]", prefetched: Prefetched, connection: Connection
    ) -> Committed[Answer] | None:
        """Decide on prefetched data, and commit if it is unchanged. Return None if it changed, or without writes.

        An answer without writes must rest on the present data.
        """
        snapshot = prefetched.snapshot()
        try:
            decision = work.decide(snapshot)
        except DcfError:
            return None
        if decision.changes is None:
            return None
        try:
            return self._written(
                work, snapshot, decision, prefetched.unchanged(snapshot.now), connection, is_watched=False
            )
        except Overtaken:
            return None

    def _decided(self, work: "_Transaction[Answer]", replies: list[Reply], connection: Connection) -> Committed[Answer]:
        snapshot = work.reading.snapshot(all_checked(replies))
        try:
            decision = work.decide(snapshot if self._clock is None else self._timed(snapshot))
        except DcfError:  # an answer too, which is confirmed as well
            self._attempts.let_go(connection, work.reading.run.barrier)
            raise
        if decision.changes is None:
            self._attempts.let_go(connection, work.reading.run.barrier)
            return Committed(answer=decision.answer)
        if not work.reading.has_page:
            return self._written(work, snapshot, decision, None, connection)
        guards = work.reading.guards(replies, decision.changes)
        unmarked = work.reading.unmarked(replies, decision.changes)
        return self._written(work, snapshot, decision, guards, connection, unmarked=unmarked)

    def _written(
        self,
        work: "_Transaction[Answer]",
        snapshot: Snapshot,
        decision: Decision[Answer],
        unchanged: Unchanged | None,
        connection: Connection,
        *,
        is_watched: bool = True,
        unmarked: Sequence[Command] = (),
    ) -> Committed[Answer]:
        changes, run = decision.changes, work.reading.run
        assert changes is not None, "checked by the caller"
        if self._before_commit is not None:
            self._before_commit()
        may_expire = snapshot.meta is not None and snapshot.meta.may_expire
        commands = commit_commands(work.reading.form, run, changes, keep_expiry=may_expire)
        shards = self._connections.shards
        announced, account = [*announcements(run, changes, snapshot, shards), *unmarked], current_account()
        if account is not None:
            announced.append(charge(work.reading.form, run, commands, len(changes.events), account))
        if unchanged is not None and self._connections.shards > 1:
            watch_if(connection, unchanged)
            unchanged = None
        following = self._following(run, work, decision.answer)
        then = () if following is None else following[1].commands()
        if unchanged is None:
            results, read = commit(connection, commands, announced, then)
        else:
            script = guarded(commands, unchanged, run.meta)
            results, read = commit_if(connection, script, announced, then, is_watched=is_watched)
        if following is not None:
            self._prefetches.keep(run.workflow_id, *following, read)
        self._attempts.confirm(connection, run.barrier)
        if metrics.current is not None:
            metrics.current.committed(run.workflow_id, changes, snapshot.now)
        counts = read_counts(run, changes, commands, results) if changes.ended else {}
        outdated: list[Command] = []
        for ended in LISTS.ended:  # plain, since each commit comes here
            outdated += ended(run, changes, snapshot)
        return Committed(
            answer=decision.answer,
            remaining=decision.remaining,
            counts=counts,
            notices=changes.notices,
            seen=snapshot,
            outdated=outdated,
        )

    def _following(self, run: RunKeys, work: "_Transaction[Answer]", answer: Answer) -> tuple[ReadSet, Reading] | None:
        is_near = self._trips.shortest_s < self._one_packet_from_s
        if is_near or self._clock is not None or self._connections.shards > 1:
            return None
        reads = work.ahead(answer)
        return None if reads is None else (reads, Reading(self._connections.form, run, reads))


@record(frozen=True, slots=True, kw_only=True)
class _Transaction(Generic[Answer]):
    """One transaction: its first packet, the decision, and what a transaction that follows will read."""

    reading: Reading
    decide: Callable[[Snapshot], Decision[Answer]]
    ahead: Callable[[Answer], ReadSet | None] = nothing_ahead
