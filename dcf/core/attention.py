"""When the clock must look at an open state, and what it then finds.

`dcf pulse` fires these; it decides nothing itself. A state is looked at when its lease ends, or when it has been
ready for a while and nobody took it: whoever may take it is told again, and the planner when that leads nowhere. Pure.
"""

from dataclasses import replace

from dcf.core.answers import Owed
from dcf.core.decision import Changes, Decision, Event, Notice, Snapshot
from dcf.core.model import Meta, StateDoc, Status
from dcf.core.notices import NoticeKind, stop_notices
from dcf.values.instants import SECOND

REMINDER_DELAY = 15 * SECOND
"""A ready state that nobody took is announced again after this; each time it doubles."""

JOIN_DELAY = 20 * SECOND
"""How often the clock looks whether a Parallel or Map is over, should whoever ended its last branch have died."""

START_DELAY = 60 * SECOND
"""The planner of a run that it did not start is told so after this; each time it doubles."""

MOST_REMINDERS = 10
"""After so many, in about half an hour, the planner is told, and reminders come once an hour."""

NEVER = 2**53
"""A time that does not come, yet keeps a state listed as open: its run has not been started."""

_LONGEST_DELAY = 300 * SECOND
_HOUR = 3600 * SECOND
_MOST_DOUBLINGS = 8


def look(snapshot: Snapshot, state: str) -> Decision[Owed]:  # noqa: PLR0911 - one line for each finding reads best
    """Find out what to do about an open state whose time has come."""
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status.value != "running" or doc.status.is_terminal:
        return _close(snapshot, state, doc)
    if snapshot.timers.get(state, NEVER) > now:
        return Decision(answer=Owed(fired="not_due"))  # another clock was here first
    if doc.timed_out(now) is not None:
        return Decision(answer=Owed(fired="timed_out"))
    if doc.lease.is_live(now):
        held_until = doc.attention(doc.lease.expires_at or now)
        return Decision(answer=Owed(fired="held"), changes=Changes(timers={state: held_until}))
    if doc.not_before is not None and doc.not_before > now:
        return Decision(answer=Owed(fired="not_due"), changes=Changes(timers={state: doc.attention(doc.not_before)}))
    if doc.is_scope and doc.status is Status.RUNNING:
        return Decision(answer=Owed(fired="scope"), changes=Changes(timers={state: now + JOIN_DELAY}))
    if doc.kind is not None:
        return Decision(answer=Owed(fired="waited", size=None if doc.scope is None else doc.scope.size))
    if doc.tries >= meta.max_attempts:
        return Decision(answer=Owed(fired="exhausted"))
    if meta.has_planner and _waits_for_start(doc, meta):
        return _remind_planner(state, doc, now)
    return _remind(state, doc, meta, now)


def _close(snapshot: Snapshot, state: str, doc: StateDoc | None) -> Decision[Owed]:
    """Look no more at a state that is closed; one whose scope is over is written down as such."""
    closed = {state: doc} if doc is not None and state in snapshot.void else {}
    notices = stop_notices({state: snapshot.void[state]} if closed else {})
    return Decision(answer=Owed(fired="closed"), changes=Changes(states=closed, notices=notices, timers={state: None}))


def hasten(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Have a state that nobody took announced again at once: whoever it waits for could not take it until now."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    if meta is None or meta.status.value != "running" or not doc.is_claimable(now):
        return Decision(answer=Owed())
    if meta.has_planner and not meta.is_started:
        return Decision(answer=Owed())  # its start will announce it
    return Decision(answer=Owed(states=(state,)), changes=Changes(timers={state: now}))


def latest_look(doc: StateDoc, meta: Meta, now: int) -> int:
    """Tell until when the clock must have looked at an open state, whatever was planned."""
    if doc.lease.is_live(now) and doc.lease.expires_at is not None:
        return doc.attention(doc.lease.expires_at)
    if doc.not_before is not None and doc.not_before > now:
        return doc.attention(doc.not_before)
    if doc.is_scope and doc.status is Status.RUNNING:
        return now + JOIN_DELAY
    if not _waits_for_start(doc, meta):
        return doc.attention(now + _delay(reminders(doc)))
    return doc.attention(now + _start_delay(_counted(doc, "start_reminders"))) if meta.has_planner else NEVER


def reminders(doc: StateDoc) -> int:
    """Count how often its agents were reminded since the state was entered or last leased."""
    return _counted(doc, "reminders")


def _remind(state: str, doc: StateDoc, meta: Meta, now: int) -> Decision[Owed]:
    """Owe one more notification; its number makes the event id new, so that receivers do not drop it."""
    number = reminders(doc) + 1
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
        changes=Changes(
            states={state: _with_count(doc, "reminders", number)},
            events=events,
            notices=notices,
            timers={state: doc.attention(now + _delay(number))},
        ),
    )


def _remind_planner(state: str, doc: StateDoc, now: int) -> Decision[Owed]:
    """Tell the planner that the run it created waits to be started."""
    number = _counted(doc, "start_reminders") + 1
    kind = NoticeKind.UNSTARTED.numbered(number)
    return Decision(
        answer=Owed(fired="reminded"),
        changes=Changes(
            states={state: _with_count(doc, "start_reminders", number)},
            events=[Event(type="PlannerReminded", data={"reason": "not_started", "reminders": number})],
            notices=[Notice(type=kind, state=None, epoch=doc.lease.epoch, reason="not_started")],
            timers={state: doc.attention(now + _start_delay(number))},
        ),
    )


def _waits_for_start(doc: StateDoc, meta: Meta) -> bool:
    """Tell whether its run was not kicked off, and nobody took it all the same."""
    return not meta.is_started and doc.lease.token is None and not doc.attempts


def _delay(number: int) -> int:
    """Tell how long after so many reminders the next one comes."""
    if number >= MOST_REMINDERS:
        return _HOUR
    return min(REMINDER_DELAY << min(number, _MOST_DOUBLINGS), _LONGEST_DELAY)


def _start_delay(number: int) -> int:
    return min(START_DELAY << min(number, _MOST_DOUBLINGS), _HOUR)


def _counted(doc: StateDoc, what: str) -> int:
    """Read a count of this visit; `last` may have been written by hand."""
    found = doc.last.get(what)
    if not isinstance(found, dict) or found.get("epoch") != doc.lease.epoch:
        return 0
    number = found.get("times")
    return number if isinstance(number, int) and number > 0 else 0


def _with_count(doc: StateDoc, what: str, number: int) -> StateDoc:
    return replace(doc, last={**doc.last, what: {"epoch": doc.lease.epoch, "times": number}})
