"""Follow-up transactions: join a Parallel or Map, close it after too many failures, open it with items, end a pause.

Each runs after the commit that made it due, since only the committed counts tell which branch was the last. Each is
idempotent: only the first call finds the scope open. Pure.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from dcf.asl import engine
from dcf.asl.state_paths import open_scope, within
from dcf.asl.steps import TOLERATED, Advance, Entry, NeedItems, Visit, exceeds
from dcf.asl.surroundings import Clock
from dcf.core.completing.advancing import open_transition, take
from dcf.core.completing.progress import can_wake, claimant_of
from dcf.core.completing.transition import Claimant, Transition, clock_of
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import NOTHING_KEPT, opened_scope, visits_of
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.decision import Decision, Event, More, Remaining, Snapshot, Tally, WriteSet
from dcf.core.documents.model import Lease, Operation, RunStatus, StateDoc, Status
from dcf.core.documents.notices import stop_notices
from dcf.core.leasing.lease import forgotten_claim
from dcf.core.lifecycle.finalization import lost_by
from dcf.errors import StateError
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

Context = Mapping[str, Json]


What: TypeAlias = Literal["join", "overflow", "read", "wake", "sweep", "skip"]
"""Kinds of follow-up: join a scope, close it, read its items, cancel its states; skip states never reached.

`wake` continues with a state before which the engine paused.
"""


@record(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Work that a commit left to do about a scope, a state (`wake`), or the whole run (`skip`).

    `epoch` identifies its visit, since it may end and be entered again meanwhile. `size` counts a scope's branches.
    """

    what: What
    path: str = ""
    epoch: int = 0
    size: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Joined:
    """The result of a follow-up. `claims` are the leases that were granted in the same transaction."""

    claims: tuple[Leased, ...] = ()
    run_status: RunStatus = RunStatus.RUNNING
    next_states: tuple[str, ...] = ()


NOTHING_JOINED = Joined()


@record(frozen=True, slots=True, kw_only=True)
class Completer:
    """The completion that led to a follow-up. Its receipt gets the result; `claimant` asks for the next lease.

    `owner` is the agent that wrote it.
    """

    path: str
    token: str
    claimant: Claimant | None
    owner: str | None = None


def completer_of(request: Update, answer: Updated | Refusal, taken: int) -> Completer | None:
    """Return the completion that was answered, and asks for what `taken` leases left; None for one without a token."""
    if request.token is None or isinstance(answer, Refusal):
        return None
    claimant, left = claimant_of(request, answer.owner), request.claim_most - taken
    asking = None if claimant is None or left <= 0 else replace(claimant, most=left)
    return Completer(path=request.state, token=request.token, claimant=asking, owner=answer.owner)


def follow_ups(remaining: Remaining, counts: Mapping[str, Tally]) -> tuple[FollowUp, ...]:
    """Return the work that a commit left; `counts` are the counts after it of the scopes it added to."""
    return () if remaining.is_nothing else tuple(_wanted(remaining, counts))


def _wanted(remaining: Remaining, counts: Mapping[str, Tally]) -> Iterator[FollowUp]:
    for path, epoch in remaining.reading.items():
        yield FollowUp(what="read", path=path, epoch=epoch)
    for path, epoch in remaining.paused.items():
        yield FollowUp(what="wake", path=path, epoch=epoch)
    for path in remaining.closed:
        yield FollowUp(what="sweep", path=path)
    for path, tally in counts.items():
        due = follow_up(path, remaining.counting[path], tally)
        if due is not None:
            yield due
    if remaining.run_over:
        yield FollowUp(what="skip")


def follow_up(path: str, doc: StateDoc, tally: Tally) -> FollowUp | None:
    """Return the due work on an open scope; None if there is none."""
    scope, epoch = doc.scope, doc.lease.epoch
    if scope is None:
        return FollowUp(what="read", path=path, epoch=epoch)
    if tally.failed and exceeds(scope.tolerance, tally.failed, scope.size):
        return FollowUp(what="overflow", path=path, epoch=epoch)
    return FollowUp(what="join", path=path, epoch=epoch, size=scope.size) if tally.done >= scope.size else None


def is_visit(snapshot: Snapshot, follow_up: FollowUp) -> bool:
    """Return True if the scope is still in the visit that the follow-up is about."""
    doc = snapshot.states.get(follow_up.path)
    return doc is not None and doc.lease.epoch == follow_up.epoch


def wanted_items(snapshot: Snapshot, path: str, definition: Definition, context: Context) -> NeedItems | None:
    """Return which items an open Map waits for; None if it does not wait for any."""
    doc = snapshot.states[path]
    if not _waits_for_items(doc):
        return None
    visits: dict[str, Visit] = {**visits_of(snapshot, path), path: _entry(snapshot, path)}
    return engine.wanted(definition.machine, path, visits, context, clock_of(snapshot.now, doc.lease.epoch))


def join(
    snapshot: Snapshot, path: str, definition: Definition, context: Context, by: Completer | None = None
) -> Decision[Joined | More | None]:
    """Complete a scope whose last branch or iteration has ended. None: it is closed, or a branch is still open."""
    doc, tally = snapshot.states[path], snapshot.tallies.get(path, Tally())
    if not _is_due(snapshot, path, doc, tally, "join"):
        return Decision(answer=None)
    assert doc.scope is not None, "the last check"
    names = [open_scope(path, index) for index in range(doc.scope.size)]
    results = [snapshot.outputs.get(name, TOLERATED) if tally.failed else snapshot.outputs.get(name) for name in names]

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        return engine.join(definition.machine, path, visits, results, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def overflow(
    snapshot: Snapshot, path: str, definition: Definition, context: Context, by: Completer | None = None
) -> Decision[Joined | More | None]:
    """Close a Map in which more iterations failed than it tolerates. None: not, or no longer, the case."""
    doc, tally = snapshot.states[path], snapshot.tallies.get(path, Tally())
    if not _is_due(snapshot, path, doc, tally, "overflow"):
        return Decision(answer=None)

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        return engine.fail(definition.machine, path, visits, tally.error, tally.cause, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def supply(
    snapshot: Snapshot,
    path: str,
    definition: Definition,
    context: Context,
    found: Json | StateError,
    by: Completer | None = None,
) -> Decision[Joined | More | None]:
    """Open a Map with the items that were read, or fail it with the read's error. None: it does not wait for items."""
    doc = snapshot.states[path]
    if not _is_open(snapshot, doc) or not _waits_for_items(doc):
        return Decision(answer=None)

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        if isinstance(found, StateError):
            return engine.fail(definition.machine, path, visits, found.error, found.cause, context, clock)
        return engine.supply_items(definition.machine, path, visits, found, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def wake(
    snapshot: Snapshot, path: str, definition: Definition, context: Context, by: Completer | None = None
) -> Decision[Joined | More | None]:
    """Continue where the engine paused. None: that was done before, or the run or the scope around it has ended."""
    if not can_wake(snapshot, path):
        return Decision(answer=None)

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        return engine.wake(definition.machine, path, visits, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def sweep(snapshot: Snapshot) -> Decision[int]:
    """Write that states in ended scopes are cancelled. Return how many."""
    void = {path: snapshot.states[path] for path in snapshot.void}
    if not void:
        return Decision(answer=0)
    events = [Event(type="StateCancelled", state=path, data={"epoch": doc.lease.epoch}) for path, doc in void.items()]
    claims: dict[str, str | None] = {mark: None for doc in void.values() for mark in forgotten_claim(doc)}
    return Decision(
        answer=len(void),
        changes=WriteSet(
            states=void,
            events=events,
            notices=stop_notices(snapshot.void),
            timers=dict.fromkeys(void),
            claims=claims,
            receipts=lost_by(snapshot, void),
        ),
    )


def inside(paths: tuple[str, ...], owner: str) -> tuple[str, ...]:
    """Return the states inside a scope; without `owner`, those inside any scope."""
    return tuple(path for path in paths if (within(path, owner) if owner else "/" in path))


def _go_on(
    snapshot: Snapshot,
    path: str,
    definition: Definition,
    context: Context,
    ask: Callable[[Mapping[str, Visit], Clock], Advance],
    by: Completer | None,
) -> Decision[Joined | More | None]:
    doc, now = snapshot.states[path], snapshot.now
    epoch = doc.lease.next_epoch(now)
    here: Visit = _entry(snapshot, path) if doc.scope is None else opened_scope(snapshot, path)
    advance = ask({**visits_of(snapshot, path), path: here}, clock_of(now, epoch, snapshot.signals))
    step = open_transition(snapshot, path, epoch, definition)
    # Before the run is started, `kick_off` announces what a Map opens, or what follows a chain of silent states.
    step.starting = doc.scope is None and snapshot.meta is not None and not snapshot.meta.is_started
    step.writes.states[path] = replace(doc, lease=Lease(epoch=epoch))
    step.writes.timers[path] = None
    more = take(step, snapshot, path, advance, definition, context, None if by is None else by.claimant)
    if more is not None:
        return Decision(answer=more)
    answer = Joined(claims=step.claims(), run_status=step.run_status, next_states=step.entered)
    if by is not None:
        _add_to_receipt(step, snapshot, by, answer)
    return step.decision(answer)


def _add_to_receipt(step: Transition, snapshot: Snapshot, by: Completer, answer: Joined) -> None:
    """Add the result of a follow-up to the receipt of the completion, so that a repetition gets both.

    A partial write has no such receipt. And a state that is only shown as cancelled is left to the sweep, which writes
    that together with its event, timer and claim.
    """
    doc = None if by.path in snapshot.void else step.current(by.path)
    done = None if doc is None else doc.receipt
    if doc is None or done is None or done.operation is not Operation.COMPLETE or done.request != fingerprint(by.token):
        return
    added = replace(
        done,
        next_states=(*done.next_states, *answer.next_states),
        claimed=(*done.claimed, *(lease.state for lease in answer.claims)),
        run_status=done.run_status if answer.run_status is RunStatus.RUNNING else answer.run_status,
    )
    step.writes.states[by.path] = replace(doc, receipt=added)


def _is_open(snapshot: Snapshot, doc: StateDoc) -> bool:
    is_running = snapshot.meta is not None and snapshot.meta.status is RunStatus.RUNNING
    return is_running and doc.status is Status.RUNNING and doc.is_scope


def _is_due(snapshot: Snapshot, path: str, doc: StateDoc, tally: Tally, due: What) -> bool:
    due_step = follow_up(path, doc, tally) if _is_open(snapshot, doc) else None
    return due_step is not None and due_step.what == due


def _waits_for_items(doc: StateDoc) -> bool:
    return doc.kind == "Map" and doc.status is Status.RUNNING and doc.scope is None


def _entry(snapshot: Snapshot, path: str) -> Entry:
    scope = snapshot.scopes.get(path)
    return NOTHING_KEPT if scope is None else scope.entry


def with_joined(answer: Updated | Refusal, joined: Joined) -> Updated | Refusal:
    """Add what follow-up work brought to an answer."""
    if joined == NOTHING_JOINED or isinstance(answer, Refusal):
        return answer
    return replace(
        answer,
        run_status=answer.run_status if joined.run_status is RunStatus.RUNNING else joined.run_status,
        next_states=(*answer.next_states, *joined.next_states),
        claims=(*answer.claims, *joined.claims),
    )
