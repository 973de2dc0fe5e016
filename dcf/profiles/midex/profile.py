"""The profile `midex`: executions of workflows with steps, contracts, logs, artifacts and findings.

An execution is an open run, a step a unit. A pending execution is a run that was paused as it was opened. An execution
that timed out is paused as well, and an escalated one is blocked by an issue. Content is in the catalogue.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from uuid import uuid4

from dcf.core.access.model import Scope
from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import Grown, read_run, read_unit
from dcf.profiles.ids import digest_of, place_of, slug_of
from dcf.profiles.midex import calls
from dcf.profiles.midex.content import BOX as CONTENT
from dcf.profiles.midex.content import contract_of, known_project, phases_of, project_at, project_at_number
from dcf.profiles.midex.contracts import STEP_OUTPUT, broken, check_contract, check_schema, or_nothing
from dcf.profiles.midex.executions import TAG, execution_of, executions, late, meta_of
from dcf.profiles.midex.members import MEMBERS, add_members, agents_of, as_stranger, holder_of
from dcf.profiles.midex.records import BOX as RECORDS
from dcf.profiles.midex.records import artifacts_of, findings_of, logs_of
from dcf.profiles.midex.words import ADVICE, INCOMPLETE, PENDING, STEP_FAILED, WORDS, check_move, execution_state, step
from dcf.profiles.native_calls import Tolerated, add_entry
from dcf.profiles.own_words import in_words
from dcf.profiles.profile import Failure, Native, NotDone, Profile, Toolbox, refuse
from dcf.values.json_text import Json, without_nulls

_BOX: Final = Toolbox()
_LONGEST_UNIT: Final = 80
_MOST_LISTED: Final = 100
_MS: Final = 1000
_ENDED: Final = {"completed": "succeeded", "failed": "failed"}


@_BOX.tool(calls.StartExecutionCall, Scope.PLAN, Scope.WORK)
async def start_execution(native: Native, args: calls.StartExecutionCall) -> Json:
    """Open a run, and pause it until it is begun."""
    project = await _project(native, args)
    run_input = {"metadata": args.metadata, "timeoutMs": args.timeout_ms}
    opened = await native.call(
        "open_run",
        name=args.workflow_name,
        workflow_id=str(uuid4()),
        input_json=without_nulls(run_input),
        project=project,
        planner_agent_id=native.agent(),
        tags_json=[TAG],
        timeout_s=None if args.timeout_ms is None else -(-args.timeout_ms // _MS),
    )
    run, phases = str(opened["workflow_id"]), await phases_of(native, args.workflow_name, project)
    await add_members(native, run, [*agents_of(phases), *(args.members or ())])
    await native.call("pause_run", workflow_id=run, reason=PENDING)
    return await execution_of(native, await meta_of(native, run)) | ({} if phases is None else {"phases": phases})


@_BOX.tool(calls.TransitionWorkflowStateCall, Scope.PLAN, Scope.WORK)
async def transition_workflow_state(native: Native, args: calls.TransitionWorkflowStateCall) -> Json:
    """Move the run, if executions have such a move."""
    meta = await meta_of(native, args.execution_id)
    if args.members:
        await add_members(native, args.execution_id, args.members)
    if check_move(meta, args.new_state):
        await _move(native, meta, args.execution_id, args.new_state, args.error)
    return {"success": True}


@_BOX.tool(calls.ResumeExecutionCall, Scope.PLAN, Scope.WORK)
async def resume_execution(native: Native, args: calls.ResumeExecutionCall) -> Json:
    """Continue a run that timed out or was escalated; its time begins again."""
    meta = await meta_of(native, args.execution_id)
    state = execution_state(meta)
    if state in {"pending", "completed", "failed"}:
        raise refuse(
            "invalid_transition",
            f"Only executions that timed out or were escalated are resumed; this one is {state}.",
            "Use transition_workflow_state; nothing was changed.",
        )
    if check_move(meta, "running"):
        await _move(native, meta, args.execution_id, "running", None)
    return {"success": True}


@_BOX.tool(calls.CompleteExecutionCall, Scope.PLAN, Scope.WORK)
async def complete_execution(native: Native, args: calls.CompleteExecutionCall) -> Json:
    """Close the run with its output, in one call: a refused close does not keep the output."""
    run, meta = args.execution_id, await meta_of(native, args.execution_id)
    end_state = "completed" if args.error is None else "failed"
    if args.output is not None and args.error is None:
        await _check(native, meta, "WorkflowOutput", args.output)
    if not check_move(meta, end_state):
        _check_same(meta, args.output)
        return {"success": True}
    summary = args.error or str((args.output or {}).get("summary") or "Completed.")
    await _close(native, meta, run, end_state, summary, args.output)
    return {"success": True}


@_BOX.tool(calls.CheckExecutionTimeoutCall)
async def check_execution_timeout(native: Native, _: calls.CheckExecutionTimeoutCall) -> Json:
    """Return the runs that the clock has paused, and pause those whose time has just ended."""
    async for run in late(native):
        with suppress(NotDone):  # then the timer loop pauses it
            await native.call("pause_run", workflow_id=run, reason="timeout")
    return [execution async for execution in executions(native, states=("timeout",), status="running")]


@_BOX.tool(calls.GetIncompleteExecutionsCall, read_only=True)
async def get_incomplete_executions(native: Native, args: calls.GetIncompleteExecutionsCall) -> Json:
    """Return the runs that are not over."""
    incomplete = executions(native, states=INCOMPLETE, status="running", workflow=args.workflow_name)
    return [execution async for execution in incomplete]


@_BOX.tool(calls.StartStepCall, Scope.PLAN, Scope.WORK)
async def start_step(native: Native, args: calls.StartStepCall) -> Json:
    """Add a unit and begin it, or neither; a failed unit is tried again."""
    run = await read_run(native, args.execution_id)
    _must_run(run)
    name, agent = _unit_name(args.step_name), native.agent()
    try:
        await _begin(native, run, name, agent, args)
    except NotDone as refused:
        raise as_stranger(native, refused) from None
    return step(await read_unit(native, run.run, name), run.meta.get("created_at"))


async def _begin(native: Native, run: Grown, name: str, agent: str, args: calls.StartStepCall) -> None:
    unit = run.units.get(name)
    if unit is None:
        await growing_runs.add(native, run.run, await _unit(native, run, name, args), agent, "start_step")
    elif unit.status == "succeeded":
        raise refuse("step_completed", "A step of this name is completed.", "Use another name; nothing was changed.")
    else:
        if unit.has_ended:
            await native.call("retry_unit", workflow_id=run.run, unit=name, reason="start_step")
            unit = await read_unit(native, run.run, name)
        await growing_runs.begin(native, unit, agent)


@_BOX.tool(calls.CompleteStepCall, Scope.WORK)
async def complete_step(native: Native, args: calls.CompleteStepCall) -> Json:
    """Complete the unit, whose output is checked in the same transaction; or fail it."""
    run, name = place_of(args.step_id, "stepId")
    unit, meta = await read_unit(native, run, name), await meta_of(native, run)
    error = None if args.error is None else (STEP_FAILED, args.error)
    holder = await holder_of(native, meta, unit)
    try:
        await growing_runs.end(native if holder is None else native.for_agent(holder), unit, args.output, error)
    except NotDone as refused:
        raise _with_every_problem(refused) from None
    return step(await read_unit(native, run, name), meta.get("created_at"))


@_BOX.tool(calls.GetExecutionHistoryCall, read_only=True)
async def get_execution_history(native: Native, args: calls.GetExecutionHistoryCall) -> Json:
    """Return the runs, newest first."""
    project = None if args.project_id is None else await known_project(native, args.project_id)
    if args.project_id is not None and project is None:
        return []
    state_word = (args.state or "").strip().lower()
    states, skipped = (state_word,) if state_word else (), args.offset or 0
    listed: list[Json] = []
    async for execution in executions(
        native, states=states, skipped=skipped, workflow=args.workflow_name, project=project
    ):
        listed.append(execution)
        if len(listed) == (args.limit or _MOST_LISTED):
            break
    return listed


@_BOX.tool(calls.GetExecutionDetailsCall, read_only=True)
async def get_execution_details(native: Native, args: calls.GetExecutionDetailsCall) -> Json:
    """Return a run, with what is asked for; null if there is none."""
    with Tolerated("unknown_run"):
        return await _details(native, await read_run(native, args.execution_id), args)
    return None


async def _details(native: Native, run: Grown, args: calls.GetExecutionDetailsCall) -> Json:
    answer: dict[str, Json] = {"execution": await execution_of(native, run.meta)}
    if args.include_steps:
        answer["steps"] = [step(unit, run.meta.get("created_at")) for unit in run.units.values() if not unit.is_group]
    if args.include_logs:
        answer["logs"] = await logs_of(native, run.run)
    if args.include_artifacts:
        answer["artifacts"] = await artifacts_of(native, run.run)
    if args.include_findings:
        answer["findings"] = await findings_of(native, run.run)
    return answer


def _with_every_problem(refused: NotDone) -> NotDone:
    """Return the refusal of an output with everything that is wrong with it."""
    problems = refused.failure.details.get("problems") or ()
    if refused.failure.code != "output_invalid" or not problems:
        return refused
    return broken(STEP_OUTPUT, [(f"output{problem['path']}", str(problem["message"])) for problem in problems])


async def _move(native: Native, meta: Mapping[str, Json], run: str, state: str, error: str | None) -> None:
    match state:
        case "running":
            await _resolve(native, meta, run, error or "Resumed.")
            if meta.get("paused_at"):
                await native.call("resume_run", workflow_id=run, reason="resumed")
        case "timeout":
            await native.call("pause_run", workflow_id=run, reason="timeout")
        case "escalated":
            await add_entry(native, run, "issue", error or "Escalated.", blocks=True)
        case _:
            await _close(native, meta, run, state, error or f"The execution is {state}.", None)


async def _close(
    native: Native, meta: Mapping[str, Json], run: str, state: str, summary: str, output: Mapping[str, Json] | None
) -> None:
    """Close a run. Completing an escalated one resolves its issues, once nothing else is in the way."""
    closing = {"workflow_id": run, "status": _ENDED[state], "summary": summary, "output_json": output}
    with Tolerated("issues_open"):
        await native.call("close_run", **closing, force=state == "failed")
        return
    await _resolve(native, meta, run, summary)
    await native.call("close_run", **closing)


async def _resolve(native: Native, meta: Mapping[str, Json], run: str, how: str) -> None:
    for issue in meta.get("blocked_by") or ():
        await native.call("resolve_issue", workflow_id=run, issue=issue["issue"], how=how)


async def _project(native: Native, args: calls.StartExecutionCall) -> str | None:
    if args.project_id is not None:
        return await project_at_number(native, args.project_id)
    if args.project_path is not None:
        return await project_at(native, args.project_path)
    return native.project


async def _check(native: Native, meta: Mapping[str, Json], name: str, value: Json) -> None:
    check_contract(name, await contract_of(native, name, meta.get("project")), value, "output")


def _check_same(meta: Mapping[str, Json], output: Mapping[str, Json] | None) -> None:
    """Raise NotDone if an execution that is over has another output than this one."""
    if output is not None and dict(output) != meta.get("output"):
        raise refuse(
            "conflict",
            f"The execution is {execution_state(meta)} with another output, which stays.",
            "Send the same output again, or none; nothing was changed.",
            "output",
        )


async def _unit(native: Native, run: Grown, name: str, args: calls.StartStepCall) -> dict[str, Json]:
    names = [_dependency(run, name) for name in args.depends_on or ()]
    contract = await contract_of(native, STEP_OUTPUT, run.meta.get("project"))
    check_schema(STEP_OUTPUT, contract)
    unit: dict[str, Json] = {"name": name, "title": args.step_name, "output_schema": or_nothing(contract)}
    unit |= {"input": {"phase": args.phase_name}} if args.phase_name else {}
    return unit | ({"depends_on": names} if names else {}) | {"claim": True}


def _dependency(run: Grown, text: str) -> str:
    of, name = place_of(text, "dependsOn")
    if of != run.run or name not in run.units:
        raise refuse("unknown_state", "dependsOn names no step of this execution.", "Pass ids of steps.", "dependsOn")
    return name


def _must_run(run: Grown) -> None:
    state = execution_state(run.meta)
    if state != "running":
        raise refuse(
            "not_running",
            f"The execution is {state}, so no step can be started.",
            "Make it running first with transition_workflow_state; nothing was changed.",
        )


def _unit_name(step_name: str) -> str:
    """Return the name of a step's unit: the step's own, if it can be one."""
    plain = (
        step_name != MEMBERS
        and 0 < len(step_name) <= _LONGEST_UNIT
        and step_name.isprintable()
        and "/" not in step_name
    )
    return step_name if plain else f"{slug_of(step_name)}-{digest_of(step_name)}"


def _failed(failure: Failure) -> str | dict[str, Json]:
    return f"Error: {in_words(failure, WORDS, ADVICE).sentence} ({failure.code})"


_INSTRUCTIONS: Final = (
    "Executions of workflows. search_workflows and get_workflow find a workflow, get_agent_persona and "
    "get_relevant_rules what to work by; start_execution, transition_workflow_state to running, start_step and "
    "complete_step for each step, complete_execution. After a restart get_incomplete_executions says what is open. "
    "A person loads workflows, agents, rules and contracts with `dcf catalogue load .mide-lite`."
)

_TOOLS: Final = {**CONTENT.tools, **_BOX.tools, **RECORDS.tools}
_ORDER: Final = (
    *("search_workflows", "list_projects", "get_workflow", "get_agent_persona", "get_relevant_rules"),
    *("get_project_context", "start_execution", "transition_workflow_state", "start_step", "complete_step"),
    *("check_execution_timeout", "resume_execution", "complete_execution", "get_incomplete_executions"),
    *("log_execution", "store_artifact", "store_finding", "query_findings", "get_execution_history"),
    "get_execution_details",
)

PROFILE: Final = Profile(
    name="midex",
    server="midex-mcp-server",
    version="0.1.0",
    instructions=_INSTRUCTIONS,
    advice="Call get_execution_details to read how the execution stands.",
    tools={name: _TOOLS[name] for name in _ORDER},
    failed=_failed,
)
