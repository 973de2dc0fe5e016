"""What `get_context` of the profile `mission-control` answers: where a workflow stands, and what was logged in it."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final

from dcf.profiles.growing_runs import Grown, RunUnit, instant, seconds_between
from dcf.profiles.mission_control.calls import FilterCall, GetContextCall
from dcf.profiles.mission_control.current import workflow_of
from dcf.profiles.mission_control.plans import Phase, open_checkpoints, planned
from dcf.profiles.mission_control.words import (
    PHASE_BEGUN,
    PHASE_ENDED,
    Notes,
    PhaseEnd,
    begun_at,
    counted,
    end_of,
    ended_at,
    is_checkpoint,
    is_parallel,
    issue_type,
    number_of,
    outcome_of,
    phase_status,
    run_status,
    task_status,
)
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json
from dcf.values.records import record

Entry = Mapping[str, Json]
_PAGE: Final = 200


@record(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A run with the entries of its journal, and the filter of the call."""

    run: Grown
    entries: tuple[Entry, ...]
    wanted: FilterCall

    @property
    def phases(self) -> list[RunUnit]:
        """The phases by their number."""
        groups = [one for one in self.run.units.values() if one.is_group]
        return sorted(groups, key=lambda one: number_of(one.name))

    def notes(self, phase: RunUnit) -> Notes:
        """Return the entries that say how a phase was begun, and how it ended."""
        return _notes(self.entries, phase.name)

    def tasks(self) -> Iterator[RunUnit]:
        """Yield the tasks that the filter wants, whenever they were begun."""
        groups = {one.name for one in self.phases if self.wanted.phase in {None, number_of(one.name)}}
        for one in self.run.units.values():
            wants_agent = self.wanted.agent in {None, one.input("agent_name"), one.holder}
            if not one.is_group and one.group in groups and wants_agent:
                yield one

    def is_recent(self, *told: str | None) -> bool:
        """Return True if one of these times is not before what is asked for."""
        since = None if self.wanted.since is None else instant(self.wanted.since)
        return since is None or any(one is not None and instant(one) >= since for one in told)


async def context_of(native: Native, args: GetContextCall) -> Json:
    """Return where a workflow stands, with the sections that are wanted."""
    wanted = args.filter or FilterCall()
    if wanted.since is not None:
        _check(wanted.since)
    run = await workflow_of(native, args.workflow_id, args.place)
    seen = _Seen(
        run=run,
        entries=tuple([entry async for entry in journal(native, run.run)]),
        wanted=wanted,
    )
    phases = seen.phases
    running = [one for one in phases if phase_status(one, seen.notes(one)) == "IN_PROGRESS"]
    current = next(iter(running or phases[-1:]), None)
    answer: dict[str, Json] = {
        "workflow_id": run.run,
        "workflow_name": run.meta.get("title") or run.run,
        "workflow_status": run_status(seen.run.status),
        "current_phase": None if current is None else number_of(current.name),
        "total_phases": max(len(phases), int(seen.run.input("total_phases") or 0)),
    }
    known = {number_of(one.name) for one in phases} | planned(seen.run).keys()
    if wanted.phase is not None and wanted.phase not in known:
        return answer | {"warning": f"There is no phase {wanted.phase}.", "filters_applied": _applied(wanted)}
    for section in args.include:
        answer |= _SECTIONS[section](seen)
    return answer | ({"filters_applied": _applied(wanted)} if args.filter is not None else {})


async def journal(native: Native, run: str, **wanted: Json) -> AsyncIterator[Entry]:
    """Yield the entries of a run's journal, the oldest first."""
    cursor: Json = None
    while True:
        page = await native.call(
            "read_journal", workflow_id=run, oldest_first=True, cursor=cursor, limit=_PAGE, **wanted
        )
        for one in page["entries"]:
            yield one
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def is_open(run: Grown, statuses: Mapping[int, str]) -> bool:
    """Return True if a task or phase of the run is in progress. Failed tasks are not."""
    tasks = (one for one in run.units.values() if not one.is_group and not is_checkpoint(one))
    if any(task_status(one) == "IN_PROGRESS" for one in tasks):
        return True
    return "IN_PROGRESS" in statuses.values()


async def phase_ends(native: Native, run: Grown) -> dict[int, PhaseEnd]:
    """Return how the phases that were begun stand, by number."""
    groups = [one for one in run.units.values() if one.is_group]
    entries = [one async for one in journal(native, run.run, kind="note")] if groups else []
    return {number_of(one.name): end_of(one, _notes(entries, one.name)) for one in groups}


async def phase_statuses(native: Native, run: Grown) -> dict[int, str]:
    """Return the words for these phases, by number."""
    return {number: end.status for number, end in (await phase_ends(native, run)).items()}


async def notes_of(native: Native, run: str, phase: str) -> dict[str, Entry]:
    """Return the entries that say how a phase was begun, and how it ended."""
    return _notes([one async for one in journal(native, run, kind="note", state=phase)], phase)


async def note(native: Native, run: str, phase: str, key: str, text: str, details: Mapping[str, Json]) -> Entry:
    """Write one of these entries, once."""
    kept = {name: value for name, value in details.items() if value is not None}
    added = await native.call(
        "add_journal_entry",
        workflow_id=run,
        kind="note",
        text=text,
        details_json=kept,
        state=phase,
        key=f"{key}{phase}",
        agent_id=native.agent(),
    )
    return {"key": f"{key}{phase}", "at": added["at"], "details": kept}


def _notes(entries: Iterable[Entry], phase: str) -> dict[str, Entry]:
    keys = {f"{key}{phase}": key for key in (PHASE_BEGUN, PHASE_ENDED)}
    return {keys[str(one.get("key"))]: one for one in entries if one.get("key") in keys}


def _check(since: str) -> None:
    try:
        instant(since)
    except (ValueError, OverflowError):
        raise refuse(
            "invalid_argument", "filter.since: is no instant.", "Send it as 2026-01-31T12:00:00Z.", "filter.since"
        ) from None


def _applied(wanted: FilterCall) -> Json:
    return wanted.model_dump(exclude_none=True)


def _phase_summary(seen: _Seen) -> dict[str, Json]:
    begun = {number_of(one.name): _phase(seen, one) for one in seen.phases}
    waiting = {number: _pending(one) for number, one in planned(seen.run).items() if number not in begun}
    return {"phase_summary": [one for _, one in sorted((begun | waiting).items())]}


def _pending(phase: Phase) -> Json:
    """Return a phase of the plan that was not begun."""
    return {
        "phase_number": phase.number,
        "phase_name": phase.name,
        "phase_id": None,
        "status": "PENDING",
        "is_parallel": phase.is_parallel,
        "tasks": {"total": 0, "completed": 0, "failed": 0, "in_progress": 0},
        "duration_seconds": 0,
        "started_at": None,
        "completed_at": None,
        **_demanded(phase),
    }


def _demanded(phase: Phase | None) -> dict[str, Json]:
    """Return the files that the plan demands of a phase."""
    return {"outputs": list[Json](phase.outputs)} if phase is not None and phase.outputs else {}


def _phase(seen: _Seen, phase: RunUnit) -> Json:
    tasks, notes = seen.run.inside(phase.name), seen.notes(phase)
    found = counted(tasks)
    return {
        "phase_number": number_of(phase.name),
        "phase_name": phase.title,
        "phase_id": f"{seen.run.run}:{phase.name}",
        "status": phase_status(phase, notes),
        "is_parallel": is_parallel(notes),
        "tasks": {
            "total": found["total"],
            "completed": found["success"] + found["partial"],
            "failed": found["failed"],
            "in_progress": found["in_progress"],
        },
        "duration_seconds": round(sum(seconds_between(one.started_at, one.finished_at) for one in tasks)),
        "started_at": begun_at(notes),
        "completed_at": ended_at(notes) or phase.finished_at,
        **_demanded(planned(seen.run).get(number_of(phase.name))),
    }


def _tasks(seen: _Seen) -> dict[str, Json]:
    said = {str(one.get("state")): str(one["at"]) for one in seen.entries}
    found = [
        _task(seen, one) for one in seen.tasks() if seen.is_recent(one.started_at, one.finished_at, said.get(one.name))
    ]
    return {"tasks": found, "tasks_count": len(found)}


def _task(seen: _Seen, task: RunUnit) -> Json:
    outcome = outcome_of(task).get("outcome") or {}
    return {
        "id": f"{seen.run.run}:{task.name}",
        "phase_id": f"{seen.run.run}:{task.group}",
        "name": task.title,
        "goal": task.input("goal"),
        "status": task_status(task),
        "caller_type": task.input("caller_type"),
        "agent_name": task.input("agent_name"),
        "summary": outcome.get("summary"),
        "duration_seconds": round(seconds_between(task.started_at, task.finished_at)) if task.has_ended else None,
        "started_at": task.started_at,
        "completed_at": task.finished_at,
        "manual_review_needed": bool(outcome.get("manual_review_needed")),
    }


def _logged(seen: _Seen, kind: str) -> Iterable[tuple[Entry, dict[str, Json]]]:
    """Yield the entries of a kind that the filter wants, by the time of the entry, with what all have in common."""
    tasks = {one.name: one for one in seen.tasks()}
    for one in seen.entries:
        task = tasks.get(str(one.get("state")))
        if one["kind"] == kind and task is not None and seen.is_recent(str(one["at"])):
            yield (
                one,
                {
                    "id": one["entry"],
                    "task_id": f"{seen.run.run}:{task.name}",
                    "task_name": task.title,
                    "agent_name": task.input("agent_name"),
                    "created_at": one["at"],
                },
            )


def _decisions(seen: _Seen) -> dict[str, Json]:
    found = []
    for one, told in _logged(seen, "decision"):
        details = one.get("details") or {}
        kept = {name: details.get(name) for name in ("question", "chosen", "reasoning", "trade_offs")}
        category = str(details.get("category") or "other").upper()
        found.append(told | kept | {"category": category, "options_considered": list(details.get("options") or ())})
    return {"decisions": found, "decisions_count": len(found)}


def _milestones(seen: _Seen) -> dict[str, Json]:
    found = [
        told | {"message": one["text"], "progress": (one.get("details") or {}).get("progress")}
        for one, told in _logged(seen, "milestone")
    ]
    return {"milestones": found, "milestones_count": len(found)}


def _blockers(seen: _Seen) -> dict[str, Json]:
    """Return what waits for a person now: checkpoints, and issues that block the workflow and nobody resolved."""
    found = open_checkpoints(seen.run)
    for one, told in _logged(seen, "issue"):
        details = one.get("details") or {}
        if one.get("blocks") and one.get("open"):
            kind, resolution = issue_type(details.get("type")), details.get("resolution")
            found.append(told | {"type": kind, "description": one["text"], "resolution": resolution})
    return {"blockers": found, "blockers_count": len(found), "has_blockers": bool(found)}


_SECTIONS: Final = {
    "phase_summary": _phase_summary,
    "tasks": _tasks,
    "decisions": _decisions,
    "milestones": _milestones,
    "blockers": _blockers,
}
