"""Find the next ready state that an agent may take, and lease it: one winner, in one call.

Pure. The open states of a run are read together (watched as a set), ordered by when they next need attention.
"""

from dataclasses import replace

from dcf.core.answers import Leased, NothingReady, Refusal
from dcf.core.decision import Changes, Decision, Snapshot
from dcf.core.digest import fingerprint
from dcf.core.lease import Acquire, acquire
from dcf.core.model import RunStatus
from dcf.core.refusals import run_closed


def claim(snapshot: Snapshot, wish: Acquire) -> Decision[Leased | NothingReady | Refusal]:
    """Lease the first state of this page that can be taken; a repeated wish finds the state it got before."""
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    if snapshot.meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_closed(snapshot.meta.status))
    mine = [state for state, doc in snapshot.states.items() if doc.lease.token == wish.token]
    free = [state for state, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)]
    for state in (*mine, *free):
        decision = acquire(snapshot, replace(wish, state=state))
        if isinstance(decision.answer, Leased):
            return decision if decision.changes is None else _noted(decision, decision.changes, state, wish.token)
    return Decision(answer=NothingReady(examined=snapshot.page))


def _noted(
    decision: Decision[Leased | Refusal], changes: Changes, state: str, token: str
) -> Decision[Leased | NothingReady | Refusal]:
    """Note which state the token claimed: a repetition cannot know, and would claim another."""
    mark = fingerprint(token)
    doc = changes.states[state]
    noted = replace(
        changes,
        states={state: replace(doc, last={**doc.last, "claim": mark})},
        claims={**changes.claims, mark: state},
    )
    return Decision(answer=decision.answer, changes=noted)
