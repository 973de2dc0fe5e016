"""When the clock must look at an open state, and what it then finds.

`dcf pulse` fires these; it decides nothing itself. A state is looked at when its lease ends, or when it has been
ready for a while and nobody took it. Pure.
"""

from dataclasses import replace

from dcf.core.answers import Owed
from dcf.core.decision import Changes, Decision, Event, Notice, Snapshot
from dcf.core.model import StateDoc, Status
from dcf.values.instants import SECOND

REMINDER_DELAY = 15 * SECOND
"""A ready state that nobody took is announced again after this; each time it doubles."""

JOIN_DELAY = 20 * SECOND
"""How often the clock looks whether a Parallel or Map is over, should whoever ended its last branch have died."""

NEVER = 2**53
"""A time that does not come, yet keeps a state listed as open: its run has not been started."""

_LONGEST_DELAY = 300 * SECOND
_MOST_DOUBLINGS = 8


def look(snapshot: Snapshot, state: str) -> Decision[Owed]:  # noqa: PLR0911 - one line for each finding reads best
    """Find out what to do about an open state whose time has come."""
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status.value != "running" or doc.status.is_terminal:
        closed = {state: doc} if doc is not None and state in snapshot.void else {}
        return Decision(answer=Owed(fired="closed"), changes=Changes(states=closed, timers={state: None}))
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
    return _remind(state, doc, now)


def hasten(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Have a state that nobody took announced again at once: whoever it waits for could not take it until now."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    if meta is None or meta.status.value != "running" or not doc.is_claimable(now):
        return Decision(answer=Owed())
    return Decision(answer=Owed(states=(state,)), changes=Changes(timers={state: now}))


def _remind(state: str, doc: StateDoc, now: int) -> Decision[Owed]:
    """Owe one more notification; its number makes the event id new, so that receivers do not drop it."""
    number = _reminders(doc) + 1
    expired = doc.lease.token is not None
    notice = Notice(
        type=f"{'lease_expired' if expired else 'reminder'}-{number}",
        state=state,
        epoch=doc.lease.epoch,
        reason="lease_expired" if expired else "reminder",
    )
    event = Event(type="StateReminded", state=state, data={"epoch": doc.lease.epoch, "reason": notice.reason})
    later = now + min(REMINDER_DELAY << min(number, _MOST_DOUBLINGS), _LONGEST_DELAY)
    return Decision(
        answer=Owed(states=(state,), fired="reminded"),
        changes=Changes(
            states={state: replace(doc, last={**doc.last, "reminders": number})},
            events=[event],
            notices=[notice],
            timers={state: doc.attention(later)},
        ),
    )


def _reminders(doc: StateDoc) -> int:
    """Count the reminders so far; `last` may have been written by hand."""
    number = doc.last.get("reminders")
    return number if isinstance(number, int) and number > 0 else 0
