"""The phases in a workflow's files, and the rules that the tools of `mission-control` follow for them.

The plan is read once, when the workflow is started, and stored in the input of its run. A phase begins after those that
it requires, and where the plan says `checkpoint: human`, after a person has agreed: the checkpoint is a unit of the run
that the orchestrator hands in and a person judges. A plan only adds rules; a workflow without one works as before.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dcf.authoring.mission_files import FOLDER, read_texts, workflow_names
from dcf.authoring.mission_plans import MissionPlan, MissionTexts, PlannedPhase, read_phase, read_plan
from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import Grown, RunUnit, read_unit
from dcf.profiles.ids import id_of
from dcf.profiles.mission_control.calls import StartPhaseCall, StartWorkflowCall
from dcf.profiles.mission_control.completion import ALL_SUCCEED, type_of, unmet_agents
from dcf.profiles.mission_control.words import PhaseEnd, checkpoint_name, phase_name
from dcf.profiles.profile import Native, NotDone, refuse
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json
from dcf.values.located import Report

_PLAN: Final = "phases"
_GATE: Final = "checkpoint"
_GATE_TYPE: Final = "Gate"
"""Type of the document of a unit whose output waits for a verdict."""
_MOST_TRIES: Final = 100
_SHOWN: Final = 10
_LONGEST_SUMMARY: Final = 1000


def plan_of(call: StartWorkflowCall, directory: Path | None) -> MissionPlan | None:
    """Return the plan that the files of a workflow are: those of the call, or of the directory; None without files.

    Raise NotDone for a plan that is wrong.
    """
    report = Report()
    texts = _texts(call, directory, report)
    plan = None if texts is None else read_plan(texts, report)
    if report.problems:
        shown = "; ".join(str(problem) for problem in report.problems[:_SHOWN])
        raise refuse("invalid_workflow", shown, "Correct the file and call again; nothing was changed.", "name")
    return plan


def name_of(call: StartWorkflowCall, directory: Path | None) -> str:
    """Return the name of the workflow: the only one of the directory, if the call does not name it."""
    if call.name is not None:
        return call.name
    names = _names(call, directory)
    if len(names) == 1:
        return names[0]
    shown = f"There are {', '.join(names)}." if names else f"There is no workflow in {FOLDER}."
    hint = "Pass the name of the workflow; nothing was changed."
    raise refuse("invalid_argument", f"name: is required. {shown}", hint, "name")


def without_plan(call: StartWorkflowCall, directory: Path | None) -> str:
    """Return what the orchestrator should know of a workflow without a plan: nothing of it is checked."""
    where = call.searched.directory if call.searched is not None else None if directory is None else str(directory)
    rules = "So no order, checkpoint, completion or output of a plan is checked."
    if where is None:
        return f"No plan was taken: this server reads the files of no project. {rules}"
    names = _names(call, directory)
    others = f" Workflows there: {', '.join(names)}." if names else ""
    return f"No plan was taken: {where} has no {FOLDER}/{call.name}/workflow.md.{others} {rules}"


def _names(call: StartWorkflowCall, directory: Path | None) -> list[str]:
    if call.searched is not None:
        return list(call.searched.workflows)
    return [] if directory is None else workflow_names(directory)


def _texts(call: StartWorkflowCall, directory: Path | None, report: Report) -> MissionTexts | None:
    files, name = call.workflow_files, str(call.name)
    if files is not None:
        agents = {agent: None if tools is None else tuple(tools) for agent, tools in files.agents.items()}
        return MissionTexts(name=name, workflow=files.workflow, definition=files.definition, agents=agents)
    return None if directory is None else read_texts(directory, name, Path.home(), report)


def title_of(phase: PlannedPhase | None, number: int) -> str:
    """Return the name of a phase that the call does not name."""
    return f"Phase {number}" if phase is None else phase.name


def goal_of(phase: PlannedPhase | None, agent: str | None) -> str | None:
    """Return what an agent does in a phase, as the plan says."""
    return "; ".join(_scopes_of(phase, agent)) or None


def areas_of(phase: PlannedPhase | None, agent: str | None) -> list[str]:
    """Return the scopes of an agent that are globs; a scope in words is no area."""
    return [scope for scope in _scopes_of(phase, agent) if " " not in scope]


def _scopes_of(phase: PlannedPhase | None, name: str | None) -> list[str]:
    if phase is None or name is None:
        return []
    planned_type = type_of(name, phase.types)
    return [scope for agent in phase.agents if agent.type == planned_type for scope in agent.scopes]


def planned(read: Grown) -> dict[int, PlannedPhase]:
    """Return the phases of the plan by number; none for a workflow without one."""
    plan = read.input(_PLAN)
    phases = map(read_phase, plan) if isinstance(plan, Sequence) else ()
    return {phase.number: phase for phase in phases}


async def check_beginning(
    native: Native, read: Grown, args: StartPhaseCall, phases: Mapping[int, PlannedPhase], ends: Mapping[int, PhaseEnd]
) -> None:
    """Raise NotDone for a phase that is not among those of the plan, or that does not begin yet."""
    phase = phases.get(args.number)
    if phase is None:
        raise refuse(
            "unknown_phase",
            f"The plan of the workflow has no phase {args.number}.",
            f"Its phases are {', '.join(map(str, sorted(phases)))}; nothing was changed.",
            "number",
        )
    for number in phase.requires:
        status = ends[number].status if number in ends else "PENDING"
        if status != "COMPLETED":
            raise refuse(
                "phase_required",
                f"Phase {args.number} requires phase {number}, which is {status}.",
                "Complete that one first, with complete_phase; nothing was changed.",
                "number",
            )
    if phase.checkpoint is not None:
        await _pass_checkpoint(native, read, args, ends)


def not_completed(read: Grown, statuses: Mapping[int, str]) -> list[int]:
    """Return the numbers of the planned phases that are not completed."""
    return [number for number in sorted(planned(read)) if statuses.get(number) != "COMPLETED"]


def unmet(read: Grown, number: int) -> list[str]:
    """Return the agents of a phase that did not succeed, where the plan wants all to succeed."""
    phase = planned(read).get(number)
    if phase is None or (phase.completion or "").strip().casefold() != ALL_SUCCEED:
        return []
    return unmet_agents(phase.types, read.inside(phase_name(number)))


def members_of(phase: PlannedPhase | None, named: Sequence[str] | None) -> list[str]:
    """Return the agents whose keys may start tasks: those that the call names, and those of the plan."""
    return list(dict.fromkeys((*(named or ()), *(name for name in (phase.types if phase else ()) if is_id(name)))))


def open_checkpoints(read: Grown) -> list[Json]:
    """Return the checkpoints that wait for a person or were rejected, as blockers."""
    names = [checkpoint_name(number) for number in sorted(planned(read))]
    units = [read.units[name] for name in names if name in read.units]
    return [_blocker(unit) for unit in units if not unit.has_ended]


def _blocker(unit: RunUnit) -> Json:
    """Return a checkpoint as a blocker: a person is asked, or has rejected it and the orchestrator must act."""
    waits = unit.doc.get("type") == _GATE_TYPE or unit.output is None
    rejected = "Call start_phase: it says what is asked for. Do that, then call it with another description."
    return {
        "id": id_of(unit.run, unit.name),
        "task_id": id_of(unit.run, unit.name),
        "task_name": unit.title,
        "agent_name": unit.holder,
        "type": "CHECKPOINT" if waits else "CHECKPOINT_REJECTED",
        "description": f"{unit.title}: a person {'must agree' if waits else 'did not agree'}.",
        "resolution": f"dcf inbox {unit.run}" if waits else rejected,
        "created_at": unit.started_at,
    }


async def _pass_checkpoint(native: Native, read: Grown, args: StartPhaseCall, ends: Mapping[int, PhaseEnd]) -> None:
    """Hand in the checkpoint of a phase, or find that a person has agreed; raise NotDone until then."""
    name, agent = checkpoint_name(args.number), native.agent()
    unit = read.units.get(name)
    if unit is not None and unit.status == "succeeded":
        return
    if unit is None:
        gate: dict[str, Json] = {"name": _GATE, "kind": "person", "max_attempts": _MOST_TRIES}
        instructions = f"Phase {args.number} ({args.name}) of '{read.meta.get('title')}' begins once a person agrees."
        made = {"name": name, "title": f"Checkpoint before phase {args.number}", "instructions": instructions}
        await growing_runs.add(native, read.run, {**made, "gates": [gate], "claim": True}, agent, "checkpoint")
    elif unit.doc.get("type") != _GATE_TYPE:
        await growing_runs.begin(native, unit, agent)
    done: list[Json] = [
        {"phase": number, "name": read.units[phase_name(number)].title, **_shown(end)}
        for number, end in sorted(ends.items())
    ]
    await _ask(native, await read_unit(native, read.run, name), args, done)


def _shown(end: PhaseEnd) -> dict[str, Json]:
    """Return how a phase ended, for the person who decides about the next one."""
    return {"status": end.status, "summary": None if end.summary is None else end.summary[:_LONGEST_SUMMARY]}


async def _ask(native: Native, unit: RunUnit, args: StartPhaseCall, done: list[Json]) -> None:
    """Ask a person. A question that waits stays as the person reads it, and a rejection is reported before another."""
    question: Json = {"phase": args.number, "name": args.name, "description": args.description, "phases_before": done}
    before = unit.output if isinstance(unit.output, Mapping) else None
    if before is None:
        return await _hand_in(native, unit, question, args.number)
    try:
        return await _hand_in(native, unit, before, args.number)
    except NotDone as refused:
        is_new = args.description is not None and args.description != before.get("description")
        if refused.failure.code != "checkpoint_rejected" or not is_new:
            raise
    return await _hand_in(native, unit, question, args.number)


async def _hand_in(native: Native, unit: RunUnit, question: Json, number: int) -> None:
    try:
        await growing_runs.end(native, unit, question)
    except NotDone as refused:
        if refused.failure.code == "review_running":
            raise refuse(
                "checkpoint_open",
                f"Phase {number} begins once a person agrees. Nobody has answered yet.",
                f"STOP and tell a person: `dcf inbox {unit.run}` shows it. Then call start_phase again.",
            ) from None
        if refused.failure.code == "needs_work":
            raise refuse(
                "checkpoint_rejected",
                f"A person did not agree that phase {number} begins: {refused.failure.message}",
                "Do what is asked for. Then call start_phase again, and say in description what is different now.",
            ) from None
        raise
