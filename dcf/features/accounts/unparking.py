"""Decides about parked states: they are ready when their account opens, and planners hear of limits that are too long.

Pure.
"""

from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.limit_refusals import limit_words
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.records import replace


def resume(snapshot: Snapshot, state: str, account: str) -> Decision[bool]:
    """Make a state ready now that waits for this account; the clock announces it. The answer is whether it waited."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    met = doc.limit(now)
    if meta is None or meta.status is not RunStatus.RUNNING or doc.status.is_terminal:
        return Decision(answer=False)
    if met is None or met.account != account:
        return Decision(answer=False)
    saved = met.until - now
    ready = replace(
        doc,
        not_before=None,
        delay_s=None,
        deadline=None if doc.deadline is None else doc.deadline - saved,
        parked=replace(met, until=now, seconds=max(0, met.seconds - saved // SECOND)),
    )
    event = Event(type="LimitEnded", state=state, data={"account": account})
    return Decision(answer=True, changes=WriteSet(states={state: ready}, events=[event], timers={state: now}))


def warn(snapshot: Snapshot, state: str) -> Decision[bool]:
    """Tell the planner that the run times out before the limit of a state ends; True if it does.

    The note has the same id for all states of the run, and its receiver drops a repetition.
    """
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    met, times_out = doc.limit(now), from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or met is None or not meta.has_planner:
        return Decision(answer=False)
    if times_out is None or times_out >= met.until:
        return Decision(answer=False)
    limit = limit_words(met, f"{(met.until - now) // SECOND} s")
    text = f"State '{state}' is parked. {limit} The run times out first, at {to_text(times_out)}."
    note = Notice(
        type=f"{NoticeKind.NOTE}.limit-{times_out}",
        state=None,
        epoch=times_out,
        reason=NoticeKind.NOTE.value,
        content={"from": "dcf", "text": text},
    )
    return Decision(answer=True, changes=WriteSet(notices=[note]))
