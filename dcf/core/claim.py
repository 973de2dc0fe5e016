"""Finds the next ready state that an agent may take, and leases it in the same call. Only one caller gets it.

Pure. The open states of a run are read as a page, in the order in which the clock looks at them.
"""

from dataclasses import replace

from dcf.core.answers import Leased, NothingReady
from dcf.core.decision import Decision, Snapshot
from dcf.core.lease import Acquire, acquire
from dcf.core.model import RunStatus
from dcf.core.refusals import run_closed, run_paused
from dcf.core.scopes import with_scopes
from dcf.core.transition import Claimant, Transition
from dcf.values.digest import fingerprint, next_token
from dcf.values.refusal import Refusal


def claim(snapshot: Snapshot, wish: Acquire, start: int = 0) -> Decision[Leased | NothingReady | Refusal]:
    """Lease a claimable state of this page: the first, or the one `start` places after it, counted round.

    A repeated request returns the state it got before.
    """
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    if snapshot.meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_closed(snapshot.meta.status))
    mine = [state for state, doc in snapshot.states.items() if doc.lease.is_held_with(wish.token)]
    free = [state for state, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)]
    turn = start % len(free) if free else 0
    for state in (*mine, *((*free[turn:], *free[:turn]) if not snapshot.meta.is_paused else ())):
        decision = acquire(snapshot, replace(wish, state=state))
        if isinstance(decision.answer, Leased):
            return Decision(answer=decision.answer, changes=decision.changes)
    if snapshot.meta.is_paused:
        return Decision(answer=run_paused())
    return Decision(answer=NothingReady(examined=snapshot.page))


def claim_ready(step: Transition, snapshot: Snapshot, claimant: Claimant) -> tuple[Leased, ...]:
    """Lease other ready states of the page for a claimant whose completion enters fewer than it may take.

    Claimants begin at different states of the page, so that they seldom want the same one. A state whose lease has
    expired is left to a claim of its own, since the page has no input of it.
    """
    found: list[Leased] = []
    if step.run_status is not RunStatus.RUNNING or step.meta.is_paused or not snapshot.inputs:
        return ()
    free = [state for state in snapshot.inputs if snapshot.states[state].is_claimable(snapshot.now)]
    turn = int(fingerprint(claimant.token), 16) % len(free) if free else 0
    for state in (*free[turn:], *free[:turn]):
        if len(found) >= claimant.most:
            break
        if not step.writes.states.keys().isdisjoint(with_scopes([state])):
            continue  # this transaction changes it, or a scope around it
        token = next_token(claimant.token, state)
        wish = Acquire(state=state, owner=claimant.owner, token=token, ttl_s=claimant.ttl_s)
        taken = acquire(snapshot, wish)
        if isinstance(taken.answer, Leased) and taken.changes is not None:
            step.add(taken.changes)
            found.append(taken.answer)
    return tuple(found)
