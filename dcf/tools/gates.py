"""Tools about gates: what waits for a verdict, and the verdicts. They only parse, call and format."""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from dcf.application import Application
from dcf.asl.gate_syntax import LONGEST_CRITERION, MOST_CRITERIA
from dcf.core.access import KEY_CALLER, Scope
from dcf.core.gates import Judged
from dcf.core.judging import Judgement, work_of
from dcf.core.verdicts import LONGEST_COMMENT, LONGEST_FEEDBACK, LONGEST_TAIL, Judge, Ruling
from dcf.errors import Forbidden
from dcf.tools.callers import current_caller, groups_of_answerer, scope_hint
from dcf.tools.lifecycle import RequestId
from dcf.tools.people import Group
from dcf.tools.registry import AgentId, Answer, Arguments, StateName, WorkflowId, refused, tool
from dcf.tools.unlisted import UNLISTED
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

GateName: Final = Field(min_length=1, max_length=64, description="Name of the gate.", examples=["review"])


class ListGates(Arguments):
    """Find outputs that wait for a verdict, with criteria, output and its content_sha256, which decide_gate needs."""

    workflow_id: WorkflowId
    state: StateName | None = Field(default=None, description="Only this state, its output whole.")


class GatesListed(Answer):
    """What waits: each with gate, kind, criteria or command, author, output and its content_sha256."""

    workflow_id: str | None = None
    gates: list[dict[str, Any]] = Field(default_factory=list)


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
    path = None if args.state is None else app.control_plane.place(args.workflow_id, args.state).path
    cases = app.gates.cases(args.workflow_id, None if path is None else (path,))
    shown = [row for case in cases for row in rows_of(args.workflow_id, case, whole=path is not None)]
    return GatesListed(
        status="1 gate waits for a verdict." if len(shown) == 1 else f"{len(shown)} gates wait for a verdict.",
        workflow_id=args.workflow_id,
        gates=shown,
    )


def rows_of(workflow_id: str, case: Judgement, *, whole: bool) -> list[dict[str, Json]]:
    """Return what waits at a state, one object for each gate; `whole`: with the output, however large."""
    doc = case.doc
    rows: list[dict[str, Json]] = []
    for one in () if doc.gated is None or not doc.is_judged else doc.gated.open:
        gate = case.gate(one.name)
        if gate is not None:
            told = {"workflow_id": workflow_id, "state": case.state, **work_of(case, gate, one), "asked": one.whom}
            del told["from"]
            rows.append(told | ({"output": case.output} if whole else {}))
    return rows


class CriterionVerdict(BaseModel):
    """What a verdict says of one criterion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    criterion: str = Field(max_length=LONGEST_CRITERION, description="As list_gates shows it.")
    passed: bool
    feedback: str | None = Field(default=None, max_length=LONGEST_FEEDBACK, description="What to mend.")


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
    agent_id: AgentId
    criteria: list[CriterionVerdict] = Field(default_factory=list, max_length=MOST_CRITERIA)
    comment: str | None = Field(default=None, max_length=LONGEST_COMMENT)
    exit_code: int | None = Field(default=None, ge=-1000, le=1_000_000, json_schema_extra=UNLISTED)
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
    if not (may_work or is_person or Scope.PLAN in caller.scopes):
        raise Forbidden("decide_gate needs the scope 'work' or 'answer'.", scope_hint(Scope.WORK))
    return Judge(
        name=args.agent_id,
        key=caller.name if caller.name.startswith(KEY_CALLER) else None,
        groups=groups_of_answerer(args.group),
        may_work=may_work,
        may_plan=Scope.PLAN in caller.scopes,
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
