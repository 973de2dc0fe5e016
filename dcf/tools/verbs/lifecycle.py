"""The verbs that operate a run: cancel, pause, resume it, and resolve one of its states."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.completing.resolving import wish_of
from dcf.core.documents.operations import RunAnswer
from dcf.values.json_paths import MISSING
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Argument, Command, Next, PageAction, verb
from dcf.verbs.description.words import JsonValue, Reason, RequestId, RunId, StatePath
from dcf.verbs.records.runs import OperatedRun, ResolvedState

if TYPE_CHECKING:
    from dcf.application.application import Application

_WATCH: Final = Next(
    verb="read_workflow_control_plane", why="It shows how the run continues.", arguments={"summary": True}
)


@verb(
    toolset="operations",
    scope="plan",
    lists=("planner", "operator"),
    effect="destroys",
    says=lambda answer: f"Run '{answer['workflow_id']}' is cancelled.",
    codes=("unknown_run", "run_over"),
    next=(Next(verb="finalize_workflow", why="Writes the audit record and deletes the agents made for the run."),),
    command=Command(
        name="cancel", question=lambda call: f"Cancel run {call['workflow_id']}? What its agents work on is lost."
    ),
    page=PageAction(
        title="Cancel the run",
        effect="The run ends at once. Open states become cancelled, and late results of their holders are refused.",
    ),
    method="cancel",
)
def cancel_run(
    on: "Application", workflow_id: RunId, *, reason: Reason = None, request_id: RequestId = None
) -> OperatedRun | Refusal:
    """End a run at once: call this when its work is no longer wanted.

    Open states become cancelled, unreached ones skipped; holders are told to stop and their late writes are refused.
    `finalize_workflow` still closes it afterwards.
    """
    require_planner(on, workflow_id)
    return _operated(workflow_id, on.lifecycle.cancel(workflow_id, reason=reason, request_id=request_id))


@verb(
    toolset="operations",
    scope="plan",
    lists=("operator",),
    says=lambda answer: f"Run '{answer['workflow_id']}' is paused.",
    codes=("unknown_run", "run_over", "conflict"),
    next=(Next(verb="resume_run", why="Resumes the run."),),
    command=Command(name="runs pause"),
    page=PageAction(
        title="Pause the run", effect="Nobody gets a lease until the run is resumed. Those who work now may finish."
    ),
    method="pause",
)
def pause_run(
    on: "Application", workflow_id: RunId, *, reason: Reason = None, request_id: RequestId = None
) -> OperatedRun | Refusal:
    """Pause a run: no lease is granted until `resume_run`; lease holders may renew, finish and release.

    What follows a completed state waits. Timeouts, retry times and Waits continue.
    """
    require_planner(on, workflow_id)
    return _operated(workflow_id, on.lifecycle.pause(workflow_id, reason=reason, request_id=request_id))


@verb(
    toolset="operations",
    scope="plan",
    lists=("operator",),
    says=lambda answer: f"Run '{answer['workflow_id']}' is resumed.",
    codes=("unknown_run", "run_over"),
    next=(_WATCH,),
    command=Command(name="runs resume"),
    page=PageAction(
        title="Resume the run", effect="The run goes on, and the agents of all states that can be taken are told."
    ),
    method="resume",
)
def resume_run(
    on: "Application", workflow_id: RunId, *, reason: Reason = None, request_id: RequestId = None
) -> OperatedRun | Refusal:
    """Resume a paused run: the agents of all ready states are notified."""
    require_planner(on, workflow_id)
    return _operated(workflow_id, on.lifecycle.resume(workflow_id, reason=reason, request_id=request_id))


def _ending(call: Mapping[str, Any]) -> str | None:
    """Return the question before a state is ended. Assigning agents is not destructive, and is not asked about."""
    if call["output"] is MISSING and call["error"] is None and not call["skip"]:
        return None
    return f"End {call['state']} of run {call['workflow_id']}? That is not taken back."


@verb(
    toolset="operations",
    scope="plan",
    lists=("planner", "operator"),
    effect="destroys",
    says=lambda answer: f"State '{answer['state']}' of run '{answer['workflow_id']}' is {answer['state_status']}.",
    codes=("unknown_run", "unknown_state", "run_over", "conflict", "output_invalid"),
    next=(_WATCH,),
    command=Command(
        name="states resolve",
        question=_ending,
        example="""dcf states resolve order-42 CalculatePricing --output '{"total": "1.00"}' --reason "by phone\"""",
    ),
    page=PageAction(
        title="Resolve the state",
        effect="The state ends by hand, with an output or an error, or is given to other agents. Fill in one of these. "
        "Its holder is told to stop.",
        form=("epoch", "output", "skip", "error", "cause", "handled", "force", "assign", "reason"),
    ),
    method="resolve",
)
def resolve_state(
    on: "Application",
    workflow_id: RunId,
    state: StatePath,
    *,
    output: Annotated[
        JsonValue,
        Argument(
            means="The state succeeds with this: JSON, or JSON text ('null').",
            spelling="It succeeds with this JSON: text, a file, or - for standard input.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="output_json",
            label="It succeeds with this output (JSON)",
        ),
    ] = MISSING,
    error: Annotated[
        str | None,
        Argument(
            means="The state fails with this name.", min_length=1, max_length=200, label="It fails with this error name"
        ),
    ] = None,
    cause: Annotated[
        str | None,
        Argument(means="With error: why, in a sentence.", max_length=2000, label="With an error: why, in a sentence"),
    ] = None,
    handled: Annotated[
        bool,
        Argument(
            means="With error: apply the state's Retry and Catch; otherwise the failure is final.",
            listed=False,
            label="With an error: apply the state's Retry and Catch",
        ),
    ] = False,
    force: Annotated[
        bool,
        Argument(
            means="With an output: even if it does not match OutputSchema.",
            listed=False,
            label="With an output: even if it does not match the OutputSchema",
        ),
    ] = False,
    skip: Annotated[
        bool,
        Argument(
            means="The state succeeds with its own input as its output.",
            label="It succeeds with its own input as its output",
        ),
    ] = False,
    assign: Annotated[
        Sequence[str],
        Argument(
            means='Agents that may take it from now on: ["agent-1"].',
            spelling="Agent that may take it from now on; may be repeated.",
            form="names",
            tool="assign_json",
            label='Agents that may take it from now on: ["agent-1"]',
        ),
    ] = (),
    epoch: Annotated[
        int | None,
        Argument(
            means="Only if the state's lease still has this epoch; else conflict.", listed=False, ge=10**15, le=2**53
        ),
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
) -> ResolvedState | Refusal:
    """End one open state by hand, or give it to other agents: use it where its agent cannot finish it.

    One of `output`, `error` and `skip` ends it, as a holder's write would, or ends a Wait. `assign` may stand alone or
    be added. In a Parallel or Map name the state by path; to assign all iterations, by its name.
    """
    require_planner(on, workflow_id)
    wish = wish_of(
        state,
        output=output,
        error=error,
        cause=cause,
        skip=skip,
        handled=handled,
        epoch=epoch,
        force=force,
        agents=tuple(assign),
    )
    done = on.lifecycle.resolve(workflow_id, wish, reason=reason, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    return ResolvedState(workflow_id=workflow_id, repeated=done.repeated, **_members({"state": state, **done.answer}))


def _operated(workflow_id: str, done: RunAnswer | Refusal) -> OperatedRun | Refusal:
    if isinstance(done, Refusal):
        return done
    return OperatedRun(workflow_id=workflow_id, repeated=done.repeated, **_members(done.answer))


def _members(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a stored answer, with lists as the tuples that a record has."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in answer.items()}


add_tools(__name__)
