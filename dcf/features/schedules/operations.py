"""The operations on schedules, and the work of the timer loop at their ticks: starts runs, each once (`ticking.py`).

Names what is read and the pure decision that is made on it; it must not decide.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from dcf.core.access.model import LOCAL
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Created
from dcf.core.documents.model import DEFAULT_MAX_ATTEMPTS
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.starting import Start
from dcf.errors import PASSING, DcfError, InternalError, StoreUnavailable, UnknownDefinition, UnknownSchedule
from dcf.features.schedules import ticking
from dcf.features.schedules.keys import SCHEDULES
from dcf.features.schedules.model import (
    MOST_OF_ONE,
    MOST_SCHEDULES,
    Intent,
    Schedule,
    ScheduleWish,
    check_schedule_name,
    is_same,
    new_schedule,
)
from dcf.features.schedules.refusals import SCHEDULE_EXISTS, SCHEDULE_WAITS, SCHEDULE_WITHOUT_KEY, TOO_MANY_SCHEDULES
from dcf.features.schedules.storage import ScheduleChange, ScheduleFound, ScheduleStore
from dcf.features.schedules.ticking import Begun, NotBegun, Outcome, PutOff, reason_of
from dcf.runs.starting import Starting
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.authors import authored_by
from dcf.values.identifiers import check_agents
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

_log = logging.getLogger(__name__)

_AGAIN_S: Final = 5.0
_AFTER_DEFECT_S: Final = 60.0
_LONGEST_TOLD: Final = 300


@record(frozen=True, slots=True, kw_only=True)
class ScheduleMade:
    """A schedule after its creation; `existed`: it was there before. `unassigned` are Tasks that notify no agent."""

    schedule: Schedule
    existed: bool
    unassigned: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Triggered:
    """A run that was started out of turn."""

    schedule: Schedule
    workflow_id: str
    created: Created


class Schedules:
    """Creates, reads and operates schedules; `look` is the clock's."""

    listed_in: str = SCHEDULES

    def __init__(self, store: ScheduleStore, starting: Starting, access: AccessKeys) -> None:
        self._schedules = store
        self._starting = starting
        self._access = access
        self.latest = 0
        """The latest server time at which a look has decided, in microseconds; who wants to know sets it back."""

    def create(self, wish: ScheduleWish, agents: Json, definition: Definition | None = None) -> ScheduleMade | Refusal:
        """Create a schedule of a kept definition, or of this one, which is kept. The same one again finds it."""
        generation = secrets.token_hex(16)
        entry = self._starting.resolve(wish.workflow, wish.project, definition)
        started = entry.definition
        checked = replace(wish, agents=check_agents(agents, set(started.skills)))
        unassigned = tuple(
            state for state in started.skills if not checked.agents.get(state) and state not in started.bound
        )

        def decide(schedule_found: ScheduleFound) -> ScheduleChange[ScheduleMade | Refusal]:
            if schedule_found.refusal is not None:
                return ScheduleChange(answer=schedule_found.refusal, is_changed=False)
            made, there = new_schedule(checked, schedule_found.now, generation), schedule_found.schedule
            if there is not None:
                existed = there.generation != generation  # otherwise the reply to an earlier try was lost
                existing = ScheduleMade(schedule=there, existed=existed, unassigned=unassigned)
                return ScheduleChange(
                    answer=existing if is_same(there, made) else SCHEDULE_EXISTS.refuse(name=checked.name),
                    is_changed=False,
                )
            too_many = _too_many(schedule_found, checked.created_by)
            if too_many is not None:
                return ScheduleChange(answer=too_many, is_changed=False)
            fresh = ScheduleMade(schedule=made, existed=False, unassigned=unassigned)
            return ScheduleChange(answer=fresh, schedule=made)

        name, keep = check_schedule_name(wish.name), partial(self._starting.keep_in, entry)
        answer = self._schedules.transact(name, decide, author=checked.created_by, ground=keep)
        if isinstance(answer, ScheduleMade):
            self._starting.tell(entry)
        return answer

    def all(self) -> list[Schedule]:
        """Return all schedules by name."""
        return self.those(self._schedules.names())

    def those(self, names: Sequence[str]) -> list[Schedule]:
        """Return the schedules of these names, as far as there are any."""
        return list(self._schedules.read(names)[0].values()) if names else []

    def read(self, name: str) -> Schedule:
        """Return a schedule; raise UnknownSchedule if there is none."""
        schedule = self._schedules.read([check_schedule_name(name)])[0].get(name)
        if schedule is None:
            raise UnknownSchedule(name)
        return schedule

    def pause(self, name: str, *, reason: str | None = None) -> Schedule:
        """Let it start nothing until it is resumed; what its clocks have begun is finished."""
        return self._change(name, lambda schedule, now: ticking.paused(schedule, now, _told(reason)))

    def resume(self, name: str, by: str, *, reason: str | None = None) -> Schedule:
        """Continue a schedule that was paused, or that stopped: its runs are then those of who resumed it."""
        return self._change(name, lambda schedule, now: ticking.resumed(schedule, now, by, _told(reason)))

    def delete(self, name: str) -> bool:
        """Delete a schedule; its runs stay. Return False if it was gone already. A start under way may be finished."""
        return self._schedules.delete(check_schedule_name(name))

    def trigger(
        self, name: str, by: str, *, reason: str | None = None, request_id: str | None = None
    ) -> Triggered | Refusal:
        """Start a run of the schedule at once, out of turn and whatever runs, for who asks. Repeated, it finds it.

        The run is created first and noted then; a repetition of the request notes what was not.
        """
        schedule = self.read(name)
        run = schedule.run_for(request_id or secrets.token_hex(16), 0)
        note = _told(reason)
        why = f"Schedule {name}, triggered{'.' if note is None else f': {note}'}"
        entry = self._starting.resolve(schedule.workflow, schedule.project)
        start_request = Start(wish=_wish(schedule, entry.definition, run, by), reason=why)
        answer = self._starting.start(start_request, to_keep=entry)
        if isinstance(answer, Refusal):
            return answer
        noted = self._change(name, lambda current, now: ticking.triggered(current, now, run, note))
        return Triggered(schedule=noted, workflow_id=run, created=answer)

    def look(self, name: str, *, has_stepped_back: bool = False) -> int:
        """Do what is due of a schedule. Return how many starts were carried out.

        Any number of timer loops may look at once: each start belongs to one loop, until it is done or its time has
        ended. After the server's time has stepped back, the schedule is written even without a change. So a loop that
        read it before the step cannot commit a time that lies ahead.
        """
        looking = partial(_looking, secrets.token_hex(8), has_stepped_back)
        schedule, intent = self._schedules.transact(name, looking, runs=None)
        self.latest = max(self.latest, 0 if schedule is None else schedule.seen_at)
        if schedule is not None and intent is None and schedule.starting is None and not schedule.waiting:
            self._keep_definition(schedule)
        done = 0
        while schedule is not None and intent is not None:
            outcome = self._carried_out(schedule, intent)
            if outcome is None:
                break
            settling = partial(_settling, outcome, intent.holder, secrets.token_hex(8))
            schedule, intent = self._schedules.transact(name, settling, runs=(schedule.run_at(intent.tick),))
            done += 1
        return done

    def names(self) -> list[str]:
        """Return the names of all schedules."""
        return self._schedules.names()

    def _change(self, name: str, change: Callable[[Schedule, int], Schedule]) -> Schedule:
        def decide(schedule_found: ScheduleFound) -> ScheduleChange[Schedule]:
            if schedule_found.schedule is None:
                raise UnknownSchedule(name)
            changed = change(schedule_found.schedule, schedule_found.now)
            return ScheduleChange(answer=changed, schedule=changed, is_changed=changed is not schedule_found.schedule)

        return self._schedules.transact(check_schedule_name(name), decide)

    def _carried_out(self, schedule: Schedule, intent: Intent) -> Outcome | None:
        """Start the run of a tick. Return None where another clock has the start by now."""
        try:
            return self._started(schedule, intent)
        except StoreUnavailable:
            raise  # the intent ends, and a clock takes it up
        except DcfError as error:
            why = _refusal_of(error)
            return PutOff(why=why, for_s=_AGAIN_S) if error.code in PASSING else NotBegun(why=why)
        except Exception:  # noqa: BLE001 - a defect met in one schedule must not stop the clock of the others
            _log.exception("schedule %s", schedule.name)
            return PutOff(why=_refusal_of(InternalError()), for_s=_AFTER_DEFECT_S)

    def _started(self, schedule: Schedule, intent: Intent) -> Outcome | None:
        account = None
        if schedule.created_by != LOCAL:
            caller = self._access.acting(schedule.created_by)
            if caller is None:
                return NotBegun(why=SCHEDULE_WITHOUT_KEY.refuse(name=schedule.name), stops=True)
            account = caller.account
        if account is not None and account.over:
            return PutOff(
                why=SCHEDULE_WAITS.refuse(over=account.over, retry_after_s=account.wait_s),
                for_s=max(1.0, account.wait_s),
            )
        with authored_by(schedule.created_by, account):
            entry = self._starting.resolve(schedule.workflow, schedule.project)
            wish = _wish(schedule, entry.definition, schedule.run_at(intent.tick), schedule.created_by)
            start_request = Start(wish=wish, reason=reason_of(schedule, intent.tick), within=(intent.at, intent.until))
            answer = self._starting.start(start_request, to_keep=entry)
        match answer:
            case Created():
                return Begun(exists=True)
            case Refusal(code="start_overdue"):
                return None
            case Refusal(code="conflict"):  # the newest document of the name changed since an earlier try
                return Begun(exists=True)
        return NotBegun(why=answer)

    def _keep_definition(self, schedule: Schedule) -> None:
        """Keep the definition for its full time again; if it is missing, the next tick reports it."""
        try:
            self._starting.definition(schedule.workflow, schedule.project)
        except UnknownDefinition:
            _log.warning("schedule %s: its definition %s is no longer kept", schedule.name, schedule.workflow)


def _wish(schedule: Schedule, definition: Definition, run: str, by: str) -> Create:
    agents = {state: list(pool) for state, pool in schedule.agents.items()}
    return Create(
        workflow_id=run,
        definition=definition,
        run_input=schedule.run_input,
        agents=check_agents(agents, set(definition.skills), name="The schedule's assignment"),
        planner_agent_id=schedule.planner_agent_id,
        retention_s=schedule.retention_s,
        max_attempts=DEFAULT_MAX_ATTEMPTS,
        created_by=by,
        tags=(*schedule.tags, schedule.tag),
        project=schedule.project,
    )


def _looking(
    holder: str, has_stepped_back: bool, schedule_found: ScheduleFound
) -> ScheduleChange[tuple[Schedule | None, Intent | None]]:
    if schedule_found.schedule is None:
        return ScheduleChange(answer=(None, None))  # deleted by hand: its index entries go
    before = schedule_found.schedule
    schedule, intent = ticking.look(before, schedule_found.now, schedule_found.running, holder)
    is_held = schedule.starting is not None and intent is None
    is_ahead = before.seen_at > schedule.seen_at  # who writes at an earlier time yet must fail
    is_changed = not is_held or is_ahead or has_stepped_back or replace(schedule, seen_at=before.seen_at) != before
    return ScheduleChange(
        answer=(schedule, intent), schedule=schedule, is_changed=is_changed, is_whole=has_stepped_back
    )


def _settling(
    outcome: Outcome, holder: str, following: str, schedule_found: ScheduleFound
) -> ScheduleChange[tuple[Schedule | None, Intent | None]]:
    if schedule_found.schedule is None:
        return ScheduleChange(answer=(None, None), is_changed=False)
    if isinstance(outcome, Begun):
        outcome = Begun(exists=None not in schedule_found.running.values())
    before = schedule_found.schedule
    schedule, intent = ticking.settle(before, schedule_found.now, outcome, holder=holder, following=following)
    return ScheduleChange(answer=(schedule, intent), schedule=schedule, is_changed=schedule is not before)


def _too_many(schedule_found: ScheduleFound, author: str) -> Refusal | None:
    if schedule_found.count >= MOST_SCHEDULES:
        return TOO_MANY_SCHEDULES.refuse(used=schedule_found.count, limit=MOST_SCHEDULES, whose="in all")
    if author != LOCAL and schedule_found.own_count >= MOST_OF_ONE:
        return TOO_MANY_SCHEDULES.refuse(used=schedule_found.own_count, limit=MOST_OF_ONE, whose="of this key")
    return None


def _refusal_of(error: DcfError) -> Refusal:
    return Refusal(code=error.code, message=error.message, hint=error.hint)


def _told(reason: str | None) -> str | None:
    return None if reason is None else reason[:_LONGEST_TOLD]
