"""Tools on runs that are over: delete one, keep one from being deleted. `core/lifecycle/retention.py` decides."""

from contextlib import suppress

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import UnknownRun
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require, require_planner
from dcf.verbs.registry import Answer, Arguments, WorkflowId, refused, tool
from dcf.verbs.run_requests import Reason, RequestId


class DeleteRun(Arguments):
    """Delete a run that is over, with its documents, outputs and history, for good.

    A running run is refused (run_live): cancel it first. A run on hold is refused (on_hold). Repeated, with or without
    a request_id, it finds that the run is gone.
    """

    workflow_id: WorkflowId
    reason: Reason = None
    request_id: RequestId = None


class RunDeleted(Answer):
    """The run is gone; `existed` is false if it was gone before."""

    workflow_id: str | None = None
    existed: bool | None = None


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=DeleteRun,
    answer=RunDeleted,
    destructive=True,
    audit=("workflow_id", "reason"),
)
def delete_run(app: Application, args: DeleteRun) -> RunDeleted:
    """Delete a run; one that is gone already is no error."""
    with suppress(UnknownRun):  # the deletion takes what is left of a run that is gone off the lists
        require_planner(app, args.workflow_id)
    answer = app.retention.delete(args.workflow_id, args.reason, args.request_id)
    if isinstance(answer, Refusal):
        return refused(RunDeleted, answer, workflow_id=args.workflow_id)
    return RunDeleted(
        status="deleted" if answer.existed else "was gone already",
        workflow_id=args.workflow_id,
        existed=answer.existed,
        hint="Nothing is left to do; list_runs shows the other runs.",
    )


class HoldRun(Arguments):
    """Put a run on hold, so that nobody deletes it and it does not expire, or release it with hold=false.

    For records that must be kept, whatever the retention says. It does not stop the run.
    """

    workflow_id: WorkflowId
    hold: bool = Field(default=True, description="False releases the hold.")
    reason: Reason = None
    request_id: RequestId = None


class RunHeld(Answer):
    """The run is on hold, or released; `changed` is false if it was so before. `repeated`: it is an earlier answer."""

    workflow_id: str | None = None
    hold: bool | None = None
    changed: bool | None = None
    repeated: bool | None = None


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=HoldRun,
    answer=RunHeld,
    audit=("workflow_id", "hold", "reason"),
)
def hold_run(app: Application, args: HoldRun) -> RunHeld:
    """Set or release the legal hold, which is an operator's."""
    app.runs.read(args.workflow_id)  # raises for a run that does not exist, before anybody is sent for a right
    require(Scope.OPERATE, "A hold")
    answer = app.retention.hold(args.workflow_id, args.reason, args.request_id, is_held=args.hold)
    if isinstance(answer, Refusal):
        return refused(RunHeld, answer, workflow_id=args.workflow_id)
    return RunHeld(
        status="on hold" if answer.answer["hold"] else "released",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
