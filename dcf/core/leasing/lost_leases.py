"""Ends the lost lease of an agent whose account is, or was, closed by a usage limit: the attempt is not counted. Pure.

Such an agent cannot report the limit: its host was killed, or its model is out. Whether its account was closed is not
in the documents of the run, so a decision that meets such a lease first answers with it (`LostLease`). The control
plane asks for the excuse, and has it applied here.
"""

from collections.abc import Container
from typing import Literal, TypeAlias

from dcf.core.documents import receipts
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import Lease, RunStatus, StateDoc, Status
from dcf.core.documents.notices import lost_notices
from dcf.core.leasing.parking import Excuse, excused, is_alone, unless_short
from dcf.values.records import record, replace

Excusing: TypeAlias = Literal["excused", "counted", "too_long"]
"""The end of a lost lease. `too_long`: the limit ends later than a visit may wait."""


@record(frozen=True, slots=True, kw_only=True)
class LostLease:
    """A lease that its holder lost: it was granted at `since`, and ended at `until`."""

    state: str
    agent: str
    epoch: int
    since: int
    until: int


def lost_lease(state: str, doc: StateDoc, now: int, agents: Container[str]) -> LostLease | None:
    """Return the lease that one of these agents has lost; None if the state has no such lease."""
    lease, owner = doc.lease, doc.lease.owner_agent_id
    if lease.token is None or owner is None or doc.kind is not None or owner not in agents:
        return None
    ends = [time for time in (lease.expires_at, doc.heartbeat_due) if time is not None]
    until = min(ends, default=now)
    if until > now or doc.status.is_terminal:
        return None
    since = doc.started_at or lease.ts or until
    return LostLease(state=state, agent=owner, epoch=lease.epoch, since=since, until=until)


def excuse_lost(snapshot: Snapshot, lost: LostLease, excuse: Excuse) -> Decision[Excusing]:
    """End a lost lease without counting the attempt. The state is parked, unless another agent may take it now."""
    doc, meta, now = snapshot.states[lost.state], snapshot.meta, snapshot.now
    if meta is None or meta.status is not RunStatus.RUNNING or lost_lease(lost.state, doc, now, (lost.agent,)) != lost:
        return Decision(answer="counted")
    ended = replace(
        doc,
        status=Status.PENDING,
        lease=Lease(epoch=doc.lease.epoch, ts=now, ttl_s=doc.lease.ttl_s),
        claim=None,
        deadline=None if doc.deadline is None else doc.deadline + now - lost.until,
    )
    freed = excused(ended, excuse if is_alone(meta, lost.state, lost.agent) else Excuse(), now, by=lost.agent)
    if unless_short(lost.state, doc, freed) is not None:
        return Decision(answer="too_long")
    reason = f"account {excuse.account} was closed before the lease expired: the attempt is not counted"
    event = Event(type="LeaseReleased", state=lost.state, data={"epoch": lost.epoch, "forced": False, "reason": reason})
    changes = WriteSet(
        states={lost.state: freed},
        events=[event],
        notices=lost_notices(lost.state, doc.lease, "expired"),
        timers={lost.state: freed.attention(freed.not_before or now)},
        claims={} if doc.claim is None else {doc.claim: None},
        receipts=receipts.lost(lost.state, doc, now),
    )
    return Decision(answer="excused", changes=changes)
