"""The profile `mission-control`: workflows of phases and tasks, with decisions, milestones and issues.

A workflow is an open run, a phase a group, a task a unit. The log is in the run's journal.
"""

from collections.abc import Mapping
from typing import Any, Final

import anyio.to_thread

from dcf.core.access.model import Scope
from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import Grown, RunUnit, read_run, read_unit
from dcf.profiles.ids import digest_of, id_of, place_of
from dcf.profiles.mission_control import calls, outputs, plans, sharing, tasks
from dcf.profiles.mission_control.context import context_of, is_open, note, notes_of, phase_ends, phase_statuses
from dcf.profiles.mission_control.current import TAG, workflow_of
from dcf.profiles.mission_control.words import (
    PHASE_BEGUN,
    PHASE_ENDED,
    begun_at,
    counted,
    ended_at,
    failure_text,
    files_of,
    is_checkpoint,
    is_parallel,
    number_of,
    outcome_of,
    phase_name,
    phase_status,
    run_status,
    tokens_of,
)
from dcf.profiles.native_calls import add_entry
from dcf.profiles.profile import Failure, Native, Profile, Toolbox, refuse
from dcf.values.json_text import Json, dump, without_nulls

_BOX: Final = Toolbox()
_PHASES: Final = {"simple": 2, "standard": 3, "complex": 4}
_RUN_STATUSES: Final = {"completed": "succeeded", "failed": "failed", "partial": "partial"}
_ENDS: Final = {"completed": "succeeded", "failed": "failed"}
_FAILED: Final = "TaskFailed"
_LONGEST_NAME: Final = 100


@_BOX.tool(calls.StartWorkflowCall, Scope.PLAN)
async def start_workflow(native: Native, args: calls.StartWorkflowCall) -> Json:
    """Open a run without units. Its input has the plan, if there is one."""
    name = await anyio.to_thread.run_sync(plans.name_of, args, native.directory)
    args = args.model_copy(update={"name": name})
    plan = await anyio.to_thread.run_sync(plans.plan_of, args, native.directory)
    planned = (
        {} if plan is None else {"objective": plan.objective, "scope": plan.scope, "constraints": plan.constraints}
    )
    args = args.model_copy(
        update={name: planned_value for name, planned_value in planned.items() if getattr(args, name) is None}
    )
    has_aim = args.objective is not None
    phases = [] if plan is None else [phase.as_json() for phase in plan.phases]
    total = args.total_phases or len(phases) or (_PHASES[args.profile] if has_aim else 1)
    about = args.model_dump(exclude={"name", "workflow_files", "searched"}, exclude_none=True) | {"total_phases": total}
    about |= {"phases": phases} if phases else {}
    opened = await native.call(
        "open_run",
        name=name[:_LONGEST_NAME],
        title=name,
        input_json=about,
        project=native.project,
        planner_agent_id=native.agent(),
        tags_json=[TAG],
    )
    run = str(opened["workflow_id"])
    answer: dict[str, Json] = {"workflow_id": run, "created_at": (await read_run(native, run)).meta.get("created_at")}
    run_input = {"objective": args.objective, "profile": args.profile.upper(), "total_phases": total}
    answer |= run_input if has_aim else {}
    if plan is None:
        return answer | {"warnings": [await anyio.to_thread.run_sync(plans.without_plan, args, native.directory)]}
    return answer | {"phases": phases}


@_BOX.tool(calls.StartPhaseCall, Scope.PLAN, Scope.WORK)
async def start_phase(native: Native, args: calls.StartPhaseCall) -> Json:
    """Add a group, or find the one with this number. The journal has the fields that a group lacks."""
    run, name = args.workflow_id, phase_name(args.number)
    read = await read_run(native, run)
    if read.has_ended:
        raise refuse("terminal", "The workflow has ended.", "Start another workflow; nothing was changed.")
    phases = plans.planned(read)
    existing, planned = read.units.get(name), phases.get(args.number)
    members = plans.members_of(planned, args.members)
    if existing is None and phases:
        args = args.model_copy(update={"name": args.name or plans.title_of(planned, args.number)})
        await plans.check_beginning(native, read, args, phases, await phase_ends(native, read))
    if existing is None or members:
        title = existing.title if existing is not None else args.name or plans.title_of(planned, args.number)
        group = {"name": name, "kind": "group", "title": title, **({"agents": members} if members else {})}
        await growing_runs.add(native, run, group, native.agent(), "start_phase")
    notes = await notes_of(native, run, name)
    if PHASE_BEGUN not in notes:
        at_once = args.is_parallel or (planned is not None and planned.is_parallel)
        details = {"is_parallel": at_once, "description": args.description}
        text = args.description or f"Phase {args.number}: {args.name or plans.title_of(planned, args.number)}"
        notes[PHASE_BEGUN] = await note(native, run, name, PHASE_BEGUN, text, details)
    phase = await read_unit(native, run, name)
    answer: dict[str, Json] = {
        "phase_id": id_of(run, name),
        "workflow_id": run,
        "number": args.number,
        "name": phase.title,
        "is_parallel": is_parallel(notes),
        "status": phase_status(phase, notes),
    }
    begun = {"started_at": begun_at(notes)}
    return answer | (begun if existing is None else {"already_exists": True})


@_BOX.tool(calls.StartTaskCall, Scope.WORK, Scope.PLAN)
async def start_task(native: Native, args: calls.StartTaskCall) -> Json:
    """Add a unit to the phase, and begin it; or find the same one, if it is in progress."""
    run, group = place_of(args.phase_id, "phase_id")
    if args.workflow_id not in {None, run}:
        raise refuse("unknown_state", "phase_id is of another workflow.", "Pass a phase of this one.", "phase_id")
    read = await read_run(native, run)
    phase = _phase(read, group)
    args = tasks.completed(read, args, phase, native.key_agent)
    agent_name = args.agent_name
    parent = tasks.parent_of(read, args.parent_task_id)
    agent = native.agent(agent_name)
    name = tasks.name_of(read, args, parent, agent)
    if name in read.units:
        added: Mapping[str, Json] = await growing_runs.begin(native, read.units[name], agent)
    else:
        added = await growing_runs.add(native, run, tasks.unit_of(read, args, phase, name, parent), agent, "start_task")
    task = await read_unit(native, run, name)
    warnings = tasks.warnings_of(read, phase, name, parent, added)
    return {
        "task_id": id_of(run, name),
        "workflow_id": run,
        "phase_id": args.phase_id,
        "phase_number": number_of(phase.name),
        "phase_name": phase.title,
        "caller_type": args.caller_type,
        "snapshot_id": task.input("snapshot_id"),
        "snapshot_type": task.input("snapshot_type") or "none",
        "started_at": task.started_at,
        **({"agent_name": agent_name} if agent_name else {}),
        **({"warnings": warnings} if warnings else {}),
    }


@_BOX.tool(calls.LogMilestoneCall, Scope.WORK)
async def log_milestone(native: Native, args: calls.LogMilestoneCall) -> Json:
    """Add a milestone, which renews the lease."""
    details = {"progress": args.progress, "metadata": args.metadata}
    return await _log(native, args.task_id, "milestone", args.message, details, "milestone_id")


@_BOX.tool(calls.LogDecisionCall, Scope.WORK)
async def log_decision(native: Native, args: calls.LogDecisionCall) -> Json:
    """Add a decision."""
    details = {
        "category": args.category,
        "question": args.question,
        "options": args.options_considered,
        "chosen": args.chosen,
        "reasoning": args.reasoning,
        "trade_offs": args.trade_offs,
    }
    return await _log(native, args.task_id, "decision", args.question, details, "decision_id")


@_BOX.tool(calls.LogIssueCall, Scope.WORK)
async def log_issue(native: Native, args: calls.LogIssueCall) -> Json:
    """Add an issue, which blocks the run if a person must look at it."""
    details = {"type": args.type, "resolution": args.resolution}
    blocks = args.requires_human_review
    return await _log(native, args.task_id, "issue", args.description, details, "issue_id", blocks=blocks)


@_BOX.tool(calls.CompleteTaskCall, Scope.WORK)
async def complete_task(native: Native, args: calls.CompleteTaskCall) -> Json:
    """Complete the unit, or fail it; its result stays in either case."""
    run, name = place_of(args.task_id, "task_id")
    task = growing_runs.in_group(await read_unit(native, run, name), "task", "task_id")
    output = {
        "status": args.status,
        "outcome": args.outcome.model_dump(exclude_none=True),
        "metadata": None if args.metadata is None else args.metadata.model_dump(exclude_none=True),
        **await _files(native, task, args.files_changed),
    }
    failed = args.status == "failed"
    error = (_FAILED, failure_text(output)) if failed else None
    usage = tokens_of(output)
    await growing_runs.end(native, task, output, error, usage_json=usage)
    done = await read_unit(native, run, name)
    return {
        "task_id": args.task_id,
        "workflow_id": run,
        "duration_seconds": round(growing_runs.seconds_between(done.started_at, done.finished_at)),
        "files_changed": files_of(outcome_of(done)),
        "verification": sharing.verified(done),
    }


async def _files(native: Native, task: RunUnit, changed: calls.ChangedFiles | None) -> dict[str, Json]:
    """Return the files of a task, and those of others in its worktree. A repetition returns those of the first call."""
    if task.has_ended:
        stored = outcome_of(task)
        return {name: stored.get(name) for name in ("files_changed", "files_beside")}
    if changed is None:
        return {"files_changed": None, "files_beside": None}
    separated = sharing.separate(await read_run(native, task.run), task, changed.model_dump())
    return {"files_changed": dict(separated.files), "files_beside": separated.as_json()}


@_BOX.tool(calls.CompletePhaseCall, Scope.PLAN)
async def complete_phase(native: Native, args: calls.CompletePhaseCall) -> Json:
    """Seal the group; how it ended is written into the journal."""
    run, name = place_of(args.phase_id, "phase_id")
    read = await read_run(native, run)
    phase = _phase(read, name, ended=True)
    result = counted(read.inside(name))
    if result["in_progress"]:
        raise refuse(
            "tasks_open",
            f"{result['in_progress']} tasks of the phase are in progress: {tasks.in_progress(read, name)}.",
            "Have them completed first, with complete_task; nothing was changed.",
        )
    notes = await notes_of(native, run, name)
    warnings = [f"{result['failed']} tasks failed."] if result["failed"] and args.status == "completed" else []
    if args.status == "completed" and PHASE_ENDED not in notes:
        warnings += await _completion(native, read, phase, args)
    await native.call("seal_group", workflow_id=run, group=name, ends=_ENDS[args.status], reason="complete_phase")
    details = {"status": args.status, "summary": args.summary}
    await note(native, run, name, PHASE_ENDED, args.summary or f"The phase is {args.status}.", details)
    notes = await notes_of(native, run, name)
    begun, ended = begun_at(notes), ended_at(notes)
    return {
        "phase_id": args.phase_id,
        "workflow_id": run,
        "number": number_of(name),
        "name": phase.title,
        "status": phase_status(phase, notes),
        "completed_at": ended,
        "duration_ms": round(growing_runs.seconds_between(begun, ended) * 1000),
        "tasks": result,
        **({"warnings": warnings} if warnings else {}),
    }


async def _completion(native: Native, read: Grown, phase: RunUnit, args: calls.CompletePhaseCall) -> list[str]:
    """Return what is not known of the end of a phase; raise NotDone if it is not complete as its plan demands."""
    number = number_of(phase.name)
    unmet = plans.unmet(read, number)
    if unmet:
        raise refuse(
            "completion_not_met",
            f"By the plan all agents of the phase succeed, and these did not: {', '.join(unmet)}.",
            "Have each do its task with success (start_task with that agent_name, also again after a failure), or say "
            "status failed; nothing was changed.",
        )
    planned, existing = plans.planned(read).get(number), args.outputs_found
    demanded = [] if planned is None else planned.outputs
    if existing is None and native.directory is not None:
        existing = await anyio.to_thread.run_sync(outputs.found_outputs, native.directory, demanded)
    missing, unknown = outputs.missing_outputs(demanded, existing, read.inside(phase.name))
    if missing:
        raise refuse(
            "outputs_missing",
            f"By the plan the phase has outputs that do not exist: {', '.join(missing)}.",
            "Have an agent write them into the project (start_task), or say status failed; nothing was changed.",
        )
    return [f"It is not known whether outputs of the plan exist: {', '.join(unknown)}."] if unknown else []


@_BOX.tool(calls.CompleteWorkflowCall, Scope.PLAN)
async def complete_workflow(native: Native, args: calls.CompleteWorkflowCall) -> Json:
    """Close the run; a partial success is kept as one."""
    results = {
        "summary": args.summary,
        "achievements": args.achievements or [],
        "limitations": args.limitations or [],
    }
    read = await workflow_of(native, args.workflow_id, args.place, own=True)
    run = read.run
    statuses = {} if args.status == "failed" else await phase_statuses(native, read)
    is_judged = args.status == "completed" and not read.has_ended
    left = plans.not_completed(read, statuses) if is_judged else []
    if left:
        raise refuse(
            "phases_open",
            f"Phases of the plan are not completed: {', '.join(map(str, left))}.",
            "Complete them, or end the workflow as partial or failed; nothing was changed.",
        )
    force = args.status == "failed" or not is_open(read, statuses)
    await native.call("close_run", workflow_id=run, status=_RUN_STATUSES[args.status], force=force, **results)
    read = await read_run(native, run)
    ended = [unit for unit in read.units.values() if not unit.is_group and not is_checkpoint(unit)]
    spent = sum(growing_runs.seconds_between(unit.started_at, unit.finished_at) for unit in ended)
    files = {path for unit in ended for paths in files_of(outcome_of(unit)).values() for path in paths}
    return {
        "workflow_id": run,
        "status": run_status(read.status),
        **results,
        "metrics": {
            "total_tasks": len(ended),
            "total_duration_seconds": round(spent),
            "total_duration_minutes": round(spent / 60, 1),
            "total_tokens": sum(sum(tokens.values()) for item in ended if (tokens := tokens_of(outcome_of(item)))),
            "files_changed": len(files),
        },
        "completed_at": read.meta.get("finished_at"),
    }


@_BOX.tool(calls.GetContextCall, read_only=True)
async def get_context(native: Native, args: calls.GetContextCall) -> Json:
    """Read the run, and what was logged in it."""
    return await context_of(native, args)


async def _log(
    native: Native, task_id: str, kind: str, text: str, details: Mapping[str, Json], named: str, *, blocks: bool = False
) -> Json:
    """Add an entry to the journal; the same call again finds it."""
    run, name = place_of(task_id, "task_id")
    task = growing_runs.in_group(await read_unit(native, run, name), "task", "task_id")
    agent = native.agent(task.holder or task.input("agent_name"))
    key = digest_of(kind, name, str(task.attempts), text, dump(without_nulls(details)))
    more: dict[str, Json] = {"blocks": True} if blocks else {}
    added = await add_entry(native, run, kind, text, details, agent, state=name, key=key, **more)
    if not task.has_ended and added.get("leased_until") is None:
        await growing_runs.renew(native, task)
    return {named: added["entry"], "created_at": added["at"]}


def _phase(read: Grown, name: str, *, ended: bool = False) -> RunUnit:
    phase = read.units.get(name)
    if phase is None or not phase.is_group:
        raise refuse("unknown_state", "There is no such phase.", "Pass the id exactly as you got it.", "phase_id")
    if not ended and phase.has_ended:
        raise refuse(
            "phase_over", "The phase is not in progress.", "Start another phase; nothing was changed.", "phase_id"
        )
    return phase


_CODES: Final[Mapping[str, str]] = {
    "invalid_argument": "VALIDATION_ERROR",
    "invalid_workflow": "VALIDATION_ERROR",
    "unknown_tool": "UNKNOWN_TOOL",
    "internal_error": "INTERNAL_ERROR",
    "store_unavailable": "INTERNAL_ERROR",
}
"""The codes of the original. A failure that it does not know has dcf's own code, written as these are."""


_HINTS: Final[Mapping[str, str]] = {
    "run_blocked": "STOP and tell a person: get_context shows the blockers, `dcf inbox` how a person resolves them.",
}
"""What to do after a failure of which dcf tells its own clients something else."""


def _failed(failure: Failure) -> str | dict[str, Json]:
    """Return a failure as clients know it, with dcf's own code and the next step."""
    code = "NOT_FOUND" if failure.code.startswith("unknown_") else failure.code.upper()
    members: dict[str, Any] = {
        "error": True,
        "code": _CODES.get(failure.code, code),
        "message": failure.message,
        "reason": failure.code,
        "hint": _HINTS.get(failure.code, failure.hint),
    }
    return members if failure.retry_after_s is None else members | {"retry_after_s": failure.retry_after_s}


_INSTRUCTIONS: Final = (
    "Workflows of phases and tasks. Orchestrator: start_workflow, start_phase, then sub-agents with workflow_id and "
    "phase_id, get_context to monitor, complete_phase, complete_workflow. Sub-agent: start_task, log_milestone, "
    "log_decision, log_issue, complete_task. After a restart get_context says where everything stands."
)

PROFILE: Final = Profile(
    name="mission-control",
    server="mission-control",
    version="1.0.0",
    advice="Call get_context to read how the workflow stands.",
    instructions=_INSTRUCTIONS,
    tools=_BOX.tools,
    failed=_failed,
)
