"""Finds the next ready state that an agent may take, and leases it in the same call. Only one caller gets it.

Pure. The open states of a run are read as a page, watched as a set, in the order in which the clock looks at them.
"""

from dataclasses import replace

from dcf.core.answers import Leased, NothingReady
from dcf.core.decision import Decision, Snapshot
from dcf.core.lease import Acquire, acquire
from dcf.core.model import RunStatus
from dcf.core.refusals import run_closed
from dcf.values.refusal import Refusal


def claim(snapshot: Snapshot, wish: Acquire) -> Decision[Leased | NothingReady | Refusal]:
    """Lease the first claimable state of this page. A repeated request returns the state it got before."""
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    if snapshot.meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_closed(snapshot.meta.status))
    mine = [state for state, doc in snapshot.states.items() if doc.lease.is_held_with(wish.token)]
    free = [state for state, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)]
    for state in (*mine, *free):
        decision = acquire(snapshot, replace(wish, state=state))
        if isinstance(decision.answer, Leased):
            return Decision(answer=decision.answer, changes=decision.changes)
    return Decision(answer=NothingReady(examined=snapshot.page))


def claimable(snapshot: Snapshot, agent_id: str) -> tuple[str, ...]:
    """Return the states of this page that the agent could lease now."""
    meta = snapshot.meta
    assert meta is not None, "the control plane checks that the run exists before it decides"
    open_to = ((path, doc) for path, doc in snapshot.states.items() if meta.may_take(path, agent_id))
    return tuple(path for path, doc in open_to if doc.is_claimable(snapshot.now))
