"""Tools that operate a run: cancel, pause, resume it, and resolve one of its states. They only parse, call, format."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.completing.resolving import wish_of
from dcf.core.documents.operations import RunAnswer
from dcf.values.json_paths import MISSING
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require_planner
from dcf.verbs.registry import Arguments, JsonArray, StateName, WorkflowId, read_names, refused, tool
from dcf.verbs.run_requests import Reason, RequestId, RunOperated


class _OnRun(Arguments):
    """What every operation on a run is told."""

    workflow_id: WorkflowId
    reason: Reason = None
    request_id: RequestId = None


class CancelRun(_OnRun):
    """End a run at once: call this when its work is not wanted any more.

    Open states become cancelled, unreached ones skipped; holders are told to stop and their late writes are refused.
    finalize_workflow still closes it afterwards.
    """


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=CancelRun,
    answer=RunOperated,
    destructive=True,
)
def cancel_run(app: Application, args: CancelRun) -> RunOperated:
    """Cancel the run."""
    require_planner(app, args.workflow_id)
    answer = app.lifecycle.cancel(args.workflow_id, reason=args.reason, request_id=args.request_id)
    return _operated(answer, args, "cancelled")


class PauseRun(_OnRun):
    """Hold a run: nobody gets a lease until resume_run; those who work may renew, finish and release.

    What follows a completed state waits. Timeouts, retry times and Waits go on as always.
    """


@tool(toolset="operations", scope=Scope.PLAN, profiles=("operator",), arguments=PauseRun, answer=RunOperated)
def pause_run(app: Application, args: PauseRun) -> RunOperated:
    """Pause the run."""
    require_planner(app, args.workflow_id)
    answer = app.lifecycle.pause(args.workflow_id, reason=args.reason, request_id=args.request_id)
    return _operated(answer, args, "paused")


class ResumeRun(_OnRun):
    """Let a paused run go on: the agents of all states that can be taken are told."""


@tool(toolset="operations", scope=Scope.PLAN, profiles=("operator",), arguments=ResumeRun, answer=RunOperated)
def resume_run(app: Application, args: ResumeRun) -> RunOperated:
    """Resume the run."""
    require_planner(app, args.workflow_id)
    answer = app.lifecycle.resume(args.workflow_id, reason=args.reason, request_id=args.request_id)
    return _operated(answer, args, "resumed")


class ResolveState(_OnRun):
    """End one open state by hand, or give it to other agents: use it where its agent cannot finish it.

    One of output_json, error and skip ends it, as a holder's write would; assign_json may stand alone or beside.
    A holder that is not wanted any more is told to stop, and its late result is refused. A Wait is ended early with
    skip. In a Parallel or Map name the state by path, as in Each/17/Score; to assign all iterations, by its name.
    """

    state: StateName
    output_json: Any = Field(default=None, description="The state succeeds with this: JSON, or JSON text ('null').")
    error: str | None = Field(default=None, min_length=1, max_length=200, description="The state fails with this name.")
    cause: str | None = Field(default=None, max_length=2000, description="With error: why, in a sentence.")
    handled: bool = Field(
        default=False, description="With error: apply the state's Retry and Catch; otherwise the failure is final."
    )
    force: bool = Field(default=False, description="With output_json: even if it does not match OutputSchema.")
    skip: bool = Field(default=False, description="The state succeeds with its own input as its output.")
    assign_json: JsonArray | None = Field(
        default=None, description='Agents that may take it from now on: ["agent-1"] (or JSON text).'
    )
    epoch: int | None = Field(
        default=None,
        ge=10**15,
        le=2**53,
        description="Only if the state's lease still has this epoch; else conflict.",
    )


class StateResolved(RunOperated):
    """How the state stands now, and which Tasks were entered."""

    state: str | None = None
    state_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    assigned: list[str] = Field(default_factory=list)
    problems: list[dict[str, Any]] | None = None

    only_when_set = ("problems",)


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=ResolveState,
    answer=StateResolved,
    destructive=True,
)
def resolve_state(app: Application, args: ResolveState) -> StateResolved:
    """Resolve the state."""
    require_planner(app, args.workflow_id)
    wish = wish_of(
        args.state,
        output=MISSING
        if args.output_json is None
        else parse(args.output_json, name="output_json", max_bytes=app.settings.max_output_bytes),
        error=args.error,
        cause=args.cause,
        skip=args.skip,
        handled=args.handled,
        epoch=args.epoch,
        force=args.force,
        agents=() if args.assign_json is None else read_names(args.assign_json, name="assign_json"),
    )
    answer = app.lifecycle.resolve(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(StateResolved, answer, workflow_id=args.workflow_id, state=args.state)
    told = dict(answer.answer)
    return StateResolved(
        status=f"State '{args.state}' of run '{args.workflow_id}' is {told['state_status']}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )


def _operated(answer: RunAnswer | Refusal, args: _OnRun, done: str) -> RunOperated:
    if isinstance(answer, Refusal):
        return refused(RunOperated, answer, workflow_id=args.workflow_id)
    return RunOperated(
        status=f"Run '{args.workflow_id}' is {done}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
