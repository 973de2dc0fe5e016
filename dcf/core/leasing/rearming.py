"""Gives an open state its timer again where Redis has lost it, and the notification that was lost with it. Pure.

The transaction that enters a state writes its document, its timer and its notifications. A Redis that starts
with a torn log may have applied the first of these only. Such a state is in no list: no timer loop checks it, and no
claim finds it. Where a transaction is applied as a whole, this is not needed.
"""

from typing import Final

from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.kinds import GROUP
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.notices import NoticeKind
from dcf.core.leasing.attention import awaits_start, latest_look

_LOST: Final = "timer_lost"


def is_listed(doc: StateDoc) -> bool:
    """Return True if a state must have a timer: it was entered, is open, waits for no other state and is no group."""
    return bool(doc.lease.epoch) and not doc.status.is_terminal and doc.is_ready and doc.kind != GROUP


def rearm(snapshot: Snapshot, state: str) -> Decision[bool]:
    """Set the timer of a state that has lost it. Answer True if it had.

    Its agents are notified as when it was entered; an agent drops a repeated notification. The timer loop sends the
    reminders of an ended lease.
    """
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status is not RunStatus.RUNNING:
        return Decision(answer=False)
    if state in snapshot.timers or not is_listed(doc):
        return Decision(answer=False)
    is_free, was_leased, epoch = doc.is_claimable(now), doc.lease.token is not None, doc.lease.epoch
    is_announced = is_free and not was_leased and not meta.is_halted and not awaits_start(doc, meta)
    ready = Notice(type=NoticeKind.READY.value, state=state, epoch=epoch, reason=_LOST)
    changes = WriteSet(
        events=[Event(type="TimerRearmed", state=state, data={"epoch": epoch})],
        notices=[ready] if is_announced else [],
        timers={state: now if is_free and was_leased else latest_look(doc, meta, now)},
        listed=True,
    )
    return Decision(answer=True, changes=changes)
