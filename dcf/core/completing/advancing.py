"""Turns an advance of the engine into writes, including what follows when an item of a Map fails.

Used by completions, timers and joins alike. If something was not read, it answers `More` instead. Pure.
"""

from collections import deque
from collections.abc import Mapping

from dcf.asl import engine
from dcf.asl.state_paths import split_scope, within
from dcf.asl.steps import Advance, BranchFailed, Visit, exceeds, next_item
from dcf.core.completing.transition import Claimant, Transition, clock_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import NOTHING_KEPT, missing, opened_scope, visits_of
from dcf.core.documents.decision import More, Snapshot, Tally
from dcf.core.documents.model import StateDoc
from dcf.core.documents.notices import stop_notices
from dcf.values.json_text import Json


def open_transition(snapshot: Snapshot, state: str, epoch: int, definition: Definition) -> Transition:
    """Start collecting the writes of leaving a state."""
    assert snapshot.meta is not None, "checked by the fence"
    others = {name: doc for name, doc in snapshot.states.items() if name != state}
    return Transition(
        now=snapshot.now,
        epoch=epoch,
        meta=snapshot.meta,
        stateful=definition.stateful,
        revisits=definition.revisits,
        visited_before=others,
        signals=snapshot.signals,
    )


def take(
    step: Transition,
    snapshot: Snapshot,
    state: str,
    advance: Advance,
    definition: Definition,
    context: Mapping[str, Json],
    claimant: Claimant | None = None,
) -> More | None:
    """Record an advance and the advances that failed items of Maps cause; return More if something was not read."""
    pending = deque([advance])
    while pending:
        current = pending.popleft()
        more = missing(snapshot, state, current)
        if more is not None:
            return more
        step.apply(current, claimant)
        pending += [
            _close_or_continue(step, snapshot, failed, definition, context)
            for failed in current.steps
            if isinstance(failed, BranchFailed) and _is_counted(step, snapshot, failed)
        ]
    if snapshot.void or step.remaining.closed:
        step.writes.notices.extend(stop_notices(_entered_again(step, snapshot, state)))
    return None


def _entered_again(step: Transition, snapshot: Snapshot, left: str) -> dict[str, StateDoc]:
    """Return earlier visits of states that are entered again before anybody has closed them, as they stand.

    The scope around them had ended before, or it ends here and is entered again at once.
    """
    ended = {
        path: doc
        for path, doc in snapshot.states.items()
        if path != left and not doc.status.is_terminal and any(within(path, scope) for scope in step.remaining.closed)
    }
    return {path: doc for path, doc in {**ended, **snapshot.void}.items() if path in step.writes.states}


def _is_counted(step: Transition, snapshot: Snapshot, failed: BranchFailed) -> bool:
    """Return True if the failure is in a scope that was already open; the engine handles scopes it opened itself."""
    owner = split_scope(failed.scope)[0]
    return owner in snapshot.states and owner not in step.remaining.closed and owner not in step.writes.opened


def _close_or_continue(
    step: Transition, snapshot: Snapshot, failed: BranchFailed, definition: Definition, context: Mapping[str, Json]
) -> Advance:
    """Close the Map if one item too many has failed, otherwise open its next item.

    Items may fail concurrently. If the count exceeds the limit only after the commit, the follow-up `overflow` closes
    the Map.
    """
    owner, index = split_scope(failed.scope)
    opened = opened_scope(snapshot, owner)
    visits: dict[str, Visit] = {**visits_of(snapshot, owner), owner: opened}
    clock = clock_of(step.now, step.epoch, step.signals)
    failures = snapshot.tallies.get(owner, Tally()).failed + step.writes.ended.get(owner, Tally()).failed
    if exceeds(opened.tolerance, failures, opened.size):
        return engine.fail(definition.machine, owner, visits, failed.error, failed.cause, context, clock)
    following = next_item(opened, index)
    if following is None:
        return Advance(steps=(), outcome="open")
    return engine.open_item(definition.machine, owner, visits, following, context, clock)


def epoch_of(snapshot: Snapshot, state: str) -> int:
    """Return the epoch from which the states entered by this completion start.

    Inside a scope it is at least the current time, and so larger than the epochs of siblings: when the scope is left,
    their states may be entered again.
    """
    epoch = snapshot.states[state].lease.epoch
    return max(epoch, snapshot.now) if "/" in state else epoch


def visits_to_leave(snapshot: Snapshot, state: str) -> dict[str, Visit]:
    """Return the recorded entries of the state and of the scopes around it, for the engine."""
    return {**visits_of(snapshot, state), state: snapshot.entries.get(state, NOTHING_KEPT)}
