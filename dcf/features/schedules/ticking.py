"""Decides what a schedule does now: which ticks are due, whether one is started, and what is noted of it. Pure.

A tick is started in three steps, and a process may die between any two of them:

1. It is written into the schedule's document that this tick is being started (`Intent`), by whom, until when.
2. The run is created. Its id follows from the schedule and the tick; after `until` the creation is refused.
3. The outcome is written in place of the intent, by the same process, and only where the run is found.

A process that dies after the first step leaves an intent that ends. The next timer loop takes it up, and finds the run
if the second step was done. At most one process is at the second step, so a run that ended and was deleted early is not
started again by a slow loop. As each step is answered before the next, any prefix of what Redis wrote is in order. So a
failover or a power loss may undo steps, from the last on. It never leaves a tick that is noted as started without its
run.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from dcf.features.schedules.model import CatchUp, Intent, Overlap, Schedule, ScheduleTrouble, TickRecord
from dcf.features.schedules.timing import MOST_TICKS, due_ticks
from dcf.values.instants import SECOND, to_text
from dcf.values.records import record
from dcf.values.refusal import Refusal

START_S: Final = 30
"""Seconds that a process has for one start; after that another takes it up."""

LATE_S: Final = 60
"""Seconds after which a tick that was not started counts as missed."""

_WAITING_S: Final = 2
_KEEP_S: Final = 30 * 86_400
"""Seconds after which a schedule is looked at, even if it is idle: its definition is then kept as long again."""

_SLACK: Final = SECOND

Running: TypeAlias = Mapping[str, bool | None]
"""Runs by whether they are running; None: there is no such run."""


@record(frozen=True, slots=True, kw_only=True)
class Begun:
    """The run of the tick is there. `exists`: it was found in the transaction that notes it."""

    exists: bool


@record(frozen=True, slots=True, kw_only=True)
class NotBegun:
    """The tick got no run, and will not get one: `stops` the schedule as well."""

    why: Refusal
    stops: bool = False


@record(frozen=True, slots=True, kw_only=True)
class PutOff:
    """The start is tried again after `for_s` seconds."""

    why: Refusal
    for_s: float


Outcome: TypeAlias = Begun | NotBegun | PutOff


def look(schedule: Schedule, now: int, running: Running, holder: str) -> tuple[Schedule, Intent | None]:
    """Return the schedule after a look at it, and the intent that the caller must carry out, if there is one.

    `running` has each of `schedule.runs`.
    """
    looked_at = _healed(schedule, now)
    if looked_at.status != "active":
        return looked_at, None
    looked_at = _admitted(looked_at, now, running)
    if looked_at.starting is None:
        return _begun(looked_at, now, running, holder)
    if looked_at.starting.at <= now < looked_at.starting.until:
        return looked_at, looked_at.starting if looked_at.starting.holder == holder else None  # the reply was lost
    taken = replace(
        looked_at.starting,
        holder=holder,
        at=now,
        until=now + START_S * SECOND,
        tries=looked_at.starting.tries + 1,
        trouble=None,
    )
    return replace(looked_at, starting=taken), taken


def settle(
    schedule: Schedule, now: int, outcome: Outcome, *, holder: str, following: str
) -> tuple[Schedule, Intent | None]:
    """Note the outcome of a start. Return the next intent too, of `following`, if one may begin at once.

    Nothing changes if another has taken the start up, or the run is not found.
    """
    intent = schedule.starting
    if intent is not None and intent.holder == following:
        return schedule, intent  # the reply to this was lost
    if intent is None or intent.holder != holder or outcome == Begun(exists=False):
        return schedule, None
    settled = replace(_healed(schedule, now), starting=None)
    match outcome:
        case PutOff(why=why, for_s=for_s):
            waits = replace(intent, holder="", at=now, until=now + int(for_s * SECOND), trouble=_trouble(why, now))
            return replace(settled, starting=waits), None
        case NotBegun(why=why, stops=stops):
            trouble = _trouble(why, now)
            settled = replace(settled, trouble=trouble, failed=settled.failed + 1, stopped=trouble if stops else None)
            settled = replace(settled, waiting=() if stops else settled.waiting)
            record = TickRecord(outcome="failed", at=now, tick=intent.tick, why=trouble.code, told=trouble.message)
            return settled.noting(record), None
        case Begun():
            run = settled.run_at(intent.tick)
            settled = _with_run(replace(settled, trouble=None), run)
            settled = settled.noting(TickRecord(outcome="started", at=now, tick=intent.tick, run=run))
    if settled.overlap is not Overlap.ALLOW or settled.status != "active":
        return settled, None
    return _begun(settled, now, {}, following)


def triggered(schedule: Schedule, now: int, run: str, note: str | None) -> Schedule:
    """Return the schedule with a run that was started out of turn; a repetition has no effect."""
    if any(record.run == run for record in schedule.records):
        return schedule
    triggered_schedule = _with_run(_healed(schedule, now), run)
    return triggered_schedule.noting(TickRecord(outcome="triggered", at=now, run=run, told=note))


def paused(schedule: Schedule, now: int, note: str | None) -> Schedule:
    """Return the schedule paused: it starts nothing until it is resumed."""
    if schedule.paused_at is not None:
        return schedule
    return replace(_healed(schedule, now), paused_at=now).noting(TickRecord(outcome="paused", at=now, told=note))


def resumed(schedule: Schedule, now: int, by: str, note: str | None) -> Schedule:
    """Return the schedule active again. Missed ticks follow `catch_up`; a stopped schedule now belongs to `by`."""
    if schedule.status == "active":
        return schedule
    resumed_schedule = replace(_healed(schedule, now), paused_at=None, stopped=None, trouble=None)
    if schedule.stopped is not None:
        resumed_schedule = replace(resumed_schedule, created_by=by)
    resumed_schedule = resumed_schedule.noting(TickRecord(outcome="resumed", at=now, told=note))
    if (
        resumed_schedule.catch_up is not CatchUp.NONE
        or resumed_schedule.next_at is None
        or resumed_schedule.next_at > now
    ):
        return resumed_schedule
    due = due_ticks(resumed_schedule.timing, resumed_schedule.next_at, now)
    return _missed(replace(resumed_schedule, next_at=due.next_at), now, due.ticks, due.before)


def looked_at(schedule: Schedule, now: int) -> int:
    """Return when a clock must look at the schedule next, at the latest."""
    latest = now + _KEEP_S * SECOND
    if schedule.status != "active":
        return latest
    if schedule.starting is not None:
        latest = min(latest, schedule.starting.until)
    elif schedule.waiting:
        latest = min(latest, now + _WAITING_S * SECOND)
    if schedule.next_at is not None:
        latest = min(latest, schedule.next_at + schedule.delay_of(schedule.next_at))
    return max(latest, now)


def _healed(schedule: Schedule, now: int) -> Schedule:
    """Bring the next tick back where the server's clock was ahead; what was started before is not started again.

    Every change begins with it, or the time of the change would hide that the schedule was written ahead of it.
    """
    if schedule.seen_at <= now + _SLACK:
        return replace(schedule, seen_at=now)
    again = schedule.timing.after(now)
    at = schedule.next_at if again is None else again if schedule.next_at is None else min(again, schedule.next_at)
    return replace(schedule, next_at=at, seen_at=now)


def _admitted(schedule: Schedule, now: int, running: Running) -> Schedule:
    """Let the ticks that are due wait for their start, as far as catch-up and overlap allow; note the others."""
    first = schedule.next_at
    if first is None or first + schedule.delay_of(first) > now:
        return schedule
    due = due_ticks(schedule.timing, first, now)
    ticks, next_at = list(due.ticks), due.next_at
    while ticks and ticks[-1] + schedule.delay_of(ticks[-1]) > now:
        next_at = ticks.pop()
    known = {record.tick for record in schedule.records if record.outcome == "started"} | set(schedule.waiting)
    known |= set() if schedule.starting is None else {schedule.starting.tick}
    ticks = [tick for tick in ticks if tick not in known]  # of a time that comes again
    caught_up = _caught_up(schedule, ticks, now)
    missed = _missed(replace(schedule, next_at=next_at), now, ticks[: len(ticks) - len(caught_up)], due.before)
    for tick in caught_up:
        missed = _let_wait(missed, tick, now, running)
    return missed


def _caught_up(schedule: Schedule, ticks: list[int], now: int) -> list[int]:
    """Return the ticks that are started, if nothing else stands against it: the latest ones."""
    if schedule.catch_up is CatchUp.ALL:
        return ticks
    latest = ticks[-1:]
    if schedule.catch_up is CatchUp.ONE:
        return latest
    return [tick for tick in latest if tick + schedule.delay_of(tick) >= now - LATE_S * SECOND]


def _missed(schedule: Schedule, now: int, ticks: "list[int] | tuple[int, ...]", before: int) -> Schedule:
    """Note missed ticks that get no run."""
    count = len(ticks) + before
    if not count:
        return schedule
    tick, last = (ticks[0], ticks[-1]) if ticks else (None, None)
    record = TickRecord(outcome="skipped", at=now, tick=tick, last=last, count=count, why="missed")
    return replace(schedule, skipped=schedule.skipped + count).noting(record)


def _let_wait(schedule: Schedule, tick: int, now: int, running: Running) -> Schedule:
    goes_on = next((run for run in reversed(schedule.runs) if running.get(run)), None)
    is_busy = goes_on is not None or schedule.starting is not None or bool(schedule.waiting)
    if schedule.overlap is Overlap.SKIP and is_busy:
        why, note = "overlap", None
    elif len(schedule.waiting) >= MOST_TICKS:
        why, note = "queue_full", f"{MOST_TICKS} starts wait already."
    else:
        return replace(schedule, waiting=(*schedule.waiting, tick))
    record = TickRecord(outcome="skipped", at=now, tick=tick, run=goes_on, why=why, told=note)
    return replace(schedule, skipped=schedule.skipped + 1).noting(record)


def _begun(schedule: Schedule, now: int, running: Running, holder: str) -> tuple[Schedule, Intent | None]:
    """Write down that the first waiting tick is started now, unless an earlier run is running."""
    goes_on = schedule.overlap is not Overlap.ALLOW and any(running.get(run) for run in schedule.runs)
    if not schedule.waiting or goes_on:
        return schedule, None
    tick, *waiting = schedule.waiting
    intent = Intent(tick=tick, holder=holder, at=now, until=now + START_S * SECOND)
    return replace(schedule, waiting=tuple(waiting), starting=intent, runs=schedule.runs[-1:]), intent


def _with_run(schedule: Schedule, run: str) -> Schedule:
    """Return the schedule with its latest run; earlier ones matter only where runs must not overlap."""
    runs_left = (
        () if schedule.overlap is Overlap.ALLOW else tuple(run_left for run_left in schedule.runs if run_left != run)
    )
    return replace(schedule, runs=(*runs_left, run)[-MOST_TICKS:], started=schedule.started + 1)


def _trouble(why: Refusal, now: int) -> ScheduleTrouble:
    return ScheduleTrouble(code=why.code, message=why.message, hint=why.hint, at=now)


def reason_of(schedule: Schedule, tick: int) -> str:
    """Return what the history of a run says of its start."""
    return f"Schedule {schedule.name}, tick {to_text(tick)[:19]}Z."
