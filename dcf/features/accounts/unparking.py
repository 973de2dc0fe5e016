"""Makes a parked state ready before its time, when its account was opened. Pure."""

from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.features.accounts.explaining import limit_of
from dcf.values.instants import SECOND
from dcf.values.records import replace


def resume(snapshot: Snapshot, state: str, account: str) -> Decision[bool]:
    """Make a state ready now that waits for this account; the clock announces it. The answer is whether it waited."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    met = limit_of(doc, now)
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
