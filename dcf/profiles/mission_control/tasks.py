"""What `start_task` of the profile `mission-control` adds to a run, and what it warns of. It calls nothing."""

from collections.abc import Mapping

from dcf.profiles.growing_runs import TAKEN_FROM, Grown, RunUnit
from dcf.profiles.ids import digest_of, place_of, slug_of
from dcf.profiles.mission_control.calls import StartTaskCall
from dcf.profiles.mission_control.plans import planned
from dcf.profiles.mission_control.words import number_of, task_status
from dcf.profiles.profile import refuse
from dcf.values.json_text import Json


def parent_of(read: Grown, task_id: str | None) -> str | None:
    """Return the name of the task that a new one is a part of; raise NotDone if it is none of this workflow."""
    if task_id is None:
        return None
    run, name = place_of(task_id, "parent_task_id")
    found = read.units.get(name)
    if run != read.run or found is None or found.is_group:
        raise refuse("unknown_state", "There is no such task here.", "Pass a task of this workflow.", "parent_task_id")
    return name


def name_of(read: Grown, args: StartTaskCall, parent: str | None, agent: str) -> str:
    """Return the name of the unit: the same for the same call, as long as the task is in progress."""
    said = (args.phase_id, parent or "", args.caller_type, agent, args.name, args.goal)
    stem = f"{slug_of(args.name)}-{digest_of(*said)}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(read.units) + 2))
    return next(name for name in names if name not in read.units or not read.units[name].has_ended)


def unit_of(read: Grown, args: StartTaskCall, phase: RunUnit, name: str, parent: str | None) -> dict[str, Json]:
    """Return the unit that a task is; its areas are those of the call, or else of the plan."""
    plan = planned(read).get(number_of(phase.name))
    unit: dict[str, Json] = {
        "name": name,
        "group": phase.name,
        "parent": parent,
        "title": args.name,
        "instructions": args.goal,
        "input": {
            "caller_type": args.caller_type,
            "agent_name": args.agent_name,
            "goal": args.goal,
            "snapshot_id": args.snapshot_id,
            "snapshot_type": args.snapshot_type,
        },
        "areas": list[Json](args.areas or ([] if plan is None else plan.areas_of(args.agent_name))),
        "claim": True,
    }
    return {key: value for key, value in unit.items() if value is not None}


def warnings_of(read: Grown, phase: RunUnit, name: str, parent: str | None, added: Mapping[str, Json]) -> list[str]:
    """Return what a new task's agent should know: who works on the same files, beside it, or had it before."""
    work = added.get("work") or ()
    works = [work] if isinstance(work, Mapping) else list(work)
    warnings = [str(told) for one in works for told in one.get("warnings") or ()]
    plan = planned(read).get(number_of(phase.name))
    others = [one.title for one in read.inside(phase.name) if task_status(one) == "IN_PROGRESS" and one.name != name]
    if plan is not None and not plan.is_parallel and parent is None and others:
        warnings.append(f"The phase is sequential by its plan, and '{others[0]}' is in progress.")
    if TAKEN_FROM in added:
        warnings.append(f"The task is taken over from '{added[TAKEN_FROM]}', whose lease had expired.")
    return warnings
