"""What a commit leaves to whoever made it: join a scope, close it after a failure too many, give it its items, go on.

Each is a transaction of its own after the commit that made it due, for nobody knows before the commit whether it was
the last. Anybody may repeat each of them; only the first finds the scope open. Pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dcf.asl import engine
from dcf.asl.state_paths import open_scope, within
from dcf.asl.steps import TOLERATED, Advance, Entry, NeedItems, Visit, exceeds
from dcf.asl.surroundings import Clock
from dcf.core.advancing import open_transition, take
from dcf.core.answers import Leased, Updated
from dcf.core.decision import Changes, Decision, Event, More, Remaining, Snapshot, Tally
from dcf.core.definition import Definition
from dcf.core.lease import forgotten_claim
from dcf.core.model import Lease, RunStatus, StateDoc, Status
from dcf.core.progress import Update, claimant_of
from dcf.core.scopes import entry_of, opened_scope, visits_of
from dcf.core.transition import Claimant, clock_of
from dcf.errors import StateError
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json

Context = Mapping[str, Json]


What: TypeAlias = Literal["join", "overflow", "read", "wake", "sweep", "skip"]
"""What a commit may leave to do: join a scope, close it, give it items, go on with a state; cancel what is inside a
scope; close the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Something that a commit left to do about a state, or about the whole run (`skip`).

    `epoch` is that of the state's visit, for it may be over and entered again meanwhile; `size` is the scope's.
    """

    what: What
    path: str = ""
    epoch: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What came of it: `claimed` is the state that was leased on the way."""

    claimed: Leased | None = None
    run_status: RunStatus = RunStatus.RUNNING
    next_states: tuple[str, ...] = ()


NOTHING_JOINED = Joined()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completer:
    """Whose completion led here: a repetition of it is to be told the same; `claimant` wants what comes next."""

    path: str
    token: str
    claimant: Claimant | None


def completer_of(request: Update, answer: Updated) -> Completer | None:
    """Tell whose completion was answered; None where there is nothing to tell or to lease."""
    if request.token is None:
        return None
    claimant = claimant_of(request, answer.owner) if answer.claimed is None else None
    return Completer(path=request.state, token=request.token, claimant=claimant)


def follow_ups(remaining: Remaining, counts: Mapping[str, Tally]) -> tuple[FollowUp, ...]:
    """List what a commit leaves to do; `counts` are those of the scopes it added to, as they then were."""
    found = [FollowUp(what="read", path=path, epoch=epoch) for path, epoch in remaining.reading.items()]
    found += [FollowUp(what="wake", path=path, epoch=epoch) for path, epoch in remaining.waking.items()]
    found += [FollowUp(what="sweep", path=path) for path in remaining.closed]
    found += [due for path, tally in counts.items() if (due := follow_up(path, remaining.counting[path], tally))]
    if remaining.run_over:
        found.append(FollowUp(what="skip"))
    return tuple(found)


def follow_up(path: str, doc: StateDoc, tally: Tally) -> FollowUp | None:
    """Tell what is to be done about an open scope, if anything."""
    scope, epoch = doc.scope, doc.lease.epoch
    if scope is None:
        return FollowUp(what="read", path=path, epoch=epoch)
    if tally.failed and exceeds(scope.tolerance, tally.failed, scope.size):
        return FollowUp(what="overflow", path=path, epoch=epoch)
    return FollowUp(what="join", path=path, epoch=epoch, size=scope.size) if tally.done >= scope.size else None


def is_visit(snapshot: Snapshot, wanted: FollowUp) -> bool:
    """Tell whether the state is still in the visit that this was left to do about."""
    doc = snapshot.states.get(wanted.path)
    return doc is not None and doc.lease.epoch == wanted.epoch


def wanted_items(snapshot: Snapshot, path: str, definition: Definition, context: Context) -> NeedItems | None:
    """Tell what a Map waits for that has not read its items yet; None: it does not wait any more."""
    doc = snapshot.states[path]
    if not _waits_for_items(doc):
        return None
    visits: dict[str, Visit] = {**visits_of(snapshot, path), path: _entry(snapshot, path)}
    return engine.wanted(definition.machine, path, visits, context, clock_of(snapshot.now, doc.lease.epoch))


def join(
    snapshot: Snapshot, path: str, definition: Definition, context: Context, by: Completer | None = None
) -> Decision[Joined | More | None]:
    """Go on after the last branch or iteration; None: the scope is over, or something inside is not."""
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
    """Close a Map in which more failed than it tolerates; None: no longer so."""
    doc, tally = snapshot.states[path], snapshot.tallies.get(path, Tally())
    if not _is_due(snapshot, path, doc, tally, "overflow"):
        return Decision(answer=None)

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        scope = open_scope(path, 0)
        return engine.branch_failed(definition.machine, scope, visits, tally.error, tally.cause, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def supply(
    snapshot: Snapshot,
    path: str,
    definition: Definition,
    context: Context,
    found: Json | StateError,
    by: Completer | None = None,
) -> Decision[Joined | More | None]:
    """Open a Map with the items that were read, or fail it if they could not be; None: it does not wait any more."""
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
    """Go on after a Wait, with a state not begun yet, or with another try of one; None: it is not time, or over."""
    doc, meta = snapshot.states[path], snapshot.meta
    is_open = meta is not None and meta.status is RunStatus.RUNNING and not doc.status.is_terminal
    is_due = doc.kind is not None and (doc.not_before or 0) <= snapshot.now
    was_woken = doc.is_scope and doc.status is Status.RUNNING
    if not is_open or not is_due or was_woken:
        return Decision(answer=None)

    def ask(visits: Mapping[str, Visit], clock: Clock) -> Advance:
        return engine.wake(definition.machine, path, visits, context, clock)

    return _go_on(snapshot, path, definition, context, ask, by)


def sweep(snapshot: Snapshot) -> Decision[int]:
    """Write down of states in scopes that are over that they are cancelled."""
    void = {path: snapshot.states[path] for path in snapshot.void}
    if not void:
        return Decision(answer=0)
    events = [Event(type="StateCancelled", state=path, data={"epoch": doc.lease.epoch}) for path, doc in void.items()]
    claims: dict[str, str | None] = {mark: None for doc in void.values() for mark in forgotten_claim(doc)}
    return Decision(
        answer=len(void), changes=Changes(states=void, events=events, timers=dict.fromkeys(void), claims=claims)
    )


def inside(paths: tuple[str, ...], owner: str) -> tuple[str, ...]:
    """Pick the states inside a scope, or inside any."""
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
    was_open = doc.is_open_scope
    here: Visit = opened_scope(snapshot, path) if was_open else _entry(snapshot, path)
    advance = ask({**visits_of(snapshot, path), path: here}, clock_of(now, epoch))
    step = open_transition(snapshot, path, epoch, definition)
    # What goes on by itself before the run was kicked off, kicking it off announces.
    step.starting = not was_open and snapshot.meta is not None and not snapshot.meta.is_started
    step.writes.states[path] = replace(doc, lease=Lease(epoch=epoch))
    step.writes.timers[path] = None
    more = take(step, snapshot, path, advance, definition, context, None if by is None else by.claimant)
    if more is not None:
        return Decision(answer=more)
    answer = Joined(claimed=step.claim(), run_status=step.run_status, next_states=step.entered)
    told = None if by is None else step.current(by.path)
    if by is not None and told is not None:
        step.writes.states[by.path] = add_to_reply(told, by.token, answer)
    return step.decision(answer)


def add_to_reply(doc: StateDoc, token: str, answer: Joined) -> StateDoc:
    """Add what came of a completion afterwards to the reply that its repetition is given."""
    done = doc.last.get("complete")
    if not isinstance(done, dict) or done.get("req") != fingerprint(token):
        return doc
    reply: dict[str, Json] = {**done, "next": [*done.get("next", ()), *answer.next_states]}
    if answer.claimed is not None:
        reply["claimed"] = answer.claimed.state
    if answer.run_status is not RunStatus.RUNNING:
        reply["run_status"] = answer.run_status.value
    return replace(doc, last={**doc.last, "complete": reply})


def _is_open(snapshot: Snapshot, doc: StateDoc) -> bool:
    is_running = snapshot.meta is not None and snapshot.meta.status is RunStatus.RUNNING
    return is_running and doc.status is Status.RUNNING and doc.is_scope


def _is_due(snapshot: Snapshot, path: str, doc: StateDoc, tally: Tally, what: What) -> bool:
    wanted = follow_up(path, doc, tally) if _is_open(snapshot, doc) else None
    return wanted is not None and wanted.what == what


def _waits_for_items(doc: StateDoc) -> bool:
    return doc.kind == "Map" and doc.status is Status.RUNNING and doc.scope is None


def _entry(snapshot: Snapshot, path: str) -> Entry:
    kept = snapshot.scopes.get(path)
    return entry_of(snapshot, path, snapshot.entries.get(path) if kept is None else kept.entry)
