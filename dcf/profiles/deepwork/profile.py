"""The profile `deepwork`: jobs with workflows of steps, one after the other, each with a gate where it has criteria.

A workflow that is under way is a run, a step a Task, a review a gate of it; a session is the runs with its tag. The
definition of the job is kept with the run, so later edits of the job do not change a run in progress.
"""

import secrets
from collections.abc import Sized
from typing import Final

from anyio import to_thread

from dcf.core.access.model import Scope
from dcf.profiles import growing_runs
from dcf.profiles.deepwork import calls
from dcf.profiles.deepwork.catalogue import (
    NOT_THERE,
    definition_of,
    job_of,
    named_job,
    names_of_jobs,
    shown_of,
    workflow_of,
)
from dcf.profiles.deepwork.jobs import QUALITY_GATE, document_of, machine_of, order_of, read_job
from dcf.profiles.deepwork.reports import (
    current_of,
    files_of,
    how_to_report,
    missing_outputs,
    output_of,
    reported_step,
)
from dcf.profiles.deepwork.reviews import BOX as REVIEWS
from dcf.profiles.deepwork.reviews import needs_work, reviewed
from dcf.profiles.deepwork.session import TAG, DeepRun, Session, scope_of, session_id, session_of
from dcf.profiles.growing_runs import RunUnit, read_unit
from dcf.profiles.ids import digest_of, slug_of
from dcf.profiles.native_calls import add_entry
from dcf.profiles.profile import Failure, Native, NotDone, Profile, Toolbox, refuse
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip

_BOX: Final = Toolbox()
_HELD_UP: Final = frozenset({"review_running", "needs_work"})
_LOST: Final = frozenset({"lease_lost", "lease_expired", "not_running", "invalid_transition"})
_SUGGESTED: Final = (
    "suggested: This server does not reach the git repository of the project. Create the branch yourself."
)


@_BOX.tool(calls.GetWorkflowsCall, read_only=True)
async def get_workflows(native: Native, args: calls.GetWorkflowsCall) -> Json:
    """Return what can be started."""
    session = scope_of(native, args.session_id)
    jobs: list[Json] = []
    problems: list[Json] = []
    async for name in names_of_jobs(native, session):
        try:
            jobs.append(shown_of(await job_of(native, name, session)))
        except NotDone as refused:
            problems.append(f"{name}: {refused.failure.message}")
    jobs.sort(key=lambda job: str(job["name"]))
    return {"jobs": jobs, **({"problems": problems} if problems else {})}


@_BOX.tool(calls.StartJobWorkflowCall, Scope.PLAN, Scope.WORK)
async def start_workflow(native: Native, args: calls.StartJobWorkflowCall) -> Json:
    """Start a run of the workflow, unless the same one has just been started."""
    session = await session_of(native, args.session_id)
    job = await named_job(native, args.job_name, session.tag)
    workflow = workflow_of(job, args.workflow_name)
    inputs = {
        "goal": args.goal,
        "job_name": job.name,
        "workflow_name": workflow.name,
        "instance_id": args.instance_id,
        "session_id": session.id,
    }
    run = session.current
    if run is None or run.last is not None or any(run.read.input(name) != value for name, value in inputs.items()):
        order = order_of(workflow)
        # Only the local user may leave out the review. That one certain agent reviews is less than that anybody does.
        may_choose = native.is_local or args.reviewed_by == QUALITY_GATE
        document = machine_of(job, workflow, args.reviewed_by if may_choose else None)
        agent = native.agent()
        around = None if run is None else run.id
        started = await native.call(
            "start_run",
            workflow_json=document,
            input_json={**inputs, "nested_in": around, "groups": [list(group) for group in workflow.groups]}
            | {"steps": [job.steps[name].as_json() for name in order]},
            agents_map_json=dict.fromkeys(order, agent),
            planner_agent_id=agent,
            project=native.project,
            tags_json=[TAG, session.tag],
            keep=False,
            max_attempts=1000,
            request_id=digest_of(session.tag, session.newest, *map(str, inputs.values())),
            reason=args.goal[:200],
        )
        run = await _read(native, str(started["workflow_id"]))
        session = await session_of(native, args.session_id)
    begun = await _begun(native, run, session.id)
    return {"begin_step": begun, "workflow_id": run.id, "stack": session.shown(), **_nested(session)}


@_BOX.tool(calls.FinishedStepCall, Scope.WORK)
async def finished_step(native: Native, args: calls.FinishedStepCall) -> Json:
    """Complete the current step, or say what its gate wants; the same call again gets the same answer."""
    session = await session_of(native, args.session_id)
    run, unit = reported_step(session, args)
    if unit.has_ended:
        return await _after(native, session, run, unit.name, args)
    waits = await _completed(native, unit, args)
    if waits is not None:
        return {**waits, **missing_outputs(run, unit.name, args.outputs), "stack": session.shown()}
    return await _after(native, await session_of(native, args.session_id), await _read(native, run.id), unit.name, args)


@_BOX.tool(calls.AbortWorkflowCall, Scope.PLAN)
async def abort_workflow(native: Native, args: calls.AbortWorkflowCall) -> Json:
    """Cancel the current run; the same call again finds it cancelled."""
    session = await session_of(native, args.session_id)
    reason = f"abort_workflow: {args.explanation}"[:500]
    run = next((ended_run for ended_run in session.ended[:1] if ended_run.read.meta.get("cause") == reason), None)
    if run is None or _begun_since(session, run):
        run = current_of(session)
        await native.call("cancel_run", workflow_id=run.id, reason=reason)
        session = await session_of(native, args.session_id)
    left = session.current
    return {
        "aborted_workflow": run.name,
        "aborted_step": next((name for name in run.steps if run.read.units[name].status != "succeeded"), None),
        "explanation": args.explanation,
        "stack": session.shown(),
        "resumed_workflow": None if left is None else left.name,
        "resumed_step": None if left is None or left.current is None else left.current.name,
    } | ({} if left is None else {"hint": f"{left.name} is open. To abort it too, call with another explanation."})


@_BOX.tool(calls.GoToStepCall, Scope.PLAN, Scope.WORK)
async def go_to_step(native: Native, args: calls.GoToStepCall) -> Json:
    """Repeat the run from the step as a new one, and end the earlier one, whose history stays."""
    session = await session_of(native, args.session_id)
    run = current_of(session)
    order = list(run.steps)
    now = run.current
    if args.step_id not in order or now is None or order.index(args.step_id) > order.index(now.name):
        known = ", ".join(order[: order.index(now.name) + 1]) if now is not None else ""
        raise refuse("invalid_argument", "step_id is no step up to the current one.", f"Choose of: {known}.", "step_id")
    is_there = now.name == args.step_id and run.read.meta.get("rerun_of") is not None and not _done_here(run)
    if not is_there:
        more = {"reason": "go_to_step", "request_id": digest_of(run.id, args.step_id)}
        made = await native.call("rerun", workflow_id=run.id, from_state=args.step_id, **more)
        run = await _read(native, str(made["workflow_id"]))
    earlier = run.read.meta.get("rerun_of")
    if not is_there or any(run.id == earlier for run in session.stack):
        await native.call("cancel_run", workflow_id=earlier, reason="go_to_step")
        session = await session_of(native, args.session_id)
    begun = await _begun(native, run, session.id)
    return {
        "begin_step": begun,
        "workflow_id": run.id,
        "invalidated_steps": order[order.index(args.step_id) :],
        "stack": session.shown(),
    }


@_BOX.tool(calls.RegisterSessionJobCall, Scope.WORK)
async def register_session_job(native: Native, args: calls.RegisterSessionJobCall) -> Json:
    """Keep the job in the catalogue, for this session."""
    try:
        document = await to_thread.run_sync(document_of, args.job_definition_yaml)  # it may take a second
        job = read_job(document)
        if job.name != args.job_name:
            raise refuse("invalid_argument", f"The definition is of '{job.name}'.", "Give that as job_name.")
    except NotDone as refused:
        return {"error": refused.failure.sentence}
    await native.call(
        "put_definition",
        kind="job",
        name=job.name,
        content={"yaml": args.job_definition_yaml, "job": document},
        description=job.summary,
        session=scope_of(native, args.session_id),
        expires_in_s=7 * 24 * 3600,
    )
    message = f"Job '{job.name}' is registered with {len(job.steps)} steps."
    session = session_id(native, args.session_id)
    return {"status": "registered", "job_name": job.name, "job_dir": f"session/{session}", "message": message}


@_BOX.tool(calls.GetSessionJobCall, read_only=True)
async def get_session_job(native: Native, args: calls.GetSessionJobCall) -> Json:
    """Read the job of the session as it was registered."""
    try:
        content = await definition_of(native, args.job_name, scope_of(native, args.session_id))
    except NotDone as refused:
        if refused.failure.code != NOT_THERE:
            return {"error": refused.failure.sentence}
        return {"error": f"No job '{clip(args.job_name)}' is registered. Register it with register_session_job."}
    text = content.get("yaml") if isinstance(content, dict) else content
    return {"job_name": args.job_name, "job_definition_yaml": text}


async def _completed(native: Native, unit: RunUnit, args: calls.FinishedStepCall) -> dict[str, Json] | None:
    """Complete a step; return the failure of its gate, if any. The history records an override, with its reason."""
    output, override = output_of(args), args.quality_review_override_reason
    place = args.waits_for_review
    request = None if place is None else place.get("request_id")
    if unit.status != "running":
        await growing_runs.begin(native, unit, native.agent())
        unit = await read_unit(native, unit.run, unit.name)
    reviews_again = args.review_again and place is None
    held_up = await _handed_in(native, unit, output, request)
    if held_up is not None and held_up.code == "needs_work" and reviews_again and not override:
        request = secrets.token_hex(8)  # what the outputs are about may have changed: the known verdict is not enough
        held_up = await _handed_in(native, unit, output, request)
    if held_up is None:
        return None
    if not override:
        return needs_work(held_up) if held_up.code == "needs_work" else reviewed(unit, held_up, request)
    await _overridden(native, unit, override)
    if not (await read_unit(native, unit.run, unit.name)).has_ended:
        await growing_runs.end(native, unit, output, request_id=request)
    return None


async def _handed_in(native: Native, unit: RunUnit, output: Json, request: str | None) -> Failure | None:
    """End a unit; return the failure of its gate, if any. If its lease was lost since it was read, lease it again."""
    try:
        try:
            await growing_runs.end(native, unit, output, request_id=request)
        except NotDone as refused:
            if refused.failure.code not in _LOST:
                raise
            await growing_runs.begin(native, unit, native.agent())
            taken = await read_unit(native, unit.run, unit.name)
            await growing_runs.end(native, taken, output, request_id=request)
    except NotDone as refused:
        if refused.failure.code not in _HELD_UP:
            raise
        return refused.failure
    return None


async def _overridden(native: Native, unit: RunUnit, reason: str) -> None:
    """Let a step pass its gate: the history, the audit trail and the journal of an open run say who did, and why."""
    agent = native.agent()
    await native.call("override_gate", workflow_id=unit.run, state=unit.name, reason=reason, agent_id=agent)
    if not (await _read(native, unit.run)).is_open:
        return
    question = {"question": f"May {unit.name} pass without its review?", "options": ["review", "override"]}
    text = f"The review of {unit.name} was overridden: {reason}"
    details = {**question, "chosen": "override", "reasoning": reason}
    key = digest_of("override", unit.name, str(unit.attempts), reason)
    await add_entry(native, unit.run, "decision", text, details, agent, state=unit.name, key=key)


async def _after(
    native: Native, session: Session, run: DeepRun, step: str, args: calls.FinishedStepCall
) -> dict[str, Json]:
    """Return what follows once a step of the run is done."""
    missing = missing_outputs(run, step, files_of(run, step))
    if run.current is not None:
        begun = await _begun(native, run, session.id, is_followed=args.file_hashes is not None)
        next_step = {"status": "next_step", "begin_step": begun, "workflow_id": run.id}
        return {**next_step, **missing, "stack": session.shown()}
    if run.read.status == "blocked":
        raise _issues_open(run)
    outputs = [path for name in run.steps for path in files_of(run, name)]
    summary = f"Workflow {run.name} is complete: {_counted(run.steps, 'step')}, {_counted(outputs, 'output')}."
    left = [item.shown() for item in session.stack if item.id != run.id]
    return {"status": "workflow_complete", "summary": summary, "all_outputs": outputs, **missing, "stack": left}


def _counted(listed: Sized, noun: str) -> str:
    return f"{len(listed)} {noun}" if len(listed) == 1 else f"{len(listed)} {noun}s"


def _issues_open(run: DeepRun) -> NotDone:
    """Return the refusal to call a workflow complete while an issue that asks for a person is open."""
    issue = run.read.meta["blocked_by"][0]
    return refuse(
        "issues_open",
        f"Every step of {run.name} is done, but issue '{issue['issue']}' waits for a person: {issue['text']}",
        "Call finished_step again with the same outputs once it is resolved; the workflow is complete then.",
    )


async def _begun(native: Native, run: DeepRun, session: str, *, is_followed: bool = False) -> dict[str, Json]:
    """Lease the current step of a run, unless the caller has it, and return the answer for its client.

    `is_followed`: the process between client and server knows the steps that the client received.
    """
    unit = run.current
    if unit is None:
        raise refuse("run_over", f"Every step of {run.name} is done.", "Call finished_step again in a moment.")
    if unit.status != "running":
        await growing_runs.begin(native, unit, native.agent())
    step, run_input = run.steps[unit.name], run.read.input
    group = next((group_names for group_names in run_input("groups") or () if unit.name in group_names), [unit.name])
    others = [name for name in group if name != unit.name]
    more = f"\n\nConcurrent with {', '.join(others)}; each is reported by a finished_step of its own." if others else ""
    advice = "" if is_followed else how_to_report(run, unit.name)
    label = run_input("instance_id") or run.created_at[:10]
    return {
        "session_id": session,
        "branch_name": f"{TAG}/{run_input('job_name')}-{run_input('workflow_name')}-{slug_of(label)}",
        "branch_status": _SUGGESTED,
        "step_id": unit.name,
        "step_expected_outputs": step["outputs"],
        "step_quality_criteria": step["criteria"],
        "step_instructions": f"{step['instructions']}{more}{advice}",
    }


def _nested(session: Session) -> dict[str, Json]:
    """Return the note on a workflow that runs within another, which may have been left open by somebody else."""
    if len(session.stack) < 2:  # noqa: PLR2004 - it is alone
        return {}
    around = session.stack[-2]
    return {
        "note": f"{around.name}, begun {around.created_at[:16]}Z, is open in this session. The new workflow runs within"
        " it, and finished_step reports the new one until it is complete. If nobody works on the open workflow, call "
        "abort_workflow for both and start again. If another client does, pass a session_id of your own with each call."
    }


def _done_here(run: DeepRun) -> bool:
    """Say whether a step was finished in this run itself, and not in the one that it repeats."""
    last = run.last
    if last is None or last.finished_at is None:
        return False
    return growing_runs.instant(last.finished_at) > growing_runs.instant(run.created_at)


def _begun_since(session: Session, run: DeepRun) -> bool:
    ended = run.read.meta.get("finished_at")
    return ended is not None and any(
        growing_runs.instant(run.created_at) > growing_runs.instant(ended) for run in session.stack
    )


async def _read(native: Native, run: str) -> DeepRun:
    return DeepRun(await growing_runs.read_run(native, run))


def _failed(failure: Failure) -> str:
    return f"Error: {failure.sentence}"


_INSTRUCTIONS: Final = (
    "Multi-step workflows with quality gates. get_workflows, start_workflow, carry out the step, finished_step with "
    "the paths of what you made, until workflow_complete. needs_work: mend what failed and call again. A session "
    "survives restarts. Repeat a finished_step whose answer was lost: it counts once."
)

PROFILE: Final = Profile(
    name="deepwork",
    server="deepwork",
    version="1.0.0",
    instructions=_INSTRUCTIONS,
    advice="Call get_workflows to read what can be started, or ask the user.",
    tools={**_BOX.tools, **REVIEWS.tools},
    failed=_failed,
)
