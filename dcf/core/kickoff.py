"""The start signal: tell whoever is assigned to the entered states that the run may begin.

Pure. Owed in the outbox like every notification; giving the signal twice owes the same events again, which receivers
drop by their id.
"""

from dcf.core.answers import Owed, Refusal
from dcf.core.attention import REMINDER_DELAY
from dcf.core.decision import Changes, Decision, Event, Notice, Snapshot
from dcf.core.instants import to_text
from dcf.core.model import RunStatus
from dcf.core.refusals import run_closed


def kick_off(snapshot: Snapshot, reason: str) -> Decision[Owed | Refusal]:
    """Owe a notification for every start state that can be taken."""
    meta, now = snapshot.meta, snapshot.now
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_closed(meta.status))
    ready = {name: doc for name, doc in snapshot.states.items() if doc.is_claimable(now)}
    if not ready:
        return Decision(answer=Owed())
    first = (snapshot.meta_document or {}).get("started_at") is None
    notices = tuple(
        Notice(type="state_ready", state=name, epoch=doc.lease.epoch, reason=reason) for name, doc in ready.items()
    )
    return Decision(
        answer=Owed(states=tuple(ready)),
        changes=Changes(
            meta={"started_at": to_text(now)} if first else {},
            events=(Event(type="RunStarted"),) if first else (),
            notices=notices,
            timers=dict.fromkeys(ready, now + REMINDER_DELAY),
        ),
    )
