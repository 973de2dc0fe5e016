"""The unit that `start_task` of the profile `mission-control` adds to a run, and its warnings. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.profiles.growing_runs import TAKEN_FROM, Grown, RunUnit
from dcf.profiles.ids import digest_of, id_of, place_of, slug_of
from dcf.profiles.mission_control.calls import StartTaskCall
from dcf.profiles.mission_control.plans import areas_of, goal_of, planned
from dcf.profiles.mission_control.words import number_of, task_status
from dcf.profiles.profile import refuse
from dcf.values.json_text import Json, without_nulls

_LONGEST_NAME: Final = 200
_MOST_NAMED: Final = 10


def completed(read: Grown, args: StartTaskCall, phase: RunUnit, key_agent: str | None) -> StartTaskCall:
    """Return the call with what it leaves out, as the plan of the phase has it; raise NotDone without an agent."""
    plan = planned(read).get(number_of(phase.name))
    types = list(dict.fromkeys(() if plan is None else plan.types))
    agent = args.agent_name or key_agent
    if agent is None and args.caller_type == "subagent":
        if len(types) != 1:
            hint = f"Send your name: the plan of the phase has {', '.join(types)}." if types else "Send your name."
            raise refuse("invalid_argument", "agent_name: a subagent must give its name.", hint, "agent_name")
        agent = types[0]
    name = args.name or f"{agent or args.caller_type}: {phase.title}"[:_LONGEST_NAME]
    goal = args.goal or goal_of(plan, agent) or phase.title
    named = args.agent_name if args.caller_type == "orchestrator" else agent
    return args.model_copy(update={"workflow_id": read.run, "agent_name": named, "name": name, "goal": goal})


def parent_of(read: Grown, task_id: str | None) -> str | None:
    """Return the name of the task that a new one is a part of; raise NotDone if it is none of this workflow."""
    if task_id is None:
        return None
    run, name = place_of(task_id, "parent_task_id")
    unit = read.units.get(name)
    if run != read.run or unit is None or unit.is_group:
        raise refuse("unknown_state", "There is no such task here.", "Pass a task of this workflow.", "parent_task_id")
    return name


def name_of(read: Grown, args: StartTaskCall, parent: str | None, agent: str) -> str:
    """Return the name of the unit: the same for the same call, as long as the task is in progress."""
    identity = (args.phase_id, parent or "", args.caller_type, agent, str(args.name), str(args.goal))
    stem = f"{slug_of(str(args.name))}-{digest_of(*identity)}"
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
            "worktree": args.worktree,
        },
        "areas": list[Json](args.areas or areas_of(plan, args.agent_name)),
        "claim": True,
    }
    return without_nulls(unit)


def in_progress(read: Grown, phase: str) -> str:
    """Return the tasks of a phase that are in progress, with their agents, in words."""
    tasks = [task for task in read.inside(phase) if task_status(task) == "IN_PROGRESS"]
    shown = ", ".join(f"{id_of(read.run, task.name)} ({task.holder or 'nobody'})" for task in tasks[:_MOST_NAMED])
    return shown + (" and more" if len(tasks) > _MOST_NAMED else "")


def warnings_of(read: Grown, phase: RunUnit, name: str, parent: str | None, added: Mapping[str, Json]) -> list[str]:
    """Return facts for a new task's agent: agents that work on the same files now, or had them before."""
    work = added.get("work") or ()
    works = [work] if isinstance(work, Mapping) else list(work)
    warnings = [str(warning) for work in works for warning in work.get("warnings") or ()]
    plan = planned(read).get(number_of(phase.name))
    others = [
        task.title for task in read.inside(phase.name) if task_status(task) == "IN_PROGRESS" and task.name != name
    ]
    if plan is not None and not plan.is_parallel and parent is None and others:
        warnings.append(f"The phase is sequential by its plan, and '{others[0]}' is in progress.")
    if TAKEN_FROM in added:
        warnings.append(f"The task is taken over from '{added[TAKEN_FROM]}', whose lease had expired.")
    return warnings
