"""The operations on a run: each names the documents that it reads and the pure decision about them.

This module must not make decisions or send Redis commands: `transactions` carries a decision out, and `follow_ups` does
the work that remains. States are given by name or, inside Parallel and Map, by path.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from dcf import metrics
from dcf.asl.machine import Place, Wait
from dcf.asl.state_paths import name_of
from dcf.core.completing import batch, progress
from dcf.core.completing.batch import Answers, Decided
from dcf.core.completing.joining import completer_of, with_joined
from dcf.core.completing.updates import Update
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.answers import Created, Finalized, Leased, NothingReady, Owed, Released, Updated
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.refusals import unless_full
from dcf.core.documents.usage import BilledTurn
from dcf.core.extensions import EXTENSIONS, Ending
from dcf.core.leasing import attention, healing, lease
from dcf.core.leasing.extensions import LEASING
from dcf.core.leasing.lost_leases import LostLease
from dcf.core.lifecycle import creation, finalization, growing_timeouts, kickoff
from dcf.errors import UnknownState
from dcf.ports import ItemSource, NoItems
from dcf.runs.admitting import UNNAMED, Admitting
from dcf.runs.claims import Claims
from dcf.runs.follow_ups import FollowUps, TellAtOnce
from dcf.runs.known_ready import KnownReady
from dcf.runs.limiting import LeaseLimits
from dcf.runs.operating import Operations
from dcf.runs.transactions import Run, Transactions, with_secret
from dcf.store.access.authors import current_account, current_author
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import Committed, RunStore
from dcf.values.records import replace
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")
Request = TypeVar("Request", lease.Acquire, lease.Renew, lease.Release, Update)

_ALL = 1_000_000
_NO_ITEMS = NoItems()

_ENDINGS: Mapping[str, Ending] = {
    "exhausted": progress.exhaust,
    "timed_out": progress.time_out,
    "waited": progress.wake,
}
"""Operation on a state, by the outcome of the timer loop's check, unless a capability has one."""


class ControlPlane:
    """Create, read, lease, write and close runs. Its only state is a cache of definitions.

    Others use its `transactions` and `follow_ups`. It calls `after_usage` with a run's id once usage was reported.
    """

    limits: LeaseLimits | None = None
    after_usage: Callable[[str, Sequence[BilledTurn]], object] | None = None

    def __init__(self, store: RunStore, index: RunIndex, items: ItemSource = _NO_ITEMS) -> None:
        self._store = store
        self._index = index
        self.transactions = Transactions(store)
        self.follow_ups = FollowUps(self.transactions, items)
        self.operations = Operations(self.transactions, self.follow_ups)
        self.admitting = Admitting(self.transactions, self.follow_ups, self._end_by_itself)
        self._claims = Claims(self.transactions, self._acquire)
        self._known = KnownReady()

    def hand_over_to(self, hand_over: Callable[[str], object], at_once: TellAtOnce | None = None) -> None:
        """From now on call this with a run's id after each commit with notifications; it must return at once.

        `at_once` is called before, with the states that a completion made ready for other agents.

        Without it, and for `kick_off`, whose caller delivers, the timer loop delivers them in its next pass.
        """
        self.follow_ups.hand_over, self.follow_ups.at_once = hand_over, at_once

    def create(self, request: creation.Create) -> Created | Refusal:
        """Create a run. Repeating the same request returns the run that exists."""
        request = with_secret(request)
        decide = partial(creation.create, request=request)
        committed = self._store.create(request.workflow_id, ReadSet(whole_meta=True), decide, request.size)
        return self.follow_ups.after_creation(request, committed)

    def run(self, workflow_id: str) -> Run:
        """Return the fixed part of the run that exists now. Raise UnknownRun if there is none."""
        return self.transactions.current_run(workflow_id)

    def path(self, workflow_id: str, state: str) -> str:
        """Return the path of the state that a caller gave by name or path."""
        return self.transactions.path(workflow_id, state)

    def place(self, workflow_id: str, state: str) -> Place:
        """Return a state's position in its workflow. Raise UnknownState if there is none of this name or path."""
        return self.transactions.place(workflow_id, state)

    def read(
        self,
        workflow_id: str,
        states: tuple[str, ...] | None = None,
        *,
        whole_meta: bool = True,
        with_data: bool = True,
    ) -> Snapshot:
        """Return a run's current documents: of the given states, or of all states and of what is open inside them.

        `with_data`: inputs and outputs as well.
        """
        run = self.transactions.run(workflow_id)
        while True:
            paths = self._paths(workflow_id, run, states)
            missing = next((path for path in paths if needs.place_of(run.definition, path) is None), None)
            around = with_scopes(paths)
            data = paths if with_data else ()
            reads = ReadSet(
                states=around, inputs=data, outputs=data, agents=paths, whole_meta=whole_meta, usage=whole_meta
            )
            snapshot = self._store.read(workflow_id, reads)
            if snapshot.meta is not None and run.is_that_of(snapshot.meta):
                break
            run = self.transactions.load(workflow_id)
        if missing is not None:
            raise UnknownState(workflow_id, missing)
        # Keyed by the names that the caller used, without the documents that were read only to judge the scopes.
        shown = fenced(snapshot)
        names = dict(zip(paths, states, strict=True)) if states is not None else dict(zip(paths, paths, strict=True))
        return replace(
            shown,
            states={name: shown.states[path] for path, name in names.items() if path in shown.states},
            inputs={name: shown.inputs[path] for path, name in names.items() if path in shown.inputs},
            outputs={name: shown.outputs[path] for path, name in names.items() if path in shown.outputs},
        )

    def acquire(self, workflow_id: str, request: lease.Acquire) -> Leased | Refusal:
        """Grant the lease on a state, or refuse it."""
        request = replace(request, closed=self.admitting.closure(request.owner))
        if self.limits is None or not self.limits.are_any:
            return self._acquire(workflow_id, request)
        placed = replace(request, state=self.path(workflow_id, request.state))
        project = self.transactions.run(workflow_id).project
        return self.limits.acquire(workflow_id, project, placed, lambda: self._acquire(workflow_id, placed))

    def _acquire(self, workflow_id: str, request: lease.Acquire) -> Leased | Refusal:
        path = self.path(workflow_id, request.state)
        answer = self.admitting.acquire(workflow_id, path, request)
        if metrics.current is not None and isinstance(answer, Refusal):
            metrics.current.refused(answer.code)
        if isinstance(answer, Refusal) and answer.code == "attempts_exhausted":
            self.exhaust(workflow_id, path)
        return answer

    def renew(self, workflow_id: str, request: lease.Renew) -> Leased | Refusal:
        """Extend the lease."""
        path = self.path(workflow_id, request.state)
        decide = partial(lease.renew, request=_at(path, request))
        reads = ReadSet(states=with_scopes([path]))
        done: Committed[Leased | Refusal] = self.transactions.on_state(workflow_id, path, reads, decide)
        return done.answer

    def release(self, workflow_id: str, request: lease.Release) -> Released | Refusal:
        """Release the lease, so that another agent can take the state."""
        path = self.path(workflow_id, request.state)
        decide = self.transactions.if_read(workflow_id, path, partial(lease.release, request=_at(path, request)))
        reads = ReadSet(states=with_scopes([path]))
        done: Committed[Released | Refusal] = self.transactions.on_state(workflow_id, path, reads, decide)
        self.follow_ups.deliver(workflow_id, done)
        return done.answer

    def claim(self, workflow_id: str, wish: lease.Acquire) -> Leased | NothingReady | Refusal:
        """Claim: lease the next ready states that this agent may take, as many as it wishes for."""
        wish = wish if wish.only_held else replace(wish, closed=self.admitting.closure(wish.owner))
        if wish.only_held or wish.closed is not None or self.limits is None or not self.limits.are_any:
            return self._claims.claim(workflow_id, wish)
        project = self.transactions.run(workflow_id).project
        return self.limits.claim(workflow_id, project, wish, partial(self._claims.claim, workflow_id))

    def update(self, workflow_id: str, request: Update) -> Updated | Refusal:
        """Apply a lease holder's write. A completion also enters the next states, in the same transaction."""
        (answer,) = self.update_all(workflow_id, (request,))
        return answer

    def update_all(self, workflow_id: str, requests: Sequence[Update]) -> Answers:
        """Apply the writes of the holder of several leases of a run, in order and in one transaction.

        Each is answered as if it came alone; what follow-up work brought is part of the last answer.
        """
        requests = self.admitting.unless_closed(workflow_id, requests)
        if self.limits is None or requests[-1].claim_ttl_s is None or not self.limits.are_any:
            return self._update_all(workflow_id, requests)
        project, claim = self.transactions.run(workflow_id).project, partial(self.claim, workflow_id)
        return self.limits.update_all(project, requests, partial(self._update_all, workflow_id), claim)

    def _update_all(self, workflow_id: str, requests: Sequence[Update]) -> Answers:
        query = [self._identified(workflow_id, request) for request in requests]
        owner = query[-1].owner or ""

        def reads(run: Run) -> ReadSet:
            needed = needs.to_update_all(run.definition, query)
            known = () if needed.open_states is None else self._known.take(workflow_id, needed.seeker)
            return needs.by_name(needed, known)

        def decide(run: Run, snapshot: Snapshot) -> Decided:
            is_judged = run.definition.is_gated  # as it is now: a unit with gates may have been added since
            sent = [replace(update, caller=current_author()) for update in query] if is_judged else query
            decision = _update(sent, run, snapshot)
            if isinstance(decision.answer, More) and decision.answer.page:
                self._known.forget(workflow_id, owner)
            return decision

        committed: Committed[Answers] = self.transactions.by_definition(
            workflow_id,
            reads,
            decide,
            *[request.state for request in query],
            ahead=lambda run, answers: needs.to_update_next(run.definition, query, answers),
        )
        self._known.keep(workflow_id, owner, committed.answer)
        if self.after_usage is not None and (reports := [update.usage for update in query if update.usage is not None]):
            self.after_usage(workflow_id, [report.turn for report in reports if report.turn is not None])
        return self._followed_up(workflow_id, query, committed)

    def exhaust(self, workflow_id: str, path: str) -> None:
        """Fail a state that has used up its attempts; do nothing if that is no longer the case."""
        self._end_by_itself(workflow_id, path, progress.exhaust)

    def kick_off(self, workflow_id: str, reason: str) -> Owed | Refusal:
        """Start a run: put the notifications of its first states into the outbox."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[Owed | Refusal]:
            return kickoff.kick_off(snapshot, reason, run.definition.machine.timeout_s)

        reads = ReadSet(open_states=(0, _ALL), whole_meta=True)
        done: Committed[Owed | Refusal] = self.transactions.by_definition(workflow_id, lambda _: reads, decide)
        return done.answer

    def look(self, workflow_id: str, path: str) -> Owed:
        """Handle the due timer of an open state. Called by the clock."""
        reads = ReadSet(states=with_scopes([path]), timers=(path,), parts=LEASING.look_reads)

        def looked(excusable: Mapping[str, str]) -> LostLease | Owed:
            decide = self.transactions.if_read(
                workflow_id, path, lambda snapshot: attention.look(fenced(snapshot), path, excusable)
            )
            return self._store.transact(workflow_id, reads, decide)

        answer = self.admitting.judged(workflow_id, looked)
        assert not isinstance(answer, LostLease), UNNAMED
        fired = answer.fired or ""
        ending = EXTENSIONS.endings.get(fired) or _ENDINGS.get(fired)
        if ending is not None:
            self._end_by_itself(workflow_id, path, ending, answer.size)
        if answer.fired == "scope":
            self.follow_ups.look(workflow_id, path)
        return answer

    def hasten(self, workflow_id: str, state: str) -> Owed:
        """Make a ready state due now, so that the timer loop announces it again."""
        path = self.path(workflow_id, state)
        decide = partial(attention.hasten, state=path)
        return self.transactions.on_state(workflow_id, path, ReadSet(states=with_scopes([path])), decide).answer

    def heal(self, workflow_id: str) -> int:
        """Correct times too far ahead since the server clock stepped back, state by state; return of how many."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[bool]:
            return kickoff.heal_deadline(snapshot, run.definition.machine.timeout_s)

        self.transactions.by_definition(workflow_id, lambda _: ReadSet(whole_meta=True), decide)
        definition = self.transactions.run(workflow_id).definition
        return sum(self._heal(workflow_id, definition, path) for path in self._store.open_states(workflow_id))

    def announce_again(self, workflow_id: str, names: Collection[str]) -> None:
        """Make these states due now if they are open, so that they are announced again. The run must be started."""
        meta = self.read(workflow_id, (), whole_meta=False).meta if names else None
        if meta is None or not meta.is_started:
            return
        for path in self._store.open_states(workflow_id):
            if name_of(path) in names:
                self.hasten(workflow_id, path)

    def time_out(self, workflow_id: str) -> None:
        """Fail a run whose time has passed, or pause an open run. Called by the timer loop."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[RunStatus | None]:
            if run.definition.units is not None:
                return growing_timeouts.pause_overdue(snapshot)
            return progress.time_out_run(snapshot, run.definition)

        committed = self.transactions.by_definition(workflow_id, lambda _: ReadSet(whole_meta=True), decide)
        self.follow_ups.after(workflow_id, committed)

    def finalize(self, workflow_id: str, request: finalization.Finalize) -> Finalized | Refusal:
        """Close the run and write its audit record, once. A repetition closes what a crashed server left open."""

        def reads(run: Run) -> ReadSet:
            return ReadSet(states=run.definition.paths, whole_meta=True, audit=True, usage=True)

        def decide(_: Run, snapshot: Snapshot) -> Decision[Finalized | Refusal]:
            return finalization.finalize(snapshot, request)

        done: Committed[Finalized | Refusal] = self.transactions.by_definition(workflow_id, reads, decide)
        if request.close_open_states and isinstance(done.answer, Finalized):
            self.skip_unreached(workflow_id)  # open states in scopes: `meta` fences them
        return done.answer

    def skip_unreached(self, workflow_id: str) -> None:
        """Mark as skipped the states that an ended run never reached. Safe to repeat, by any process."""
        self.follow_ups.skip_unreached(workflow_id)

    def pack(self, workflow_id: str) -> None:
        """Store the workflow of an ended run as text, which takes a third of the memory. Safe to repeat."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[bool]:
            return finalization.pack(snapshot, run.definition)

        self.transactions.by_definition(workflow_id, lambda _: ReadSet(whole_meta=True), decide)

    def inside(self, workflow_id: str) -> tuple[list[str], list[str], list[str]]:
        """Return the paths of all states, scopes, branches and iterations that ever existed inside Parallel and Map."""
        return self.follow_ups.inside(workflow_id)

    def _identified(self, workflow_id: str, request: Update) -> Update:
        """Return the request with its state named by path, and with an id if it needs one.

        The id is its idempotency key: a write whose reply was lost is applied once.
        """
        placed = _at(self.path(workflow_id, request.state), request)
        return replace(placed, request_id=secrets.token_hex(8)) if placed.needs_id else placed

    def _followed_up(self, workflow_id: str, requests: Sequence[Update], committed: Committed[Answers]) -> Answers:
        """Do the follow-up work of writes. States entered or leased by that work are part of the last one's answer."""
        answers = list(committed.answer)
        applied = [at for at, answer in enumerate(answers) if isinstance(answer, Updated)]
        if committed.notices and not applied:  # a refusal that writes: outputs wait for verdicts
            self.follow_ups.deliver(workflow_id, committed)
        if applied and (committed.notices or not committed.remaining.is_nothing):
            last, taken = applied[-1], batch.claims_of(committed.answer)
            joined = self.follow_ups.after(workflow_id, committed, completer_of(requests[last], answers[last], taken))
            answers[last] = with_joined(answers[last], joined)
        for at in applied:
            if _may_have_died(answers[at]) and "/" in requests[at].state:
                by = completer_of(requests[at], answers[at], batch.claims_of(answers))
                answers[at] = with_joined(answers[at], self.follow_ups.look_around(workflow_id, requests[at].state, by))
        return tuple(answers)

    def _paths(self, workflow_id: str, run: Run, states: tuple[str, ...] | None) -> tuple[str, ...]:
        if states is not None:
            return tuple(self.path(workflow_id, state) for state in states)
        return tuple(dict.fromkeys((*run.definition.paths, *self._store.open_states(workflow_id))))

    def _heal(self, workflow_id: str, definition: Definition, path: str) -> bool:
        place = needs.place_of(definition, path)
        is_moment = place is not None and isinstance(place.state, Wait) and place.state.timestamp is not None
        reads = ReadSet(states=with_scopes([path]), timers=(path,))
        decide = partial(healing.heal, state=path, is_moment=is_moment)
        return self._store.transact(workflow_id, reads, lambda snapshot: decide(fenced(snapshot)))

    def _end_by_itself(self, workflow_id: str, path: str, end: Ending, size: int | None = None) -> None:
        """End a state without a holder's write (timeout, Wait), if its time has come."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[RunStatus | More | None]:
            return end(snapshot, path, run.definition, run.context)

        committed = self.transactions.by_definition(
            workflow_id, lambda run: needs.to_end(run.definition, path, size), decide, path
        )
        self.follow_ups.after(workflow_id, committed)


def _update(requests: Sequence[Update], run: Run, snapshot: Snapshot) -> Decided:
    """Decide on a holder's writes, and refuse outputs of a key that holds more bytes than it may."""
    decision = batch.update_all(snapshot, requests, run.definition, run.context)
    if decision.changes is None or not decision.changes.outputs:
        return decision
    full = unless_full(current_account())
    return decision if full is None else Decision(answer=(full,) * len(requests))


def _may_have_died(answer: Updated | Refusal) -> bool:
    """Return True for a repetition: the process of the first call may have died before the follow-up work."""
    return isinstance(answer, Updated) and answer.repeated


def _at(path: str, request: Request) -> Request:
    """Return the request with its state named by path."""
    return request if path == request.state else replace(request, state=path)
