"""The answer of `get_context` of the profile `mission-control`: the state of a workflow, and its log."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final

from dcf.authoring.mission_plans import PlannedPhase
from dcf.profiles.growing_runs import Grown, RunUnit, instant, seconds_between
from dcf.profiles.mission_control.calls import FilterCall, GetContextCall
from dcf.profiles.mission_control.current import workflow_of
from dcf.profiles.mission_control.plans import open_checkpoints, planned
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
from dcf.profiles.native_calls import add_entry, listed
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json, without_nulls
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
        groups = [unit for unit in self.run.units.values() if unit.is_group]
        return sorted(groups, key=lambda group: number_of(group.name))

    def notes(self, phase: RunUnit) -> Notes:
        """Return the entries that say how a phase was begun, and how it ended."""
        return _notes(self.entries, phase.name)

    def tasks(self) -> Iterator[RunUnit]:
        """Yield the tasks that the filter wants, whenever they were begun."""
        groups = {phase.name for phase in self.phases if self.wanted.phase in {None, number_of(phase.name)}}
        for unit in self.run.units.values():
            wants_agent = self.wanted.agent in {None, unit.input("agent_name"), unit.holder}
            if not unit.is_group and unit.group in groups and wants_agent:
                yield unit

    def is_recent(self, *times: str | None) -> bool:
        """Return True if one of these times is not before what is asked for."""
        since = None if self.wanted.since is None else instant(self.wanted.since)
        return since is None or any(time is not None and instant(time) >= since for time in times)


async def context_of(native: Native, args: GetContextCall) -> Json:
    """Return where a workflow stands, with the sections that are wanted."""
    since_filter = args.filter or FilterCall()
    if since_filter.since is not None:
        _check(since_filter.since)
    run = await workflow_of(native, args.workflow_id, args.place)
    seen = _Seen(
        run=run,
        entries=tuple([entry async for entry in journal(native, run.run)]),
        wanted=since_filter,
    )
    phases = seen.phases
    running = [phase for phase in phases if phase_status(phase, seen.notes(phase)) == "IN_PROGRESS"]
    current = next(iter(running or phases[-1:]), None)
    answer: dict[str, Json] = {
        "workflow_id": run.run,
        "workflow_name": run.meta.get("title") or run.run,
        "workflow_status": run_status(seen.run.status),
        "current_phase": None if current is None else number_of(current.name),
        "total_phases": max(len(phases), int(seen.run.input("total_phases") or 0)),
    }
    known = {number_of(phase.name) for phase in phases} | planned(seen.run).keys()
    if since_filter.phase is not None and since_filter.phase not in known:
        return answer | {
            "warning": f"There is no phase {since_filter.phase}.",
            "filters_applied": _applied(since_filter),
        }
    for section in args.include:
        answer |= _SECTIONS[section](seen)
    return answer | ({"filters_applied": _applied(since_filter)} if args.filter is not None else {})


def journal(native: Native, run: str, **filters: Json) -> AsyncIterator[Entry]:
    """Yield the entries of a run's journal, the oldest first."""
    return listed(native, "read_journal", "entries", workflow_id=run, oldest_first=True, limit=_PAGE, **filters)


def is_open(run: Grown, statuses: Mapping[int, str]) -> bool:
    """Return True if a task or phase of the run is in progress. Failed tasks are not."""
    tasks = (unit for unit in run.units.values() if not unit.is_group and not is_checkpoint(unit))
    if any(task_status(task) == "IN_PROGRESS" for task in tasks):
        return True
    return "IN_PROGRESS" in statuses.values()


async def phase_ends(native: Native, run: Grown) -> dict[int, PhaseEnd]:
    """Return how the phases that were begun stand, by number."""
    groups = [unit for unit in run.units.values() if unit.is_group]
    entries = [item async for item in journal(native, run.run, kind="note")] if groups else []
    return {number_of(group.name): end_of(group, _notes(entries, group.name)) for group in groups}


async def phase_statuses(native: Native, run: Grown) -> dict[int, str]:
    """Return the words for these phases, by number."""
    return {number: end.status for number, end in (await phase_ends(native, run)).items()}


async def notes_of(native: Native, run: str, phase: str) -> dict[str, Entry]:
    """Return the entries that say how a phase was begun, and how it ended."""
    return _notes([entry async for entry in journal(native, run, kind="note", state=phase)], phase)


async def note(native: Native, run: str, phase: str, key: str, text: str, details: Mapping[str, Json]) -> Entry:
    """Write one of these entries, once."""
    added = await add_entry(native, run, "note", text, details, state=phase, key=f"{key}{phase}")
    return {"key": f"{key}{phase}", "at": added["at"], "details": without_nulls(details)}


def _notes(entries: Iterable[Entry], phase: str) -> dict[str, Entry]:
    keys = {f"{key}{phase}": key for key in (PHASE_BEGUN, PHASE_ENDED)}
    return {keys[str(entry.get("key"))]: entry for entry in entries if entry.get("key") in keys}


def _check(since: str) -> None:
    try:
        instant(since)
    except (ValueError, OverflowError):
        raise refuse(
            "invalid_argument", "filter.since: is no instant.", "Send it as 2026-01-31T12:00:00Z.", "filter.since"
        ) from None


def _applied(filter_call: FilterCall) -> Json:
    return filter_call.model_dump(exclude_none=True)


def _phase_summary(seen: _Seen) -> dict[str, Json]:
    begun = {number_of(phase.name): _phase(seen, phase) for phase in seen.phases}
    waiting = {number: _pending(phase) for number, phase in planned(seen.run).items() if number not in begun}
    return {"phase_summary": [phase for _, phase in sorted((begun | waiting).items())]}


def _pending(phase: PlannedPhase) -> Json:
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


def _demanded(phase: PlannedPhase | None) -> dict[str, Json]:
    """Return the files that the plan demands of a phase."""
    return {"outputs": list[Json](phase.outputs)} if phase is not None and phase.outputs else {}


def _phase(seen: _Seen, phase: RunUnit) -> Json:
    tasks, notes = seen.run.inside(phase.name), seen.notes(phase)
    counts = counted(tasks)
    return {
        "phase_number": number_of(phase.name),
        "phase_name": phase.title,
        "phase_id": f"{seen.run.run}:{phase.name}",
        "status": phase_status(phase, notes),
        "is_parallel": is_parallel(notes),
        "tasks": {
            "total": counts["total"],
            "completed": counts["success"] + counts["partial"],
            "failed": counts["failed"],
            "in_progress": counts["in_progress"],
        },
        "duration_seconds": round(sum(seconds_between(task.started_at, task.finished_at) for task in tasks)),
        "started_at": begun_at(notes),
        "completed_at": ended_at(notes) or phase.finished_at,
        **_demanded(planned(seen.run).get(number_of(phase.name))),
    }


def _tasks(seen: _Seen) -> dict[str, Json]:
    decided_at = {str(entry.get("state")): str(entry["at"]) for entry in seen.entries}
    tasks = [
        _task(seen, task)
        for task in seen.tasks()
        if seen.is_recent(task.started_at, task.finished_at, decided_at.get(task.name))
    ]
    return {"tasks": tasks, "tasks_count": len(tasks)}


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
    tasks = {task.name: task for task in seen.tasks()}
    for entry in seen.entries:
        task = tasks.get(str(entry.get("state")))
        if entry["kind"] == kind and task is not None and seen.is_recent(str(entry["at"])):
            yield (
                entry,
                {
                    "id": entry["entry"],
                    "task_id": f"{seen.run.run}:{task.name}",
                    "task_name": task.title,
                    "agent_name": task.input("agent_name"),
                    "created_at": entry["at"],
                },
            )


def _decisions(seen: _Seen) -> dict[str, Json]:
    decisions = []
    for entry, logged in _logged(seen, "decision"):
        details = entry.get("details") or {}
        choice = {name: details.get(name) for name in ("question", "chosen", "reasoning", "trade_offs")}
        category = str(details.get("category") or "other").upper()
        decisions.append(
            logged | choice | {"category": category, "options_considered": list(details.get("options") or ())}
        )
    return {"decisions": decisions, "decisions_count": len(decisions)}


def _milestones(seen: _Seen) -> dict[str, Json]:
    milestones = [
        logged | {"message": entry["text"], "progress": (entry.get("details") or {}).get("progress")}
        for entry, logged in _logged(seen, "milestone")
    ]
    return {"milestones": milestones, "milestones_count": len(milestones)}


def _blockers(seen: _Seen) -> dict[str, Json]:
    """Return the items that wait for a person: checkpoints, and unresolved issues that block the workflow."""
    checkpoints = open_checkpoints(seen.run)
    for entry, logged in _logged(seen, "issue"):
        details = entry.get("details") or {}
        if entry.get("blocks") and entry.get("open"):
            kind, resolution = issue_type(details.get("type")), details.get("resolution")
            checkpoints.append(logged | {"type": kind, "description": entry["text"], "resolution": resolution})
    return {"blockers": checkpoints, "blockers_count": len(checkpoints), "has_blockers": bool(checkpoints)}


_SECTIONS: Final = {
    "phase_summary": _phase_summary,
    "tasks": _tasks,
    "decisions": _decisions,
    "milestones": _milestones,
    "blockers": _blockers,
}
