"""Starts a run: notifies the agents that are assigned to the entered states.

Pure. The notifications go through the outbox. Starting twice queues the same event ids again, which receivers drop.
"""

from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.refusals import RUN_CLOSED
from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.core.leasing.halt_refusals import no_leases
from dcf.values.instants import SECOND, from_text, is_ahead, to_text
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


def kick_off(snapshot: Snapshot, reason: str, timeout_s: int | None = None) -> Decision[Owed | Refusal]:
    """Queue a notification for every claimable state. The first call also restarts the run's timeout."""
    meta, now = snapshot.existing_meta, snapshot.now
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_CLOSED.refuse(status=meta.status))
    refused = no_leases(meta)
    if refused is not None:
        return Decision(answer=refused)
    first = (snapshot.meta_document or {}).get("started_at") is None
    ready = {path: doc for path, doc in snapshot.states.items() if doc.is_claimable(now)}
    if not ready and not first:
        return Decision(answer=Owed())
    notices = [
        Notice(type=NoticeKind.READY.value, state=path, epoch=doc.lease.epoch, reason=reason)
        for path, doc in ready.items()
    ]
    return Decision(
        answer=Owed(states=tuple(ready)),
        changes=WriteSet(
            meta=_started(now, timeout_s) if first else {},
            events=[Event(type="RunStarted")] if first else [],
            notices=notices,
            sooner={path: doc.attention(now + REMINDER_DELAY) for path, doc in ready.items()},
            listed=True,
        ),
    )


def heal_deadline(snapshot: Snapshot, timeout_s: int | None) -> Decision[bool]:
    """Restart the run's own timeout, where the server's clock stepped back after it was set."""
    meta, limit = snapshot.meta, from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or limit is None or timeout_s is None:
        return Decision(answer=False)
    if not is_ahead(limit, snapshot.now, timeout_s):
        return Decision(answer=False)
    return Decision(answer=True, changes=WriteSet(meta=deadline(snapshot.now, timeout_s)))


def _started(now: int, timeout_s: int | None) -> dict[str, Json]:
    return {"started_at": to_text(now)} | deadline(now, timeout_s)


def deadline(now: int, timeout_s: int | None) -> dict[str, Json]:
    """Return the meta field `deadline`, by which the run must have ended; empty without TimeoutSeconds."""
    return {} if timeout_s is None else {"deadline": to_text(now + timeout_s * SECOND)}
