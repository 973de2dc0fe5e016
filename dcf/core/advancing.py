"""Recording an advance of the engine, and of failures that Maps may tolerate; or asking for what was not read.

Shared by everything that moves a run on: a completion, a timer, a join. Pure.
"""

from collections import deque
from collections.abc import Mapping

from dcf.asl import engine
from dcf.asl.state_paths import split_scope
from dcf.asl.steps import Advance, BranchFailed, Visit, exceeds, next_item
from dcf.core.decision import More, Snapshot, Tally
from dcf.core.definition import Definition
from dcf.core.scopes import entry_of, missing, opened_scope, visits_of
from dcf.core.transition import Claimant, Transition, clock_of
from dcf.values.json_text import Json


def open_transition(snapshot: Snapshot, state: str, epoch: int, definition: Definition) -> Transition:
    """Begin what leaving a state writes."""
    assert snapshot.meta is not None, "checked by the fence"
    others = {name: doc for name, doc in snapshot.states.items() if name != state}
    return Transition(
        now=snapshot.now,
        epoch=epoch,
        meta=snapshot.meta,
        stateful=definition.stateful,
        visited_before=others,
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
    """Record an advance, and what follows from failures that Maps may tolerate; or ask for what was not read."""
    pending = deque([advance])
    while pending:
        found = pending.popleft()
        more = missing(snapshot, state, found)
        if more is not None:
            return more
        step.apply(found, claimant)
        pending += [
            _bear(step, snapshot, failed, definition, context)
            for failed in found.steps
            if isinstance(failed, BranchFailed) and _is_counted(step, snapshot, failed)
        ]
    return None


def _is_counted(step: Transition, snapshot: Snapshot, failed: BranchFailed) -> bool:
    """Tell whether the failure is one of a scope that was open before; the engine deals with those it opened itself."""
    owner = split_scope(failed.scope)[0]
    return owner in snapshot.states and owner not in step.remaining.closed and owner not in step.writes.opened


def _bear(
    step: Transition, snapshot: Snapshot, failed: BranchFailed, definition: Definition, context: Mapping[str, Json]
) -> Advance:
    """After a failure that its Map may tolerate: close the Map if it was one too many, or else start the next item.

    Others may fail at the same time; whoever sees the count exceed the limit after the commit closes the Map.
    """
    owner, index = split_scope(failed.scope)
    opened = opened_scope(snapshot, owner)
    visits: dict[str, Visit] = {**visits_of(snapshot, owner), owner: opened}
    clock = clock_of(step.now, step.epoch)
    failures = snapshot.tallies.get(owner, Tally()).failed + step.writes.ended.get(owner, Tally()).failed
    if exceeds(opened.tolerance, failures, opened.size):
        return engine.branch_failed(
            definition.machine, failed.scope, visits, failed.error, failed.cause, context, clock
        )
    following = next_item(opened, index)
    if following is None:
        return Advance(steps=(), outcome="open")
    return engine.open_item(definition.machine, owner, following, visits, context, clock)


def epoch_of(snapshot: Snapshot, state: str) -> int:
    """Make the fencing number of what this completion sets going.

    Inside a scope it must be larger than those of siblings, whose states may be entered again because of it.
    """
    epoch = snapshot.states[state].lease.epoch
    return max(epoch, snapshot.now) if "/" in state else epoch


def visits_to_leave(snapshot: Snapshot, state: str) -> dict[str, Visit]:
    """Give the engine what was kept of the state's entry, and of the scopes around it."""
    return {**visits_of(snapshot, state), state: entry_of(snapshot, state, snapshot.entries.get(state))}
