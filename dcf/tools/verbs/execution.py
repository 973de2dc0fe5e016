"""Tools that read a run and write the result of a state. They only parse arguments, call, and format the answer."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import AlreadyCompleted
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.inspection import public_state, short_state
from dcf.errors import InvalidArgument
from dcf.features.usage.verbs import USAGE, usage_given
from dcf.runs.views.status import RunView, known, summary_of_run
from dcf.values.instants import to_text
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.answers.errors import note_on
from dcf.verbs.answers.outcomes import calls_after, calls_to_mend, reason_for_nothing, sentence_of, what_failed
from dcf.verbs.answers.paging import Cursor, Limit, Room
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.answers.work import claimed_work
from dcf.verbs.argument_checks import AlmostRight
from dcf.verbs.registry import (
    STATE_PATTERN,
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    LeaseToken,
    StateName,
    Ttl,
    WholeInput,
    WorkflowId,
    read_names,
    refused,
    tool,
)
from dcf.verbs.unlisted import UNLISTED

_SCOPES_NAMED = 2
"""Maps and Parallels of which an answer says how their insides are read."""

_STATUS_WORDS = {
    "pending": Status.PENDING,
    "running": Status.RUNNING,
    "succeeded": Status.SUCCEEDED,
    "success": Status.SUCCEEDED,
    "succeed": Status.SUCCEEDED,
    "done": Status.SUCCEEDED,
    "failed": Status.FAILED,
    "fail": Status.FAILED,
    "error": Status.FAILED,
    "skipped": Status.SKIPPED,
    "cancelled": Status.CANCELLED,
}


_MEANT = dict.fromkeys(("complete", "completed", "finish", "finished", "ok"), "succeeded") | dict.fromkeys(
    ("abort", "aborted", "failure"), "failed"
)
"""Words that are not taken for a status, since nothing says that they are, and what is probably meant."""


class ReadWorkflowControlPlane(Arguments):
    """Read where a run stands: call this to get your state's input, to check readiness, or to watch progress.

    Returns meta (status, output or error of the run), each state's document, input and output; with summary only
    status, attempts, holder and error of each. Lease tokens are hidden. With inside, the iterations or branches of a
    Map or Parallel, ended ones too. Where next_cursor is set there are more states: call again with it as cursor.
    """

    workflow_id: WorkflowId
    states_json: JsonArray | None = Field(
        default=None, description='Only these states: ["A", "B"] (or JSON text); none or [] means all.'
    )
    include_meta: bool = Field(default=True, description="Include the run's meta document.")
    include_inputs: bool = Field(default=False, description="Also the inputs of states that have ended.")
    compute_readiness: bool = Field(default=False, description="Say of each state whether it can be leased now.")
    summary: bool = Field(
        default=False, description="Only what matters at a glance, without inputs and outputs of states."
    )
    inside: str | None = Field(
        default=None,
        pattern=STATE_PATTERN,
        max_length=400,
        description="Only the states inside this Map or Parallel, ended ones too.",
    )
    cursor: Cursor = None
    limit: Limit = 1000


class ControlPlaneRead(Answer):
    """Documents of the run as they are now; `next_cursor` is set when there are more states.

    Of a run that grows, `units` says what each state is; with include_inputs also what its worker is told.
    """

    workflow_id: str | None = None
    meta: dict[str, Any] | None = None
    states: dict[str, dict[str, Any]] = Field(default_factory=dict)
    inputs: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] = Field(default_factory=dict)
    readiness: dict[str, bool] | None = None
    provenance: dict[str, Any] | None = None
    next_cursor: str | None = None
    units: dict[str, dict[str, Any]] | None = None

    only_when_set = ("units",)


@tool(
    toolset="execution",
    scope=Scope.READ,
    profiles=("planner", "member", "operator"),
    arguments=ReadWorkflowControlPlane,
    answer=ControlPlaneRead,
    read_only=True,
)
def read_workflow_control_plane(app: Application, args: ReadWorkflowControlPlane) -> ControlPlaneRead:
    """Read documents of a run."""
    named = () if args.states_json is None else read_names(args.states_json, name="states_json")
    if named and args.inside is not None:
        raise InvalidArgument("states_json and inside cannot be combined.", "Pass one of them.")
    run = app.runs.read(args.workflow_id)
    meta = (summary_of_run(run) if args.summary else dict(run.document)) if args.include_meta else None
    states = _states(app, args, named, Room(app.settings.max_result_bytes, meta))
    return ControlPlaneRead(
        status=_standing(run),
        workflow_id=args.workflow_id,
        meta=meta,
        states=states.documents,
        inputs=states.inputs,
        outputs=states.outputs,
        readiness=states.readiness if args.compute_readiness else None,
        provenance=marked("the agents of this run"),
        next_cursor=states.next_cursor,
        units=app.growing.facts_of(args.workflow_id, states.documents, whole=args.include_inputs),
        next=_look(app, args, run),
    )


def _standing(run: RunView) -> str:
    """Return the sentence about the run as a whole."""
    run_id = run.document["workflow_id"]
    if run.status is RunStatus.RUNNING and not run.meta.is_started:
        return f"Run '{run_id}' is created and not started: notify_next_worker_agent starts it."
    return f"Run '{run_id}' is {run.word}."


def _look(app: Application, args: ReadWorkflowControlPlane, run: RunView) -> list[dict[str, Any]] | None:
    """Return the calls that show more: those that start the run, and the insides of its Maps and Parallels."""
    if args.inside is not None or args.states_json or args.cursor is not None:
        return None
    definition = app.control_plane.run(args.workflow_id).definition
    states = {} if definition.units is not None else definition.machine.states
    scopes = [name for name, state in states.items() if state.machines][:_SCOPES_NAMED]
    waits = run.status is RunStatus.RUNNING and not run.meta.is_started
    steps = [planner_steps.start(args.workflow_id)] if waits else []
    steps += [planner_steps.inside(args.workflow_id, scope) for scope in scopes if not waits]
    return [one.as_json() for one in steps] or None


@dataclass(slots=True)
class _States:
    """One page of a run's states."""

    documents: dict[str, dict[str, Json]] = field(default_factory=dict)
    inputs: dict[str, Json] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    readiness: dict[str, bool] = field(default_factory=dict)
    next_cursor: str | None = None


def _states(app: Application, args: ReadWorkflowControlPlane, named: tuple[str, ...], room: Room) -> _States:
    """Read states until the page is full."""
    page, last = _States(), None
    more: dict[str, Any] = {"after": args.cursor, "at_once": args.limit + 1, "with_data": not args.summary}
    if args.inside is None:
        found = app.runs.each_state(args.workflow_id, named, **more)
    else:
        found = app.runs.each_inside(args.workflow_id, args.inside, **more)
    for name, one in found:
        shown = one.summary() if args.summary else short_state(public_state(one.doc))
        given, output = known(one.given), known(one.output)
        if len(page.documents) == args.limit or not room.takes([name, name, shown, given, output]):
            page.next_cursor = last
            return page
        page.documents[name], page.readiness[name], last = shown, one.ready, name
        if not args.summary:
            page.outputs[name] = output
        if one.given is not MISSING and (args.include_inputs or not one.doc.status.is_terminal):
            page.inputs[name] = given
    return page


class UpdateWorkflowControlPlane(Arguments):
    """Write the result of a state you hold: new_status succeeded with output_json, or failed with error_name.

    pending gives the state back, and the attempt counts. Without new_status the output is partial. Repeating it is
    safe. With claim_next the answer brings your next `work` in this run, if there is any.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken | None = Field(default=None, description="The lease_token of the lease.")
    new_status: str | None = Field(
        default=None,
        max_length=20,
        description="succeeded (done, success, succeed) or failed (fail, error), both final; running; or pending.",
    )
    output_json: Any = Field(default=None, description="The output: JSON, or JSON text (for null the text 'null').")
    error_name: str | None = Field(default=None, max_length=200, description="Name of the failure, as OrderRejected.")
    error_message: str | None = Field(default=None, max_length=20_000, description="What went wrong, in words.")
    claim_next: bool = Field(default=False, description="When completing: also lease what is next.")
    owner_agent_id: AgentId | None = Field(default=None, description="Your agent id.")
    lease_ttl_s: Ttl | None = Field(
        default=None, description="Seconds of the lease claimed by claim_next.", json_schema_extra=UNLISTED
    )
    usage_json: JsonObject | None = Field(default=None, description=USAGE, json_schema_extra=UNLISTED)
    whole_input: WholeInput = False
    attempts_increment: int | None = Field(
        default=None, ge=0, le=100, description="Add to attempts.", json_schema_extra=UNLISTED
    )
    set_started_at: bool = Field(default=False, description="Set started_at to now.", json_schema_extra=UNLISTED)
    set_finished_at: bool = Field(
        default=False, description="Set finished_at to now; completing does it by itself.", json_schema_extra=UNLISTED
    )
    request_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Makes a partial write repeatable: same id, once.",
        json_schema_extra=UNLISTED,
    )
    output_ttl_secs: int | None = Field(
        default=None,
        description="Refused: outputs live as long as their run (expiry_secs at creation).",
        json_schema_extra=UNLISTED,
    )


class ControlPlaneUpdated(Answer):
    """The state after the write, and what it set in motion; `work` is the next piece, `retry_at` when a failed one is.

    `stored` is what an earlier completion had stored. `problems` lists what of an output does not match the Task's
    OutputSchema, `failed_criteria` what a gate found; `note` says if an error has a name that the Task does not list.
    """

    workflow_id: str | None = None
    state: str | None = None
    updated_state: dict[str, Any] | None = None
    output_written: bool = False
    run_status: RunStatus | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool = False
    retry_at: str | None = None
    stored: dict[str, Any] | None = None
    work: dict[str, Any] | None = None
    problems: list[dict[str, Any]] | None = None
    failed_criteria: list[dict[str, Any]] | None = None
    note: str | None = None

    only_when_set = ("retry_at", "stored", "work", "problems", "failed_criteria", "note")


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker", "member", "operator"),
    arguments=UpdateWorkflowControlPlane,
    answer=ControlPlaneUpdated,
)
def update_workflow_control_plane(app: Application, args: UpdateWorkflowControlPlane) -> ControlPlaneUpdated:
    """Write as the holder of a lease."""
    if args.output_ttl_secs is not None:
        raise InvalidArgument(
            "output_ttl_secs is not possible: outputs live as long as their run.",
            "Set expiry_secs when the run is created.",
        )
    has_output = args.output_json is not None
    request = Update(
        state=args.state,
        token=args.lease_token,
        owner=args.owner_agent_id,
        status=_status(args.new_status),
        has_output=has_output,
        output=_output(app, args) if has_output else None,
        error=args.error_name,
        cause=args.error_message,
        attempts=args.attempts_increment or 0,
        set_started_at=args.set_started_at,
        set_finished_at=args.set_finished_at,
        claim_ttl_s=(args.lease_ttl_s or 300) if args.claim_next else None,
        request_id=args.request_id,
        usage=usage_given(args.usage_json),
    )
    answer = app.control_plane.update(args.workflow_id, request)
    if isinstance(answer, Refusal):
        stored = _stored(app, args, answer) if isinstance(answer, AlreadyCompleted) else None
        mend = calls_to_mend(request, args.workflow_id, args.owner_agent_id, answer)
        echo: dict[str, Json] = {"workflow_id": args.workflow_id, "state": args.state, "stored": stored, "next": mend}
        return refused(ControlPlaneUpdated, answer, **echo, **what_failed(answer))
    agent_id = args.owner_agent_id
    work = claimed_work(app, args.workflow_id, agent_id, answer, whole_input=args.whole_input)
    told = f"Updated state '{args.state}' of run '{args.workflow_id}': {sentence_of(request, args.new_status, answer)}"
    nothing = f" {reason_for_nothing(answer)}" if args.claim_next and not work else ""
    return ControlPlaneUpdated(
        status=f"{told}{nothing}",
        workflow_id=args.workflow_id,
        state=args.state,
        updated_state=short_state(public_state(answer.doc)),
        output_written=answer.output_written,
        run_status=answer.run_status,
        next_states=list(answer.next_states),
        repeated=answer.repeated,
        note=None if args.error_name is None else note_on(app, args.workflow_id, args.state, args.error_name),
        retry_at=None if answer.retry_at is None else to_text(answer.retry_at),
        work=work[0] if work else None,
        next=calls_after(request, args.workflow_id, agent_id or answer.owner, answer, work[:1]) or None,
    )


def _stored(app: Application, args: UpdateWorkflowControlPlane, refusal: AlreadyCompleted) -> dict[str, Json]:
    """Return what an earlier completion of the state stored, as far as it still exists, to the caller who made it."""
    receipt = refusal.receipt
    shown: dict[str, Json] = {
        "status": receipt.status.value,
        "at": to_text(receipt.at),
        "output_written": receipt.output_written,
    }
    if receipt.output_written and refusal.is_latest:
        shown["output"] = app.control_plane.read(args.workflow_id, (args.state,)).outputs.get(args.state)
    return shown


def _output(app: Application, args: UpdateWorkflowControlPlane) -> Json:
    return parse(args.output_json, name="output_json", max_bytes=app.settings.max_output_bytes)


def _status(word: str | None) -> Status | None:
    if word is None:
        return None
    status = _STATUS_WORDS.get(word.strip().lower())
    if status is None:
        said = word.strip().lower()
        meant = _MEANT.get(said) or closest(said, _STATUS_WORDS)
        message = "new_status must be succeeded, failed, running or pending."
        send = "Send new_status succeeded with output_json, or failed with error_name and error_message."
        if meant is None:
            raise InvalidArgument(message, send)
        hint = f"Did you mean '{_STATUS_WORDS[meant]}'? Nothing was changed. {send}"
        raise AlmostRight(message, hint, values={"new_status": _STATUS_WORDS[meant].value})
    return status
