"""The verbs on runs that have ended: delete a run, keep a run from being deleted. They call and describe."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from dcf.core.access.model import Scope
from dcf.errors import UnknownRun
from dcf.features.retention.records import DeletedRun, HeldRun
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Argument, Command, PageAction, verb
from dcf.verbs.description.words import Reason, RequestId, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="operations",
    scope="plan",
    lists=("operator",),
    effect="destroys",
    says=lambda answer: "deleted" if answer["existed"] else "was gone already",
    codes=("run_live", "on_hold", "unknown_run"),
    command=Command(
        name="runs delete",
        question=lambda call: f"Delete run {call['workflow_id']} and all that is kept of it?",
        show="dcf.cli.features.retention:show_deleted",
    ),
    page=PageAction(
        title="Delete the run",
        effect="Everything that is kept of the run is deleted. It cannot be brought back.",
        returns_to="runs",
    ),
    method="delete",
    audit=("workflow_id", "reason"),
)
def delete_run(
    on: "Application", workflow_id: RunId, *, reason: Reason = None, request_id: RequestId = None
) -> DeletedRun | Refusal:
    """Delete an ended run permanently, with its documents, outputs and history.

    A running run is refused (run_live): cancel it first. A run on hold is refused (on_hold). Repeated, with or without
    a request_id, it finds that the run is gone.
    """
    with suppress(UnknownRun):  # the deletion takes what is left of a run that is gone off the lists
        require_planner(on, workflow_id)
    done = on.retention.delete(workflow_id, reason, request_id)
    if isinstance(done, Refusal):
        return done
    left = "Nothing is left to do; `list_runs` shows the other runs."
    return DeletedRun(workflow_id=workflow_id, existed=done.existed, hint=left)


@verb(
    toolset="operations",
    scope="plan",
    lists=("operator",),
    says=lambda answer: "on hold" if answer["hold"] else "released",
    codes=("unknown_run",),
    command=Command(
        name="runs hold",
        summary="Keep a run: on hold it is not deleted and does not expire, until `dcf runs hold RUN --release`.",
        show="dcf.cli.features.retention:show_held",
    ),
    page=PageAction(
        title="Hold the run",
        effect="The run is kept, whatever its retention says, until the hold is released.",
        form=("hold", "reason"),
        scopes=("operate",),
    ),
    method="hold",
    audit=("workflow_id", "hold", "reason"),
)
def hold_run(
    on: "Application",
    workflow_id: RunId,
    *,
    hold: Annotated[
        bool,
        Argument(
            means="False releases the hold.",
            spelling="Hold it, or release the hold.",
            option="--hold/--release",
            label="Hold it (not ticked: let go)",
        ),
    ] = True,
    reason: Reason = None,
    request_id: RequestId = None,
) -> HeldRun | Refusal:
    """Put a run on hold, so that it is not deleted and does not expire, or release it with hold=false.

    For records that must be kept, whatever the retention says. It does not stop the run.
    """
    on.runs.read(workflow_id)  # raises for a run that does not exist, before anybody is sent for a right
    require(Scope.OPERATE, "A hold")
    done = on.retention.hold(workflow_id, reason, request_id, is_held=hold)
    if isinstance(done, Refusal):
        return done
    return HeldRun(workflow_id=workflow_id, repeated=done.repeated, **done.answer)


add_tools(__name__)
