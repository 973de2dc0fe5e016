"""The verbs that read a run and write the result of a state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from dcf.core.access.provenance import marked
from dcf.core.completing.updates import Update
from dcf.core.definitions.sources import lines_of_failed
from dcf.core.documents.answers import AlreadyCompleted
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.inspection import public_state, short_state
from dcf.errors import InvalidArgument
from dcf.features.usage.verbs import UsedUp, usage_given
from dcf.runs.views.inner_states import MOST, following
from dcf.runs.views.status import RunView, known, summary_of_run
from dcf.values.instants import to_text
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.answers.errors import note_on
from dcf.verbs.answers.outcomes import calls_after, calls_after_rejection, reason_for_nothing, sentence_of, what_failed
from dcf.verbs.answers.paging import Room
from dcf.verbs.answers.regaining import may_regain, regaining
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.answers.work import claimed_work
from dcf.verbs.argument_checks import AlmostRight
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, RefusedWith, verb
from dcf.verbs.description.words import (
    STATE,
    Cursor,
    JsonValue,
    LeaseToken,
    LeaseTtl,
    OwnAgentId,
    PageLimit,
    RequestId,
    RunId,
    StateName,
    WholeInput,
)
from dcf.verbs.records.execution import ReadControlPlane, UpdatedState

if TYPE_CHECKING:
    from dcf.application.application import Application

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


@verb(
    toolset="execution",
    scope="read",
    lists=("planner", "member", "operator"),
    effect="reads",
    codes=("unknown_run", "unknown_state"),
    only_when_set=("units", "more", "source_lines"),
    in_refusals={"states": {}, "inputs": {}, "outputs": {}},
    command_by_hand="show",
)
def read_workflow_control_plane(
    on: "Application",
    workflow_id: RunId,
    *,
    states: Annotated[
        Sequence[str], Argument(means='Only these states: ["A", "B"].', form="names", tool="states_json")
    ] = (),
    include_meta: Annotated[bool, Argument(means="Include the run's meta document.", listed=False)] = True,
    include_inputs: Annotated[bool, Argument(means="Also the inputs of states that have ended.")] = False,
    compute_readiness: Annotated[bool, Argument(means="Say of each state whether it can be leased now.")] = False,
    summary: Annotated[bool, Argument(means="Of each state only status, attempts, holder and error.")] = False,
    inside: Annotated[
        str | None,
        Argument(means="Only the states inside this Map or Parallel, ended ones too.", pattern=STATE, max_length=400),
    ] = None,
    cursor: Annotated[
        Cursor, Argument(means="The next_cursor of the answer before.", plain=True, pattern=STATE)
    ] = None,
    limit: PageLimit = 1000,
    overview: Annotated[
        int | None,
        Argument(
            means="All that people are shown; of each Map and Parallel at most so many that are open.",
            ge=1,
            le=2000,
            listed=False,
        ),
    ] = None,
) -> Answered[ReadControlPlane]:
    """Read where a run stands: call this to get your state's input, to check readiness, or to watch progress.

    Returns meta (status, output or error of the run), each state's document,
    input and output. Where next_cursor is set there are more states: call again with it as cursor.
    """
    if states and inside is not None:
        raise InvalidArgument("states_json and inside cannot be combined.", "Pass one of them.")
    if overview is not None:
        if states or inside is not None:
            raise InvalidArgument("An overview is of the whole run.", "Leave out overview, or states_json and inside.")
        return _overview(on, workflow_id, overview, cursor, limit, with_meta=include_meta)
    run = on.runs.read(workflow_id)
    meta = (summary_of_run(run) if summary else dict(run.document)) if include_meta else None
    wish = _Wish(workflow_id, tuple(states), inside, cursor, limit, summary=summary, with_ended=include_inputs)
    page = _page(on, wish, Room(on.settings.max_result_bytes, meta))
    members = {
        "workflow_id": workflow_id,
        "meta": meta,
        "states": page.documents,
        "inputs": page.inputs,
        "outputs": page.outputs,
        "readiness": page.readiness if compute_readiness else None,
        "provenance": marked("the agents of this run"),
        "next_cursor": page.next_cursor,
        "units": on.growing.facts_of(workflow_id, page.documents, whole=include_inputs),
        "next": None if inside is not None or states or cursor is not None else _look(on, workflow_id, run),
    }
    return Answered(ReadControlPlane, members, says=_standing(run))


def _overview(
    on: "Application", workflow_id: str, each: int, after: str | None, limit: int, *, with_meta: bool
) -> Answered[ReadControlPlane]:
    run = on.runs.overview(workflow_id, each=each, most=max(MOST, each))
    whole = run.as_json()
    document = on.control_plane.run(workflow_id).definition.document
    beginning = {
        "meta": whole["meta"] if with_meta else None,
        "more": whole["more"],
        "source_lines": lines_of_failed(document, whole["states"], whole["meta"].get("cause")),
    }
    page, room = _Page(), Room(on.settings.max_result_bytes, beginning)
    for path in following(list(run.states), after):
        outputs = {path: whole["outputs"][path]} if path in whole["outputs"] else {}
        if len(page.documents) == limit or not room.takes([path, whole["states"][path], outputs]):
            page.next_cursor = next(reversed(page.documents))
            break
        page.documents[path] = whole["states"][path]
        page.outputs |= outputs
    shown = {"states": page.documents, "outputs": page.outputs, "next_cursor": page.next_cursor}
    members = {"workflow_id": workflow_id, "inputs": {}, "provenance": marked("the agents of this run")}
    return Answered(ReadControlPlane, {**members, **beginning, **shown}, says=_standing(run))


def _standing(run: RunView) -> str:
    """Return the sentence about the run as a whole."""
    run_id = run.document["workflow_id"]
    if run.status is RunStatus.RUNNING and not run.meta.is_started:
        return f"Run '{run_id}' is created and not started: `notify_next_worker_agent` starts it."
    return f"Run '{run_id}' is {run.word}."


def _look(on: "Application", workflow_id: str, run: RunView) -> list[dict[str, Any]] | None:
    """Return the calls that show more: those that start the run, and the insides of its Maps and Parallels."""
    definition = on.control_plane.run(workflow_id).definition
    states = {} if definition.units is not None else definition.machine.states
    scopes = [name for name, state in states.items() if state.machines][:_SCOPES_NAMED]
    waits = run.status is RunStatus.RUNNING and not run.meta.is_started
    steps = [planner_steps.start(workflow_id)] if waits else []
    steps += [planner_steps.inside(workflow_id, scope) for scope in scopes if not waits]
    return [step.as_json() for step in steps] or None


class _Wish(NamedTuple):
    """Which states of a run are to be read, and how much of each."""

    workflow_id: str
    named: tuple[str, ...]
    inside: str | None
    cursor: str | None
    limit: int
    summary: bool
    with_ended: bool


@dataclass(slots=True)
class _Page:
    """One page of a run's states."""

    documents: dict[str, dict[str, Json]] = field(default_factory=dict)
    inputs: dict[str, Json] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    readiness: dict[str, bool] = field(default_factory=dict)
    next_cursor: str | None = None


def _page(on: "Application", wish: _Wish, room: Room) -> _Page:
    """Read states until the page is full."""
    page, last = _Page(), None
    more: dict[str, Any] = {"after": wish.cursor, "at_once": wish.limit + 1, "with_data": not wish.summary}
    if wish.inside is None:
        views = on.runs.each_state(wish.workflow_id, wish.named, **more)
    else:
        views = on.runs.each_inside(wish.workflow_id, wish.inside, **more)
    for name, view in views:
        shown = view.summary() if wish.summary else short_state(public_state(view.doc))
        state_input, output = known(view.given), known(view.output)
        if len(page.documents) == wish.limit or not room.takes([name, name, shown, state_input, output]):
            page.next_cursor = last
            return page
        page.documents[name], page.readiness[name], last = shown, view.ready, name
        if not wish.summary:
            page.outputs[name] = output
        if view.given is not MISSING and (wish.with_ended or not view.doc.status.is_terminal):
            page.inputs[name] = state_input
    return page


@verb(
    toolset="execution",
    scope="work",
    lists=("worker", "member", "operator"),
    codes=(
        "unknown_run",
        "unknown_state",
        "lease_lost",
        "already_completed",
        "output_invalid",
        "needs_work",
        "children_open",
        "owner_mismatch",
        "review_running",
        "terminal",
        "token_required",
    ),
    only_when_set=("retry_at", "stored", "work", "failed_criteria", "note"),
    in_refusals={"output_written": False, "next_states": [], "repeated": False},
)
def update_workflow_control_plane(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    *,
    lease_token: Annotated[LeaseToken | None, Argument(means="The lease_token of the lease.", plain=True)] = None,
    new_status: Annotated[
        str | None,
        Argument(
            means="succeeded (done, success, succeed) or failed (fail, error), both final; running; or pending.",
            max_length=20,
        ),
    ] = None,
    output: Annotated[
        JsonValue,
        Argument(means="JSON, or JSON text.", form="json", bytes_setting="max_output_bytes", tool="output_json"),
    ] = MISSING,
    error_name: Annotated[str | None, Argument(means="As OrderRejected.", max_length=200)] = None,
    error_message: Annotated[str | None, Argument(means="The cause, in words.", plain=True, max_length=20_000)] = None,
    claim_next: Annotated[bool, Argument(means="When completing: also lease what is next.")] = False,
    owner_agent_id: Annotated[OwnAgentId | None, Argument(means="Your agent id.", plain=True)] = None,
    lease_ttl_s: Annotated[
        LeaseTtl | None, Argument(means="Seconds of the lease claimed by claim_next.", listed=False)
    ] = None,
    usage: UsedUp = None,
    whole_input: WholeInput = False,
    attempts_increment: Annotated[int | None, Argument(means="Add to attempts.", ge=0, le=100, listed=False)] = None,
    set_started_at: Annotated[bool, Argument(means="Set started_at to now.", listed=False)] = False,
    set_finished_at: Annotated[
        bool, Argument(means="Set finished_at to now; completing does it automatically.", listed=False)
    ] = False,
    request_id: Annotated[RequestId, Argument(means="Makes a partial write repeatable: same id, once.")] = None,
    output_ttl_secs: Annotated[
        int | None,
        Argument(means="Refused: outputs live as long as their run (expiry_secs at creation).", listed=False),
    ] = None,
) -> Answered[UpdatedState] | RefusedWith:
    """Write the result of a state you hold: `new_status` succeeded with `output`, or failed with `error_name`.

    pending gives it back, and the attempt counts. Without `new_status` the output is partial. With `claim_next` the
    answer brings your next ``work`` in this run.
    """
    if output_ttl_secs is not None:
        raise InvalidArgument(
            "output_ttl_secs is not possible: outputs live as long as their run.",
            "Set `expiry_secs` when the run is created.",
        )
    has_output = output is not MISSING
    request = Update(
        state=state,
        token=lease_token,
        owner=owner_agent_id,
        status=_status(new_status),
        has_output=has_output,
        output=output if has_output else None,
        error=error_name,
        cause=error_message,
        attempts=attempts_increment or 0,
        set_started_at=set_started_at,
        set_finished_at=set_finished_at,
        claim_ttl_s=(lease_ttl_s or 300) if claim_next else None,
        request_id=request_id,
        usage=usage_given(usage),
    )
    answer = on.control_plane.update(workflow_id, request)
    if isinstance(answer, Refusal):
        stored = _stored(on, workflow_id, state, answer) if isinstance(answer, AlreadyCompleted) else None
        next_calls = calls_after_rejection(request, workflow_id, owner_agent_id, answer)
        if may_regain(answer, owner_agent_id):
            answer, next_calls = regaining(answer, workflow_id, state)
        return RefusedWith(answer, {"stored": stored, "next": next_calls, **what_failed(answer)})
    work = claimed_work(on, workflow_id, owner_agent_id, answer, whole_input=whole_input)
    nothing = f" {reason_for_nothing(answer)}" if claim_next and not work else ""
    members = {
        "workflow_id": workflow_id,
        "state": state,
        "updated_state": short_state(public_state(answer.doc)),
        "output_written": answer.output_written,
        "run_status": answer.run_status.value,
        "next_states": list(answer.next_states),
        "repeated": answer.repeated,
        "note": None if error_name is None else note_on(on, workflow_id, state, error_name),
        "retry_at": None if answer.retry_at is None else to_text(answer.retry_at),
        "work": work[0] if work else None,
        "next": calls_after(request, workflow_id, owner_agent_id or answer.owner, answer, work[:1]) or None,
    }
    text = f"Updated state '{state}' of run '{workflow_id}': {sentence_of(request, new_status, answer)}"
    return Answered(UpdatedState, members, says=f"{text}{nothing}")


def _stored(on: "Application", workflow_id: str, state: str, refusal: AlreadyCompleted) -> dict[str, Json]:
    """Return what an earlier completion of the state stored, as far as it still exists, to the caller who made it."""
    receipt = refusal.receipt
    shown: dict[str, Json] = {
        "status": receipt.status.value,
        "at": to_text(receipt.at),
        "output_written": receipt.output_written,
    }
    if receipt.output_written and refusal.is_latest:
        shown["output"] = on.control_plane.read(workflow_id, (state,)).outputs.get(state)
    return shown


def _status(word: str | None) -> Status | None:
    if word is None:
        return None
    status = _STATUS_WORDS.get(word.strip().lower())
    if status is None:
        word_read = word.strip().lower()
        meant = _MEANT.get(word_read) or closest(word_read, _STATUS_WORDS)
        message = "new_status must be succeeded, failed, running or pending."
        send = "Send `new_status` succeeded with `output_json`, or failed with `error_name` and `error_message`."
        if meant is None:
            raise InvalidArgument(message, send)
        hint = f"Did you mean '{_STATUS_WORDS[meant]}'? Nothing was changed. {send}"
        raise AlmostRight(message, hint, values={"new_status": _STATUS_WORDS[meant].value})
    return status


add_tools(__name__)
