"""Finds the next ready state that an agent may take, and leases it in the same call. Only one caller gets it.

Pure. The open states of a run are read as a page, in the order in which the clock looks at them.
"""

from dcf.core.answers import Leased, NothingReady
from dcf.core.decision import Decision, Snapshot
from dcf.core.lease import Acquire, acquire
from dcf.core.model import RunStatus
from dcf.core.refusals import run_closed, run_paused
from dcf.core.scopes import with_scopes
from dcf.core.transition import Claimant, Transition
from dcf.values.digest import next_token
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True)
class MaybeExpired:
    """Returned in place of an answer: the lease on this state may have expired. Of it nothing more was read."""

    state: str


def claim(snapshot: Snapshot, wish: Acquire) -> Decision[Leased | MaybeExpired | NothingReady | Refusal]:
    """Lease the first claimable state of this page that nobody else is about to take.

    A repeated request returns the state it got before.
    """
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    if snapshot.meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_closed(snapshot.meta.status))
    mine = [state for state, doc in snapshot.states.items() if doc.lease.is_held_with(wish.token)]
    free = [state for state, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)]
    overdue = [state for state, at in snapshot.held.items() if at <= snapshot.now]
    if overdue and not mine and not snapshot.meta.is_paused:
        return Decision(answer=MaybeExpired(overdue[0]))
    takeable = [] if snapshot.meta.is_paused else [state for state in free if state not in snapshot.taken]
    for state in (*mine, *takeable):
        decision = acquire(snapshot, replace(wish, state=state))
        if isinstance(decision.answer, Leased):
            return Decision(answer=decision.answer, changes=decision.changes)
    if snapshot.meta.is_paused:
        return Decision(answer=run_paused())
    is_contested = any(state in snapshot.taken for state in free)
    return Decision(answer=NothingReady(examined=snapshot.page, is_contested=is_contested))


def claim_ready(step: Transition, snapshot: Snapshot, claimant: Claimant) -> tuple[Leased, ...]:
    """Lease other ready states for a claimant whose completion enters fewer than it may take.

    They are those of which the input was read: the caller thought that they are ready, or they are on a page, and
    nobody else is about to take them. A state whose lease has expired is left to a claim of its own.
    """
    found: list[Leased] = []
    if step.run_status is not RunStatus.RUNNING or step.meta.is_paused or not snapshot.inputs:
        return ()
    for state in snapshot.inputs:
        if len(found) >= claimant.most:
            break
        if state not in snapshot.states or not step.writes.states.keys().isdisjoint(with_scopes([state])):
            continue  # this transaction changes it, or a scope around it
        token = next_token(claimant.token, state)
        wish = Acquire(state=state, owner=claimant.owner, token=token, ttl_s=claimant.ttl_s)
        taken = acquire(snapshot, wish)
        if isinstance(taken.answer, Leased) and taken.changes is not None:
            step.add(taken.changes)
            found.append(taken.answer)
    return tuple(found)


def needs_page(snapshot: Snapshot, found: int, claimant: Claimant) -> bool:
    """Return True if states that were thought to be ready are not, so that the open states must be looked through."""
    return not snapshot.page and found < min(len(snapshot.inputs), claimant.most)
