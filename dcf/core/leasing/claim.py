"""Finds the next ready states that an agent may take, and leases them in the same call. Only one caller gets each.

Pure. The open states of a run are read as a page, in the order in which the timer loop checks them.
"""

from collections.abc import Iterable

from dcf.core.completing.transition import Claimant, Transition
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.answers import Leased, NothingReady
from dcf.core.documents.decision import Decision, More, Seeker, Snapshot, WriteSet
from dcf.core.documents.limit_refusals import account_closed
from dcf.core.documents.model import RunStatus
from dcf.core.documents.refusals import RUN_CLOSED
from dcf.core.leasing.halt_refusals import no_leases
from dcf.core.leasing.lease import Acquire, acquire
from dcf.values.digest import fingerprint, next_token
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True)
class MaybeExpired:
    """Returned in place of an answer: the lease on this state may have expired. Of it nothing more was read."""

    state: str


def claim(snapshot: Snapshot, wish: Acquire) -> Decision[Leased | MaybeExpired | NothingReady | Refusal]:
    """Lease the first claimable states of this page that no other claim is about to take, up to the requested number.

    Each has a token of its own. A repeated request returns the states it got before, and takes no others.
    """
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    if snapshot.meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_CLOSED.refuse(status=snapshot.meta.status))
    before = _held_before(snapshot, wish)
    mine = before.answer
    if not mine and (wish.only_held or wish.closed is not None):
        return Decision(answer=NothingReady(examined=0) if wish.closed is None else account_closed(wish.closed))
    free = [state for state, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)]
    overdue = [state for state, at in snapshot.held.items() if at <= snapshot.now]
    if overdue and not mine and not snapshot.meta.is_halted:
        return Decision(answer=MaybeExpired(overdue[0]))
    takeable = [] if snapshot.meta.is_halted else [state for state in free if state not in snapshot.taken]
    decision = before if mine else _taken(snapshot, wish, takeable)
    if decision.answer:
        first, *others = decision.answer
        return Decision(answer=replace(first, others=tuple(others)), changes=decision.changes)
    refused = no_leases(snapshot.meta)
    if refused is not None:
        return Decision(answer=refused)
    is_contested = any(state in snapshot.taken for state in free)
    return Decision(answer=NothingReady(examined=snapshot.page, is_contested=is_contested))


def tokens_of(wish: Acquire) -> tuple[str, ...]:
    """Return a token for each state that a claim may take: its own, and further ones that are derived from it."""
    return (wish.token, *(next_token(wish.token, f"\n{number}") for number in range(1, wish.most)))


def _held_before(snapshot: Snapshot, wish: Acquire) -> Decision[tuple[Leased, ...]]:
    """Return the leases that an earlier call of this claim was granted. This call may be a sign of its caller."""
    leased = [
        (state, token)
        for token in tokens_of(wish)
        for state, doc in snapshot.states.items()
        if doc.lease.is_held_with(token) and (doc.lease.awaits_sign or not wish.only_held)
    ]
    leases, changes = list[Leased](), WriteSet()
    for state, token in leased:
        decision = acquire(snapshot, replace(wish, state=state, token=token))
        if isinstance(decision.answer, Leased):
            leases.append(decision.answer)
            changes.add(decision.changes or WriteSet())
    return Decision(answer=tuple(leases), changes=changes if changes.states else None)


def _taken(snapshot: Snapshot, wish: Acquire, states: Iterable[str]) -> Decision[tuple[Leased, ...]]:
    """Lease the first of these states that can be leased."""
    tokens, granted, changes = tokens_of(wish), list[Leased](), WriteSet()
    for state in states:
        if len(granted) == len(tokens):
            break
        decision = acquire(snapshot, replace(wish, state=state, token=tokens[len(granted)]))
        if isinstance(decision.answer, Leased) and decision.changes is not None:
            granted.append(decision.answer)
            changes.add(decision.changes)
    return Decision(answer=tuple(granted), changes=changes)


def claim_ready(step: Transition, snapshot: Snapshot, claimant: Claimant) -> tuple[Leased, ...]:
    """Lease other ready states for a claimant whose completion enters fewer than it may take.

    They are those whose input was read: the caller expected them to be ready, or they are on a page, and no other
    claim is about to take them. A state whose lease has expired is left to a claim of its own.
    """
    leased_states: list[Leased] = []
    if step.run_status is not RunStatus.RUNNING or step.meta.is_halted or not snapshot.inputs:
        return ()
    for state in snapshot.inputs:
        if len(leased_states) >= claimant.most:
            break
        if state not in snapshot.states or not step.writes.states.keys().isdisjoint(with_scopes([state])):
            continue  # this transaction changes it, or a scope around it
        token = next_token(claimant.token, state)
        wish = Acquire(state=state, owner=claimant.owner, token=token, ttl_s=claimant.ttl_s, key=claimant.key)
        taken = acquire(snapshot, wish)
        if isinstance(taken.answer, Leased) and taken.changes is not None:
            step.writes.add(taken.changes)
            leased_states.append(taken.answer)
    return tuple(leased_states)


def look_for(step: Transition, snapshot: Snapshot, result: int, claimant: Claimant, *, inside: bool) -> More | None:
    """Return the request to look through the open states, once, if some may be ready; None if none need be looked for.

    That is so if states that were thought to be ready are not, and `inside` a Parallel or Map where nothing was leased.
    """
    if snapshot.page or step.run_status is not RunStatus.RUNNING or step.meta.is_halted:
        return None
    if not inside and result >= min(len(snapshot.inputs), claimant.most):
        return None
    return More(page=True, seeker=Seeker(most=claimant.most, owner=claimant.owner, mark=fingerprint(claimant.token)))
