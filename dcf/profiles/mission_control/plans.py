"""What a workflow's files say of its phases, and how the tools of `mission-control` keep to it.

The plan is read once, when the workflow is started, and stands in the input of its run. A phase begins after those that
it requires, and where the plan says `checkpoint: human`, after a person has agreed: the checkpoint is a unit of the run
that the orchestrator hands in and a person judges. A plan only adds rules; a workflow without one goes on as before.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dcf.authoring.mission_files import read_texts
from dcf.authoring.mission_plans import MissionPlan, MissionTexts, read_plan
from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import Grown, RunUnit, read_unit
from dcf.profiles.ids import id_of
from dcf.profiles.mission_control.calls import StartPhaseCall, WorkflowFiles
from dcf.profiles.mission_control.words import checkpoint_name, phase_name, task_status
from dcf.profiles.profile import Native, NotDone, refuse
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json
from dcf.values.located import Report
from dcf.values.records import record

_PLAN: Final = "phases"
_GATE: Final = "checkpoint"
_MOST_TRIES: Final = 100
_SHOWN: Final = 10
_ALL_SUCCEED: Final = "all agents success"
"""The completion of which dcf judges whether it is so; another one is for the orchestrator to judge."""

_ENDED_WELL: Final = frozenset({"SUCCESS", "PARTIAL_SUCCESS"})


@record(frozen=True, slots=True)
class Phase:
    """A phase as the plan has it."""

    told: Mapping[str, Json]

    @property
    def number(self) -> int:
        """Its number."""
        return int(self.told["number"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.told.get("name"))

    @property
    def is_parallel(self) -> bool:
        """True if its agents work at the same time."""
        return bool(self.told.get("parallel"))

    @property
    def requires(self) -> list[int]:
        """The numbers of the phases that must be completed before."""
        return list(self.told.get("requires") or ())

    @property
    def agents(self) -> list[str]:
        """The types of its agents."""
        return [str(one["type"]) for one in self.told.get("agents") or ()]

    def areas_of(self, agent: str | None) -> list[str]:
        """Return the scopes of an agent that are globs; what is said in words is no area."""
        found = (one.get("scope") or () for one in self.told.get("agents") or () if one["type"] == agent)
        return [scope for scopes in found for scope in scopes if " " not in scope]


def plan_of(name: str, files: WorkflowFiles | None, directory: Path | None) -> MissionPlan | None:
    """Return the plan that the files of a workflow are: those of the call, or of the directory; None without files.

    Raise NotDone for a plan that is wrong.
    """
    report = Report()
    texts = _texts(name, files, directory, report)
    plan = None if texts is None else read_plan(texts, report)
    if report.problems:
        shown = "; ".join(str(one) for one in report.problems[:_SHOWN])
        raise refuse("invalid_workflow", shown, "Correct the file and call again; nothing was changed.", "name")
    return plan


def _texts(name: str, files: WorkflowFiles | None, directory: Path | None, report: Report) -> MissionTexts | None:
    if files is not None:
        agents = {agent: None if tools is None else tuple(tools) for agent, tools in files.agents.items()}
        return MissionTexts(name=name, workflow=files.workflow, definition=files.definition, agents=agents)
    return None if directory is None else read_texts(directory, name, Path.home(), report)


def planned(read: Grown) -> dict[int, Phase]:
    """Return the phases of the plan by number; none for a workflow without one."""
    found = read.input(_PLAN)
    return {int(one["number"]): Phase(one) for one in found} if isinstance(found, Sequence) else {}


async def check_beginning(
    native: Native, read: Grown, args: StartPhaseCall, phases: Mapping[int, Phase], statuses: Mapping[int, str]
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
        status = statuses.get(number, "PENDING")
        if status != "COMPLETED":
            raise refuse(
                "phase_required",
                f"Phase {args.number} requires phase {number}, which is {status}.",
                "Complete that one first, with complete_phase; nothing was changed.",
                "number",
            )
    if phase.told.get("checkpoint"):
        await _pass_checkpoint(native, read, args)


def not_completed(read: Grown, statuses: Mapping[int, str]) -> list[int]:
    """Return the numbers of the planned phases that are not completed."""
    return [number for number in sorted(planned(read)) if statuses.get(number) != "COMPLETED"]


def unmet(read: Grown, number: int) -> list[str]:
    """Return the agents of a phase without a task that ended well, where the plan wants all to succeed."""
    phase = planned(read).get(number)
    if phase is None or str(phase.told.get("completion") or "").strip().casefold() != _ALL_SUCCEED:
        return []
    tasks = [one for one in read.inside(phase_name(number)) if task_status(one) in _ENDED_WELL]
    done = {str(one.input("agent_name") or one.holder) for one in tasks}
    return [agent for agent in phase.agents if not any(_is_of(agent, name) for name in done)]


def _is_of(agent: str, name: str) -> bool:
    """Return True for the name of an agent of this type: the type, or with something behind it, as `auditor-2`."""
    return name == agent or (name.startswith(agent) and name[len(agent)] in "-_ .:")


def members_of(phase: Phase | None, named: Sequence[str] | None) -> list[str]:
    """Return the agents whose keys may start tasks: those that the call names, and those of the plan."""
    return list(dict.fromkeys((*(named or ()), *(one for one in (phase.agents if phase else ()) if is_id(one)))))


def open_checkpoints(read: Grown) -> list[Json]:
    """Return the checkpoints that wait for a person, as blockers."""
    return [
        {
            "id": id_of(read.run, one.name),
            "task_id": id_of(read.run, one.name),
            "task_name": one.title,
            "agent_name": one.holder,
            "type": "CHECKPOINT",
            "description": f"{one.title}: a person must agree.",
            "resolution": f"dcf inbox {read.run}",
            "created_at": one.started_at,
        }
        for number in sorted(planned(read))
        if (one := read.units.get(checkpoint_name(number))) is not None and not one.has_ended
    ]


async def _pass_checkpoint(native: Native, read: Grown, args: StartPhaseCall) -> None:
    """Hand in the checkpoint of a phase, or find that a person has agreed; raise NotDone as long as nobody has."""
    name, agent = checkpoint_name(args.number), native.agent()
    unit = read.units.get(name)
    if unit is not None and unit.status == "succeeded":
        return
    if unit is None:
        gate: dict[str, Json] = {"name": _GATE, "kind": "person", "max_attempts": _MOST_TRIES}
        told = f"Phase {args.number} ({args.name}) of '{read.meta.get('title')}' begins once a person agrees."
        made = {"name": name, "title": f"Checkpoint before phase {args.number}", "instructions": told}
        await growing_runs.add(native, read.run, {**made, "gates": [gate], "claim": True}, agent, "checkpoint")
    elif unit.doc.get("type") != "Gate":
        await growing_runs.begin(native, unit, agent)
    await _ask(native, await read_unit(native, read.run, name), args)


async def _ask(native: Native, unit: RunUnit, args: StartPhaseCall) -> None:
    """Ask a person. A question that waits stays as the person reads it, and a rejection is reported before another."""
    asked: Json = {"phase": args.number, "name": args.name, "description": args.description}
    before = unit.output if isinstance(unit.output, Mapping) else None
    if before is None:
        return await _hand_in(native, unit, asked, args.number)
    try:
        return await _hand_in(native, unit, before, args.number)
    except NotDone as refused:
        is_new = args.description is not None and args.description != before.get("description")
        if refused.failure.code != "checkpoint_rejected" or not is_new:
            raise
    return await _hand_in(native, unit, asked, args.number)


async def _hand_in(native: Native, unit: RunUnit, asked: Json, number: int) -> None:
    try:
        await growing_runs.end(native, unit, asked)
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
