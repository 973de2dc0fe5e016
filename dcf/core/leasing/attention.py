"""Decides when the timer loop must check an open state, and what is due then: timeouts, reminders, retries. Pure.

The timer loop (`dcf store pulse`) calls these functions and makes no decision itself. It checks a state when its lease
ends, and when it has been ready for a while without a lease: then its agents are reminded, and after many reminders the
planner.
"""

from collections.abc import Container

from dcf.core.completing.waiting import NO_LOOK, next_look
from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus, StateDoc, Status
from dcf.core.documents.notices import NoticeKind, start_child, stop_notices
from dcf.core.leasing.extensions import LEASING
from dcf.core.leasing.lost_leases import LostLease, lost_lease
from dcf.values.instants import SECOND, from_text
from dcf.values.records import replace

REMINDER_DELAY = 15 * SECOND
"""Delay before the first reminder of a ready state that was not leased; it doubles each time."""

JOIN_DELAY = 20 * SECOND
"""Interval of checks whether a Parallel or Map has ended, in case the process that should join it died."""

START_DELAY = 60 * SECOND
"""Delay before a run that was not started is listed as stuck and its planner reminded; it doubles each time."""

MOST_REMINDERS = 10
"""Reminders (about half an hour) after which the planner is notified; further ones come once an hour."""

PAUSED_DELAY = 300 * SECOND
"""Interval of checks of a ready state of a paused or blocked run, in case resuming did not see it."""

NEVER = NO_LOOK
"""A timer that never fires."""

_LONGEST_DELAY = 300 * SECOND
_HOUR = 3600 * SECOND
_MOST_DOUBLINGS = 8


def look(snapshot: Snapshot, state: str, excusable: Container[str] = ()) -> Decision[LostLease | Owed]:
    """Decide what to do about an open state whose timer is due. Nothing is done about the states of a run on hold.

    The lost lease of an agent in `excusable` is returned: it may have to be excused.
    """
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status is not RunStatus.RUNNING or doc.status.is_terminal:
        return _close(snapshot, state, doc)
    if snapshot.timers.get(state, NEVER) > now:
        return Decision(answer=Owed(fired="not_due"))  # another timer loop was here first
    if meta.hold is not None:  # what would be done about it may end this process too
        return Decision(answer=Owed(fired="paused"), changes=WriteSet(timers={state: now + PAUSED_DELAY}))
    lost = lost_lease(state, doc, now, excusable)
    return _looked(snapshot, state, doc, meta) if lost is None else Decision(answer=lost)


def _looked(snapshot: Snapshot, state: str, doc: StateDoc, meta: Meta) -> Decision[Owed]:
    if doc.timed_out(snapshot.now) is not None:
        return Decision(answer=Owed(fired="timed_out"))
    for due in LEASING.looks:
        decision = due(snapshot, state, doc)
        if decision is not None:
            return decision
    return _look(state, doc, meta, snapshot.now)


def _look(state: str, doc: StateDoc, meta: Meta, now: int) -> Decision[Owed]:  # noqa: PLR0911 - a line a finding
    """Decide what to do about a state for which no capability has anything to do."""
    if doc.lease.is_live(now):
        held_until = doc.attention(doc.lease.expires_at or now)
        return Decision(answer=Owed(fired="held"), changes=WriteSet(timers={state: held_until}))
    if doc.not_before is not None and doc.not_before > now:
        return Decision(answer=Owed(fired="not_due"), changes=WriteSet(timers={state: doc.attention(doc.not_before)}))
    if doc.is_scope and doc.status is Status.RUNNING:
        return Decision(answer=Owed(fired="scope"), changes=WriteSet(timers={state: now + JOIN_DELAY}))
    if doc.waits_outside:
        again = WriteSet(timers={state: next_look(doc, now)}, notices=start_child(state, doc))
        return Decision(answer=Owed(fired="outside"), changes=again)
    if doc.kind is not None:
        return Decision(answer=Owed(fired="waited", size=None if doc.scope is None else doc.scope.size))
    if doc.tries >= meta.max_attempts:
        return Decision(answer=Owed(fired="exhausted"))
    return _announce(state, doc, meta, now)


def _close(snapshot: Snapshot, state: str, doc: StateDoc | None) -> Decision[Owed]:
    """Remove the timer of a closed state. If its scope has ended, write its cancellation, as follow-up work does."""
    closed = {state: doc} if doc is not None and state in snapshot.void else {}
    notices = stop_notices({state: snapshot.void[state]} if closed else {})
    events = [Event(type="StateCancelled", state=path, data={"epoch": doc.lease.epoch}) for path, doc in closed.items()]
    claims: dict[str, str | None] = {doc.claim: None for doc in closed.values() if doc.claim is not None}
    changes = WriteSet(states=closed, events=events, notices=notices, timers={state: None}, claims=claims)
    return Decision(answer=Owed(fired="closed"), changes=changes)


def hasten(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Make a ready state due now, so that it is announced again: its agent could not take it until now."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    if meta is None or meta.status is not RunStatus.RUNNING or meta.is_halted or not doc.is_claimable(now):
        return Decision(answer=Owed())
    if not meta.is_started and (meta.has_planner or awaits_start(doc, meta)):
        return Decision(answer=Owed())  # starting the run will announce it
    return Decision(answer=Owed(states=(state,)), changes=WriteSet(timers={state: now}))


def latest_look(doc: StateDoc, meta: Meta, now: int) -> int:
    """Return the latest time at which the timer loop must check an open state."""
    if doc.lease.is_live(now) and doc.lease.expires_at is not None:
        return doc.attention(doc.lease.expires_at)
    if doc.not_before is not None and doc.not_before > now:
        return doc.attention(doc.not_before)
    if doc.is_scope and doc.status is Status.RUNNING:
        return now + JOIN_DELAY
    if doc.waits_outside:
        return next_look(doc, now)
    if meta.is_halted:
        return doc.attention(now + PAUSED_DELAY)
    waits = awaits_start(doc, meta)
    return doc.attention(now + (_start_delay(doc.start_reminders) if waits else _delay(doc.reminders)))


def _announce(state: str, doc: StateDoc, meta: Meta, now: int) -> Decision[Owed]:
    """Remind the agents or the planner that a ready state waits. While leases are suspended, only set the next check.

    The operation that ends the suspension notifies the agents.
    """
    if meta.is_halted:
        return Decision(
            answer=Owed(fired="paused"), changes=WriteSet(timers={state: doc.attention(now + PAUSED_DELAY)})
        )
    if awaits_start(doc, meta):
        return _remind_of_start(state, doc, meta, now)
    return _remind(state, doc, meta, now)


def _remind(state: str, doc: StateDoc, meta: Meta, now: int) -> Decision[Owed]:
    """Add one more reminder to the outbox. Its number makes the event id new, so that receivers do not drop it."""
    number = doc.reminders + 1
    kind = NoticeKind.REMINDER if doc.lease.token is None else NoticeKind.LEASE_EXPIRED
    notices = [Notice(type=kind.numbered(number), state=state, epoch=doc.lease.epoch, reason=kind.value)]
    events = [Event(type="StateReminded", state=state, data={"epoch": doc.lease.epoch, "reason": kind.value})]
    if number == MOST_REMINDERS and meta.has_planner:
        notices.append(
            Notice(type=NoticeKind.UNTAKEN.value, state=None, epoch=doc.lease.epoch, reason="not_taken", about=state)
        )
        events.append(Event(type="StateUntaken", state=state, data={"epoch": doc.lease.epoch, "reminders": number}))
    return Decision(
        answer=Owed(states=(state,), fired="reminded"),
        changes=WriteSet(
            states={state: replace(doc, reminders=number)},
            events=events,
            notices=notices,
            timers={state: doc.attention(now + _delay(number))},
        ),
    )


def _remind_of_start(state: str, doc: StateDoc, meta: Meta, now: int) -> Decision[Owed]:
    """Count that the run waits to be started, which lists it as stuck, and tell its planner if it has one."""
    number = doc.start_reminders + 1
    notice = Notice(type=NoticeKind.UNSTARTED.numbered(number), state=None, epoch=doc.lease.epoch, reason="not_started")
    event = Event(type="PlannerReminded", data={"reason": "not_started", "reminders": number})
    return Decision(
        answer=Owed(fired="reminded"),
        changes=WriteSet(
            states={state: replace(doc, start_reminders=number)},
            events=[event] if meta.has_planner else [],
            notices=[notice] if meta.has_planner else [],
            timers={state: doc.attention(now + _start_delay(number))},
        ),
    )


def awaits_start(doc: StateDoc, meta: Meta) -> bool:
    """Return True if the run was not started and no agent has leased the state.

    Without a planner, agents may search for states of the run on their own: then only its first states wait.
    """
    if meta.is_started or doc.lease.token is not None or doc.attempts:
        return False
    return meta.has_planner or doc.lease.epoch == from_text(meta.created_at)


def _delay(number: int) -> int:
    """Return the delay in microseconds before the next reminder, after `number` reminders."""
    if number >= MOST_REMINDERS:
        return _HOUR
    return min(REMINDER_DELAY << min(number, _MOST_DOUBLINGS), _LONGEST_DELAY)


def _start_delay(number: int) -> int:
    return min(START_DELAY << min(number, _MOST_DOUBLINGS), _HOUR)
