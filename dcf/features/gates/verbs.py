"""The verbs about gates: what waits for a verdict, the verdicts, an override. They call and describe."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from dcf.core.access.model import KEY_CALLER, Scope
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.gates.consequences import rows_of
from dcf.features.gates.judges import Judge
from dcf.features.gates.listing import GatePage, GateQuery, read_gate_place
from dcf.features.gates.model import Judged
from dcf.features.gates.records import DecidedGate, VerdictName, WaitingGates
from dcf.features.gates.syntax import LONGEST_CRITERION, MOST_CRITERIA
from dcf.features.gates.verdicts import LONGEST_COMMENT, LONGEST_FEEDBACK, LONGEST_TAIL, Ruling
from dcf.values.json_text import Json, without_nulls
from dcf.values.refusal import Refusal
from dcf.verbs.answers.operated import operated
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import current_caller, groups_of_answerer, scope_hint
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import (
    AgentId,
    Cursor,
    GroupName,
    Limit,
    Person,
    ProjectId,
    RequestId,
    RunId,
    StateName,
)

if TYPE_CHECKING:
    from dcf.application.application import Application

MOST_LISTED: Final = 100
SHOWN: Final = "dcf.cli.features.gates:show_verdict"
"""Prints a verdict, or an override."""


def _waiting(answer: Mapping[str, Json]) -> str:
    number = len(answer["gates"])
    return "1 gate waits for a verdict." if number == 1 else f"{number} gates wait for a verdict."


@verb(
    toolset="gates",
    scope="read",
    lists=("member", "operator"),
    effect="reads",
    says=_waiting,
    codes=("unknown_run", "unknown_state"),
    command=Command(
        name="gates ls",
        summary="""Show the outputs of a run that wait for a verdict before they count, with their criteria.

        Each with the command that judges it, which names the output by its hash. Without RUN: what --as may judge.
        """,
        example="dcf gates ls order-42",
        show="dcf.cli.features.gates:show_gates",
    ),
    pages="gates",
    in_refusals={"gates": []},
)
def list_gates(
    on: "Application",
    workflow_id: Annotated[RunId | None, Argument(means="Only those of this run.")] = None,
    state: Annotated[
        StateName | None,
        Argument(means="Only this state of the run, its output whole.", spelling="Only this state, its output whole."),
    ] = None,
    *,
    agent_id: Annotated[AgentId, Argument(means="Without a run: what you may judge.")] = None,
    group: Annotated[GroupName, Argument(means="The reviews of this group.", listed=False)] = None,
    project: Annotated[ProjectId | None, Argument(means="Only those of the project's runs.", listed=False)] = None,
    limit: Annotated[Limit, Argument(means="Most states of a page.", le=MOST_LISTED, listed=False)] = 20,
    cursor: Annotated[
        Cursor,
        Argument(means="The next_cursor of the answer before.", plain=True, min_length=1, max_length=700, listed=False),
    ] = None,
) -> Answered[WaitingGates]:
    """Find outputs that wait for a verdict: yours across runs (`agent_id`), or those of a run.

    With criteria or command, and content_sha256, which `decide_gate` needs; of a run also with the output.
    """
    if workflow_id is not None and state is not None:
        return _listed(_of_state(on, workflow_id, state))
    if workflow_id is not None:
        page = on.gates.of_run(workflow_id, limit, read_gate_place(cursor))
        outputs = Room(on.settings.max_result_bytes // 2)
        of_states = [
            [row if outputs.takes(row) else _without_output(row) for row in rows_of(run, case, whole=False)]
            for run, case in page.rows
        ]
    else:
        page = on.gates.waiting_for(_query(state, agent_id, group, project, limit, cursor))
        of_states = [[_without_output(row) for row in rows_of(run, case, whole=False)] for run, case in page.rows]
    return _paged(page, of_states, Room(on.settings.max_result_bytes))


def _paged(page: GatePage, of_states: list[list[dict[str, Json]]], room: Room) -> Answered[WaitingGates]:
    shown = list(takewhile(room.takes, of_states))
    ends_at = page.next_place if len(shown) == len(of_states) else page.places[len(shown) - 1]
    return _listed([row for rows in shown for row in rows], None if ends_at is None else str(ends_at))


def _of_state(on: "Application", workflow_id: str, state: str) -> list[dict[str, Json]]:
    """Return what waits at a state, with the whole output."""
    cases = on.gates.cases(workflow_id, (on.control_plane.place(workflow_id, state).path,))
    return [row for case in cases for row in rows_of(workflow_id, case, whole=True)]


def _without_output(row: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in row.items() if name != "output"} | {"output_left_out": True}


def _listed(gates: list[dict[str, Json]], cursor: str | None = None) -> Answered[WaitingGates]:
    return Answered(WaitingGates, {"gates": gates, "next_cursor": cursor})


def _query(
    state: str | None, agent_id: str | None, group: str | None, project: str | None, limit: int, cursor: str | None
) -> GateQuery:
    name = agent_id or current_caller().agent_id
    if name is None or state is not None:
        raise InvalidArgument(
            "Whose verdicts are looked for is not said.", "Give your `agent_id`, or the `workflow_id` of a run."
        )
    groups = groups_of_answerer(group)
    place = read_gate_place(cursor)
    return GateQuery(limit=limit, name=name, groups=tuple(sorted(groups)), project=project, place=place)


class CriterionVerdict(BaseModel):
    """What a verdict says of one criterion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    criterion: str = Field(max_length=LONGEST_CRITERION)
    passed: bool
    feedback: str | None = Field(default=None, max_length=LONGEST_FEEDBACK)


def decided(answer: Mapping[str, Json]) -> str:
    """Say what a verdict was, and what followed."""
    verdict, gate, state = answer["verdict"], answer["gate"], answer["state"]
    text = f"Gate '{gate}' of state '{state}': {verdict}."
    if answer["state_status"] == "succeeded":
        return f"{text} All gates have passed, and the state is completed."
    if answer["state_status"] == "failed":
        return f"{text} It failed as often as it may, and the state has failed."
    if answer["waits_for"]:
        return f"{text} Still waiting: {', '.join(answer['waits_for'])}."
    return f"{text} The output goes back to its worker with what failed." if verdict == "fail" else text


@verb(
    toolset="gates",
    scope="read",
    lists=("worker", "member"),
    says=decided,
    codes=(
        *("unknown_run", "unknown_state", "no_such_gate", "not_judged", "content_changed"),
        *("not_a_reviewer", "author_may_not_review", "invalid_verdict", "run_over"),
    ),
    command=Command(
        name="gates decide",
        summary="""Judge the output that waits at a gate. Its author cannot review it.

        The verdict is about the output that you read, which --content names by its hash: `dcf gates ls RUN` shows the
        output, and prints the command with the hash. If another output waits by then, the verdict is refused
        (content_changed). A criterion that no option names is met.
        """,
        example='dcf gates decide order-42 Write review fail --content HASH --failed "It is short." -m "Cut part two."',
        show=SHOWN,
        assumes={"failed": ()},
    ),
    page=PageAction(
        title="Decide the gate",
        effect="The verdict is written; the output passes when every gate has passed it.",
        form=("content_sha256", "criteria", "comment", "agent_id", "group"),
        scopes=("work", "plan", "answer"),
    ),
    in_refusals={"waits_for": (), "next_states": ()},
)
def decide_gate(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    gate: Annotated[
        str,
        Argument(
            means="Name of the gate.",
            plain=True,
            example="review",
            min_length=1,
            max_length=64,
            spelling="Its name, as `dcf gates ls RUN` shows it.",
        ),
    ],
    verdict: Annotated[
        VerdictName,
        Argument(
            means="unavailable: it could not be judged, and is asked for again.",
            example="pass",
            spelling="pass, fail or unavailable (it could not be judged).",
            label="Verdict: pass, fail or unavailable",
        ),
    ],
    *,
    content_sha256: Annotated[
        str,
        Argument(
            means="As `list_gates` or the event has it.",
            example="0" * 64,
            spelling="The hash of the output that you read, as `dcf gates ls RUN` prints it.",
            min_length=64,
            max_length=64,
            option="--content",
        ),
    ],
    agent_id: Annotated[
        Person,
        Argument(
            means="Your agent id.",
            plain=True,
            spelling="Name of the reviewer; default: your user name on this machine.",
            label="Who you are (agent id)",
        ),
    ] = None,
    criteria: Annotated[
        Sequence[CriterionVerdict],
        Argument(
            means="Where the gate has criteria: one for each.",
            spelling='Verdicts on criteria, as JSON: [{"criterion": "...", "passed": true, "feedback": "..."}].',
            form="records",
            max_length=MOST_CRITERIA,
        ),
    ] = (),
    failed: Annotated[
        Sequence[str] | None,
        Argument(
            means="Criteria that are not met, with comment as feedback; all that are not named are met ([]: all).",
            spelling="A criterion that is not met, as it is shown; may be repeated.",
            form="texts",
            max_length=MOST_CRITERIA * LONGEST_CRITERION,
            listed=False,
        ),
    ] = None,
    comment: Annotated[
        str | None,
        Argument(
            means="More, for the worker.",
            spelling="Corrections, for the worker.",
            max_length=LONGEST_COMMENT,
            short="-m",
            label="Comment",
        ),
    ] = None,
    exit_code: Annotated[
        int | None,
        Argument(
            means="Of a command; 0 passes.",
            spelling="Of a command that was run by hand.",
            ge=-255,
            le=255,
            listed=False,
        ),
    ] = None,
    output_tail: Annotated[
        str | None, Argument(means="End of a command's output.", max_length=LONGEST_TAIL, listed=False)
    ] = None,
    duration_s: Annotated[
        float | None, Argument(means="How long a command took.", ge=0, le=1_000_000, listed=False)
    ] = None,
    group: Annotated[GroupName, Argument(means="Of a person.", listed=False, label="Group that you answer for")] = None,
    request_id: RequestId = None,
) -> Answered[DecidedGate] | Refusal:
    """Judge an output that waits at a gate. The author of an output cannot review it.

    Where the gate has criteria, the verdict follows from theirs.
    """
    facts = {"exit_code": exit_code, "output_tail": output_tail, "duration_s": duration_s}
    ruling = Ruling(
        state=state,
        gate=gate,
        verdict=verdict,
        sha256=content_sha256,
        by=_judge(agent_id, group),
        criteria=tuple(Judged(criterion=row.criterion, passed=row.passed, feedback=row.feedback) for row in criteria),
        failed=None if failed is None else tuple(failed),
        comment=comment,
        facts=without_nulls(facts),
    )
    return operated(DecidedGate, workflow_id, on.gates.decide(workflow_id, ruling, request_id=request_id))


def _judge(agent_id: str | None, group: str | None) -> Judge:
    caller = current_caller()
    may_work, is_person = Scope.WORK in caller.scopes, Scope.ANSWER in caller.scopes
    may_attest = Scope.ATTEST in caller.scopes
    if not (may_work or is_person or may_attest or Scope.PLAN in caller.scopes):
        raise Forbidden("`decide_gate` needs the scope 'work', 'answer', 'plan' or 'attest'.", scope_hint(Scope.WORK))
    return Judge(
        name=agent_id or caller.agent_id or (caller.name if may_attest else None),
        key=caller.name if caller.name.startswith(KEY_CALLER) else None,
        groups=groups_of_answerer(group),
        may_work=may_work,
        may_plan=Scope.PLAN in caller.scopes,
        may_attest=may_attest,
        is_person=is_person,
    )


add_tools(__name__)
