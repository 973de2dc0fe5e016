"""Sets the timers of open states that Redis has lost: for the timer loop, for `dcf doctor --repair`, and on request.

It names the documents to read, and the pure decision about them.
"""

from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.leasing.rearming import rearm
from dcf.runs.control_plane import ControlPlane


def set_timer(plane: ControlPlane, workflow_id: str, path: str) -> bool:
    """Set the timer of an open state if it has none, and tell its agents. Return True if it had none."""

    def decide(snapshot: Snapshot) -> Decision[bool]:
        return rearm(fenced(snapshot), path)

    reads = ReadSet(states=with_scopes([path]), timers=(path,))
    committed = plane.transactions.store.commit(workflow_id, reads, decide)
    plane.follow_ups.deliver(workflow_id, committed)
    return committed.answer
