"""Tools about gates: what waits for a verdict, and the verdicts. They only parse, call and format."""

from itertools import takewhile
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from dcf.application.application import Application
from dcf.core.access.model import KEY_CALLER, Scope
from dcf.core.documents.operations import LONGEST_REASON
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.gates.consequences import rows_of
from dcf.features.gates.gate import Gate
from dcf.features.gates.judges import Judge
from dcf.features.gates.listing import GatePage, GateQuery, read_gate_place
from dcf.features.gates.model import Judged
from dcf.features.gates.overriding import Override
from dcf.features.gates.syntax import LONGEST_CRITERION, MOST_CRITERIA, MOST_GATES, gates_given
from dcf.features.gates.verdicts import LONGEST_COMMENT, LONGEST_FEEDBACK, LONGEST_TAIL, Ruling
from dcf.features.people.verbs import Group
from dcf.values.json_text import Json, check
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import current_caller, groups_of_answerer, scope_hint
from dcf.verbs.registry import AgentId, Answer, Arguments, ProjectId, StateName, WorkflowId, refused, tool
from dcf.verbs.run_requests import RequestId
from dcf.verbs.unlisted import UNLISTED

MOST_LISTED: Final = 100

GateName: Final = Field(min_length=1, max_length=64, description="Name of the gate.", examples=["review"])


RunGates = Annotated[
    list[dict[str, Any]] | None,
    Field(
        max_length=MOST_GATES,
        description="Gates of every Task of the run, as in the field Gates of a Task.",
        json_schema_extra=UNLISTED,
    ),
]


def read_run_gates(given: list[dict[str, Any]] | None) -> tuple[Gate, ...]:
    """Read the gates of a whole run."""
    return () if given is None else gates_given(check(given, name="gates"))


class ListGates(Arguments):
    """Find outputs that wait for a verdict: yours across runs (agent_id), or those of a run.

    With criteria or command, and content_sha256, which decide_gate needs; of a run also with the output.
    """

    workflow_id: WorkflowId | None = Field(default=None, description="Only those of this run.")
    state: StateName | None = Field(default=None, description="Only this state of the run, its output whole.")
    agent_id: AgentId | None = Field(default=None, description="Without a run: what you may judge.")
    group: Group = Field(default=None, description="What this group may judge.", json_schema_extra=UNLISTED)
    project: ProjectId | None = Field(
        default=None, description="Only those of the project's runs.", json_schema_extra=UNLISTED
    )
    limit: int = Field(
        default=20, ge=1, le=MOST_LISTED, description="Most states of a page.", json_schema_extra=UNLISTED
    )
    cursor: str | None = Field(
        default=None, min_length=1, max_length=700, description="next_cursor, to go on.", json_schema_extra=UNLISTED
    )


class GatesListed(Answer):
    """What waits, the longest first: each with run, state, name of the gate, kind, author and content_sha256."""

    gates: list[dict[str, Any]] = Field(default_factory=list)
    next_cursor: str | None = None


@tool(
    toolset="gates",
    scope=Scope.READ,
    profiles=("member", "operator"),
    arguments=ListGates,
    answer=GatesListed,
    read_only=True,
)
def list_gates(app: Application, args: ListGates) -> GatesListed:
    """List what waits for a verdict."""
    if args.workflow_id is not None and args.state is not None:
        return _listed(_of_state(app, args.workflow_id, args.state))
    if args.workflow_id is not None:
        page = app.gates.of_run(args.workflow_id, args.limit, read_gate_place(args.cursor))
        outputs = Room(app.settings.max_result_bytes // 2)
        of_states = [
            [row if outputs.takes(row) else _without_output(row) for row in rows_of(run, case, whole=False)]
            for run, case in page.rows
        ]
    else:
        page = app.gates.waiting_for(_query(args))
        of_states = [
            [{name: value for name, value in row.items() if name != "output"} for row in rows]
            for rows in (rows_of(run, case, whole=False) for run, case in page.rows)
        ]
    return _paged(page, of_states, Room(app.settings.max_result_bytes))


def _paged(page: GatePage, of_states: list[list[dict[str, Json]]], room: Room) -> GatesListed:
    shown = list(takewhile(room.takes, of_states))
    ends_at = page.next_place if len(shown) == len(of_states) else page.places[len(shown) - 1]
    return _listed([row for rows in shown for row in rows], None if ends_at is None else str(ends_at))


def _of_state(app: Application, workflow_id: str, state: str) -> list[dict[str, Json]]:
    """Return what waits at a state, with the whole output."""
    cases = app.gates.cases(workflow_id, (app.control_plane.place(workflow_id, state).path,))
    return [row for case in cases for row in rows_of(workflow_id, case, whole=True)]


def _without_output(row: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in row.items() if name != "output"} | {"output_left_out": True}


def _listed(gates: list[dict[str, Json]], cursor: str | None = None) -> GatesListed:
    return GatesListed(
        status="1 gate waits for a verdict." if len(gates) == 1 else f"{len(gates)} gates wait for a verdict.",
        gates=gates,
        next_cursor=cursor,
    )


def _query(args: ListGates) -> GateQuery:
    caller = current_caller()
    name = args.agent_id or caller.agent_id
    if name is None or args.state is not None:
        raise InvalidArgument(
            "Whose verdicts are looked for is not said.", "Give your agent_id, or the workflow_id of a run."
        )
    groups = groups_of_answerer(args.group)
    place = read_gate_place(args.cursor)
    return GateQuery(limit=args.limit, name=name, groups=tuple(sorted(groups)), project=args.project, place=place)


class CriterionVerdict(BaseModel):
    """What a verdict says of one criterion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    criterion: str = Field(max_length=LONGEST_CRITERION)
    passed: bool
    feedback: str | None = Field(default=None, max_length=LONGEST_FEEDBACK)


class DecideGate(Arguments):
    """Judge an output that waits at a gate: one verdict for each criterion, from which the whole follows.

    Whoever made the output does not judge it. A command's verdict is its exit_code.
    """

    workflow_id: WorkflowId
    state: StateName
    gate: str = GateName
    verdict: Literal["pass", "fail", "unavailable"] = Field(
        description="unavailable: it could not be judged; it is asked for again.", examples=["pass"]
    )
    content_sha256: str = Field(
        min_length=64,
        max_length=64,
        description="Of the output you judged, from list_gates or the event.",
        examples=["0" * 64],
    )
    agent_id: AgentId | None = Field(default=None, description="Who judges; a command's helper needs none.")
    criteria: list[CriterionVerdict] = Field(
        default_factory=list, max_length=MOST_CRITERIA, description="One for each criterion, where the gate has some."
    )
    comment: str | None = Field(default=None, max_length=LONGEST_COMMENT, description="More, for the worker.")
    exit_code: int | None = Field(
        default=None, ge=-255, le=255, description="Of a command; 0 passes.", json_schema_extra=UNLISTED
    )
    output_tail: str | None = Field(
        default=None, max_length=LONGEST_TAIL, description="End of a command's output.", json_schema_extra=UNLISTED
    )
    duration_s: float | None = Field(
        default=None, ge=0, le=1_000_000, description="How long a command took.", json_schema_extra=UNLISTED
    )
    group: Group = Field(default=None, description="Of a person.", json_schema_extra=UNLISTED)
    request_id: RequestId = None


class GateDecided(Answer):
    """The verdict as it was worked out, and what followed: `waits_for` names gates that still wait."""

    workflow_id: str | None = None
    state: str | None = None
    gate: str | None = None
    verdict: str | None = None
    content_sha256: str | None = None
    state_status: str | None = None
    waits_for: list[str] = Field(default_factory=list)
    run_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="gates", scope=Scope.READ, profiles=("member",), arguments=DecideGate, answer=GateDecided)
def decide_gate(app: Application, args: DecideGate) -> GateDecided:
    """Give a verdict: agents do with the scope work, persons with the scope answer."""
    ruling = Ruling(
        state=args.state,
        gate=args.gate,
        verdict=args.verdict,
        sha256=args.content_sha256,
        by=_judge(args),
        criteria=tuple(
            Judged(criterion=one.criterion, passed=one.passed, feedback=one.feedback) for one in args.criteria
        ),
        comment=args.comment,
        facts=_facts(args),
    )
    answer = app.gates.decide(args.workflow_id, ruling, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(GateDecided, answer, workflow_id=args.workflow_id, state=args.state, gate=args.gate)
    told = dict(answer.answer)
    return GateDecided(status=_sentence(told), workflow_id=args.workflow_id, repeated=answer.repeated, **told)


def _judge(args: DecideGate) -> Judge:
    caller = current_caller()
    may_work, is_person = Scope.WORK in caller.scopes, Scope.ANSWER in caller.scopes
    may_attest = Scope.ATTEST in caller.scopes
    if not (may_work or is_person or may_attest or Scope.PLAN in caller.scopes):
        raise Forbidden("decide_gate needs the scope 'work', 'answer', 'plan' or 'attest'.", scope_hint(Scope.WORK))
    return Judge(
        name=args.agent_id or caller.agent_id or (caller.name if may_attest else None),
        key=caller.name if caller.name.startswith(KEY_CALLER) else None,
        groups=groups_of_answerer(args.group),
        may_work=may_work,
        may_plan=Scope.PLAN in caller.scopes,
        may_attest=may_attest,
        is_person=is_person,
    )


def _facts(args: DecideGate) -> dict[str, Json]:
    told: dict[str, Json] = {
        "exit_code": args.exit_code,
        "output_tail": args.output_tail,
        "duration_s": args.duration_s,
    }
    return {name: value for name, value in told.items() if value is not None}


def _sentence(told: dict[str, Json]) -> str:
    verdict, gate, state = told["verdict"], told["gate"], told["state"]
    said = f"Gate '{gate}' of state '{state}': {verdict}."
    if told["state_status"] == "succeeded":
        return f"{said} All gates have passed, and the state is completed."
    if told["state_status"] == "failed":
        return f"{said} It failed as often as it may, and the state has failed."
    if told["waits_for"]:
        return f"{said} Still waiting: {', '.join(told['waits_for'])}."
    return f"{said} The output goes back to its worker with what failed." if verdict == "fail" else said


class OverrideGate(Arguments):
    """Let the output of a state pass a gate, whatever the gate says; needs the scope override.

    It holds for this visit of the state, and stands in the history with your name and the reason.
    """

    workflow_id: WorkflowId
    state: StateName
    reason: str = Field(
        min_length=1, max_length=LONGEST_REASON, description="Why it may pass.", examples=["Checked by phone."]
    )
    gate: str | None = Field(
        default=None, min_length=1, max_length=64, description="Default: all that have not passed."
    )
    agent_id: AgentId | None = Field(default=None, description="Who you are.")
    request_id: RequestId = None


@tool(
    toolset="gates",
    scope=Scope.OVERRIDE,
    profiles=("operator",),
    arguments=OverrideGate,
    answer=GateDecided,
    audit=("workflow_id", "state", "gate", "reason", "agent_id"),
)
def override_gate(app: Application, args: OverrideGate) -> GateDecided:
    """Override the gate."""
    caller = current_caller()
    name = args.agent_id or caller.agent_id or caller.name
    wish = Override(state=args.state, by=name, reason=args.reason, gate=args.gate, caller=caller.name)
    answer = app.gates.override(args.workflow_id, wish, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(GateDecided, answer, workflow_id=args.workflow_id, state=args.state, gate=args.gate)
    told = dict(answer.answer)
    return GateDecided(status=_sentence(told), workflow_id=args.workflow_id, repeated=answer.repeated, **told)
