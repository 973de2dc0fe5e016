"""What follows when a unit of an open run ends: followers become ready, groups close, the run ends. Pure.

The same transaction that ends the unit writes all of it. A failed unit ends nothing but itself: its followers continue
to wait until it is tried again, skipped, or the run is closed.
"""

from collections import deque
from collections.abc import Iterable

from dcf.asl.steps import Advance, Broke, Ended
from dcf.core.completing.transition import Claimant, Transition
from dcf.core.documents.decision import Event, More, Notice, Snapshot
from dcf.core.documents.kinds import GROUP
from dcf.core.documents.model import Lease, RunStatus, StateDoc, Status
from dcf.core.documents.notices import NoticeKind, notice_about, ready_after
from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.core.leasing.lease import acquired_event, granted
from dcf.features.growing.counts import GROWTH, Growth
from dcf.features.growing.model import Units
from dcf.features.growing.refusals import CHILDREN_OPEN
from dcf.values.digest import next_token
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_DECIDE = "`retry_unit` tries it again, `resolve_state(skip=true)` does without it."
_UNITS_FAILED = "GroupFailed: It was ended as failed."
WELL = frozenset({Status.SUCCEEDED, Status.SKIPPED})
"""Statuses with which a unit has ended well: its followers may continue."""


def succeeded(state: str, output: Json) -> Advance:
    """Return the advance of a unit that was completed."""
    return Advance(steps=(Ended(path=state, output=output),), outcome="open")


def failed(state: str, error: str | None, cause: str | None) -> Advance:
    """Return the advance of a unit that failed: the run continues."""
    return Advance(steps=(Broke(path=state, error=error, cause=cause),), outcome="open")


def unless_children(growth: Growth | None, state: str) -> Refusal | None:
    """Return the refusal to complete a unit while units below it are open."""
    left = 0 if growth is None else growth.children.get(state, 0)
    if not left:
        return None
    return CHILDREN_OPEN.refuse(name=state, left=left)


def follow(
    step: Transition, snapshot: Snapshot, units: Units, state: str, claimant: Claimant | None = None
) -> More | None:
    """Write what follows from the end of a unit, as its document says it ended: the planner hears of a failure."""
    doc = step.writes.states[state]
    if doc.status in WELL:
        return settle(step, snapshot, units, (state,), claimant)
    if doc.status is Status.FAILED and step.meta.has_planner:
        step.writes.notices.append(_failure(state, doc, step.epoch))
    return None


def _failure(state: str, doc: StateDoc, epoch: int) -> Notice:
    """Return the notice to the planner that a unit failed; what waits for it waits until somebody decides."""
    content: dict[str, Json] = {"from": "dcf", "text": f"Unit '{state}' failed: {doc.last_error}. {_DECIDE}"}
    return notice_about(NoticeKind.NOTE, f"failed-{epoch}", state, epoch, content)


def settle(
    step: Transition, snapshot: Snapshot, units: Units, ended: Iterable[str], claimant: Claimant | None = None
) -> More | None:
    """Write what follows from units that have ended well; return More if a document was not read."""
    growth = step.writes.written(GROWTH) or snapshot.part(GROWTH)
    assert growth is not None, "the end of a unit is decided with the counts read"
    pending = deque(ended)
    while pending:
        name = pending.popleft()
        unread = tuple(follower for follower in units.followers_of(name) if step.current(follower) is None)
        if unread:
            return More(states=unread)
        for follower in units.followers_of(name):
            if follower in snapshot.entries:
                step.given[follower] = snapshot.entries[follower].raw
            _release(step, follower, name, claimant)
        unit = units.by_name[name]
        growth = growth.opened(unit.group, unit.parent, -1)
        waiting = () if unit.group is None else (unit.group,)
        for group in (
            *waiting,
            *(follower for follower in units.followers_of(name) if units.by_name[follower].is_group),
        ):
            doc = step.current(group)
            if doc is None:
                return More(states=(group,))
            if growth.of(group).is_done and doc.is_ready and doc.status not in WELL:
                close_group(step, group, doc)
                pending.append(group)
    step.writes.put(GROWTH, growth)
    end_if_done(step, growth)
    return None


def end_if_done(step: Transition, growth: Growth) -> None:
    """End the run if it is sealed and nothing is open."""
    if growth.run.is_done and step.run_status is RunStatus.RUNNING:
        step.succeed_run(None)


def close_group(step: Transition, group: str, doc: StateDoc, status: Status = Status.SUCCEEDED) -> None:
    """Write that a group has ended: it began when it was added, or when the last of what it waits for had ended."""
    began = doc.lease.epoch or step.now
    step.writes.states[group] = replace(
        doc,
        status=status,
        lease=Lease(epoch=max(doc.lease.epoch, step.epoch)),
        started_at=doc.started_at or min(began, step.now),
        finished_at=step.now,
        last_error=None if status is Status.SUCCEEDED else _UNITS_FAILED,
    )
    ended = "StateSucceeded" if status is Status.SUCCEEDED else "StateFailed"
    step.writes.events.append(Event(type=ended, state=group, data={"epoch": step.epoch}))


def settled(doc: StateDoc | None) -> int:
    """Return the epoch with which a dependency was settled; 0 while it has not ended well."""
    return max(doc.lease.epoch, 1) if doc is not None and doc.status in WELL else 0


def open_unit(step: Transition, name: str, doc: StateDoc, source: str | None, claimant: Claimant | None = None) -> None:
    """Write that a unit can be taken: lease it to the claimant if that may take it, or tell its agents."""
    doc = replace(doc, status=Status.PENDING, lease=Lease(epoch=max(doc.lease.epoch, step.epoch)))
    data = {"epoch": doc.lease.epoch} | ({} if source is None else {"source": source})
    step.writes.events.append(Event(type="StateEntered", state=name, data=data))
    step.entered = (*step.entered, name)
    if claimant is not None and _may_claim(step, name, claimant):
        if len(step.claimed) < claimant.most:
            _lease(step, name, doc, claimant)
            return
        step.left = (*step.left, name)
    step.writes.states[name] = doc
    step.writes.timers[name] = doc.attention(step.now + REMINDER_DELAY)
    step.writes.notices.append(ready_after(name, doc.lease.epoch, source))


def _release(step: Transition, follower: str, name: str, claimant: Claimant | None) -> None:
    """Write that a unit no longer waits for this one."""
    doc = step.current(follower)
    assert doc is not None, "just looked"
    doc = replace(doc, waits_for={**doc.waits_for, name: step.epoch})
    if doc.is_ready and doc.kind is None and doc.status is Status.PENDING:
        open_unit(step, follower, doc, name, claimant)
    elif not doc.status.is_terminal:
        begins = doc.kind == GROUP and doc.is_ready
        step.writes.states[follower] = replace(doc, started_at=step.now) if begins else doc


def _may_claim(step: Transition, name: str, claimant: Claimant) -> bool:
    known = name in step.meta.agents and name in step.given and not step.meta.is_halted
    return known and step.meta.may_take(name, claimant.owner)


def _lease(step: Transition, name: str, doc: StateDoc, claimant: Claimant) -> None:
    token = next_token(claimant.token, name)
    owner, ttl_s, key = claimant.owner, claimant.ttl_s, claimant.key
    lease = granted(doc.lease, owner=owner, token=token, ttl_s=ttl_s, now=step.now, key=key)
    taken = replace(doc, status=Status.RUNNING, attempts=doc.attempts + 1, lease=lease, started_at=step.now)
    step.claimed = (*step.claimed, name)
    step.writes.states[name] = taken
    step.writes.timers[name] = taken.attention(step.now + claimant.ttl_s * SECOND)
    step.writes.events.append(acquired_event(name, taken, takeover=False))
