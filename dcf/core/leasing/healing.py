"""Corrects times that lie too far in the future after the server clock stepped back. Pure.

Every time in a document was set as "now plus a duration". A time further ahead than its duration was set before the
step, and the duration begins again. Nothing else changes, so this is idempotent and safe at any time. A Wait until a
timestamp of the workflow keeps that timestamp.
"""

from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import Lease, RunStatus, StateDoc
from dcf.core.leasing.attention import latest_look
from dcf.values.instants import SECOND, is_ahead
from dcf.values.records import replace


def heal(snapshot: Snapshot, state: str, *, is_moment: bool = False) -> Decision[bool]:
    """Correct the times of one open state and its timer. Answer True if anything was changed.

    `is_moment`: the state is a Wait until a timestamp of the workflow.
    """
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    due = snapshot.timers.get(state)
    if doc is None or due is None or meta is None or meta.status is not RunStatus.RUNNING or doc.status.is_terminal:
        return Decision(answer=False)
    mended = healed(doc, now, is_moment=is_moment)
    latest = latest_look(mended, meta, now)
    at = latest if is_ahead(due, latest) else due
    if mended == doc and at == due:
        return Decision(answer=False)
    event = Event(type="TimesHealed", state=state, data={"epoch": doc.lease.epoch})
    states = {} if mended == doc else {state: mended}
    return Decision(answer=True, changes=WriteSet(states=states, events=[event], timers={state: at}))


def healed(doc: StateDoc, now: int, *, is_moment: bool = False) -> StateDoc:
    """Return the document with its times corrected."""
    begun = doc.not_before if is_moment else _not_before(doc, now)
    deadline = _deadline(doc, max(now, begun or 0))
    attached = tuple(value.healed(now) for value in doc.attached)
    return replace(doc, lease=_lease(doc, now), not_before=begun, deadline=deadline, attached=attached)


def _lease(doc: StateDoc, now: int) -> Lease:
    lease = doc.lease
    if doc.waits_outside and lease.ts is not None and is_ahead(lease.ts, now):
        return replace(lease, ts=now)
    if lease.token is None or lease.expires_at is None or lease.ttl_s is None:
        return lease
    if not is_ahead(lease.expires_at, now, lease.ttl_s):
        return lease
    return replace(lease, ts=now, expires_at=now + lease.ttl_s * SECOND)


def _not_before(doc: StateDoc, now: int) -> int | None:
    """Return the corrected due time of a retry or a Wait. A Wait begins when it is entered.

    A Task without a delay was released to wait for an answer, and became due with the answer.
    """
    at = doc.not_before
    if at is None:
        return None
    if doc.kind == "Wait" and doc.started_at is not None:
        return now + at - doc.started_at if is_ahead(doc.started_at, now) else at
    delay_s = 0 if doc.delay_s is None and doc.kind is None else doc.delay_s
    if delay_s is not None and is_ahead(at, now, delay_s):
        return now + delay_s * SECOND
    return at


def _deadline(doc: StateDoc, begins: int) -> int | None:
    if doc.deadline is None or doc.timeout_s is None or not is_ahead(doc.deadline, begins, doc.timeout_s):
        return doc.deadline
    return begins + doc.timeout_s * SECOND
