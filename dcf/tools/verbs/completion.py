"""The tool that completes several states at once. It only parses arguments, calls, and formats the answer."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.features.usage.verbs import USAGE, usage_given
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.errors import note_on
from dcf.verbs.answers.outcomes import what_failed
from dcf.verbs.answers.work import claimed_work
from dcf.verbs.registry import (
    AgentId,
    Answer,
    Arguments,
    JsonObject,
    LeaseToken,
    StateName,
    Ttl,
    WorkflowId,
    printable,
    problems_shown,
    tool,
)

_MOST = 100
"""Most states that are completed, or leased, by one call."""


class StateResult(BaseModel):
    """The result of one state: its output, or the error with which it failed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    state: StateName
    lease_token: LeaseToken
    output_json: Any = Field(default=None, description="The output: any JSON value, or JSON text.")
    error_name: str | None = Field(default=None, max_length=200, description="It failed: name of the failure.")
    error_message: str | None = Field(default=None, max_length=20_000, description="It failed: what went wrong.")
    usage_json: JsonObject | None = Field(default=None, description=USAGE)


class CompleteStates(Arguments):
    """Complete several states of a run that you hold, in one call: for programs that work on many states at once.

    Each result is accepted or refused by itself, as update_workflow_control_plane would do. With claim_next you also
    get as many next states as there are for you, as `work`. Repeating the call is safe.
    """

    workflow_id: WorkflowId
    results: list[StateResult] = Field(
        min_length=1,
        max_length=_MOST,
        description="What came of each state.",
        examples=[[{"state": "Pricing", "lease_token": "lease-1", "output_json": {"n": 3}}]],
    )
    claim_next: int = Field(default=0, ge=0, le=_MOST, description="Also lease at most so many more states for me.")
    owner_agent_id: AgentId | None = Field(default=None, description="Your agent id; default: the leases' owner.")
    lease_ttl_s: Ttl = Field(default=300, description="Seconds of the leases claimed by claim_next (1 to 86400).")


class StatesCompleted(Answer):
    """`completed` says of each state, in the order of the call, whether its result was accepted; `work` comes next."""

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    completed: list[dict[str, Any]] = Field(default_factory=list)
    work: list[dict[str, Any]] = Field(default_factory=list)


@tool(toolset="execution", scope=Scope.WORK, arguments=CompleteStates, answer=StatesCompleted)
def complete_states(app: Application, args: CompleteStates) -> StatesCompleted:
    """Write several results as the holder of their leases."""
    requests = [_request(app, args, result) for result in args.results]
    answers = app.control_plane.update_all(args.workflow_id, requests)
    accepted = [answer for answer in answers if isinstance(answer, Updated)]
    ends = [answer.run_status for answer in accepted if answer.run_status is not RunStatus.RUNNING]
    return StatesCompleted(
        status=f"Accepted {len(accepted)} of {len(answers)} results of run '{args.workflow_id}'.",
        workflow_id=args.workflow_id,
        run_status=ends[-1] if ends else RunStatus.RUNNING if accepted else None,
        completed=[
            {"state": result.state} | _told(app, args.workflow_id, result, answer)
            for result, answer in zip(args.results, answers, strict=True)
        ],
        work=[
            work
            for one in accepted
            for work in claimed_work(app, args.workflow_id, args.owner_agent_id, one, whole_input=True)
        ],
    )


def _request(app: Application, args: CompleteStates, result: StateResult) -> Update:
    has_failed = result.error_name is not None or result.error_message is not None
    has_output = result.output_json is not None
    output = parse(result.output_json, name="output_json", max_bytes=app.settings.max_output_bytes)
    return Update(
        state=result.state,
        token=result.lease_token,
        owner=args.owner_agent_id,
        status=Status.FAILED if has_failed else Status.SUCCEEDED,
        has_output=has_output,
        output=output if has_output else None,
        error=result.error_name,
        cause=result.error_message,
        usage=usage_given(result.usage_json),
        claim_ttl_s=args.lease_ttl_s if args.claim_next else None,
        claim_most=max(1, args.claim_next),
    )


def _told(app: Application, workflow_id: str, result: StateResult, answer: Updated | Refusal) -> dict[str, Json]:
    if isinstance(answer, Refusal):
        return {
            "code": answer.code,
            "error": printable(f"{answer.code}: {answer.message}"),
            "hint": printable(answer.hint),
            **problems_shown(answer),
            **what_failed(answer),
        }
    note = None if result.error_name is None else note_on(app, workflow_id, result.state, result.error_name)
    told = {"code": "ok", "next_states": list(answer.next_states), "repeated": answer.repeated}
    return told if note is None else told | {"note": note}
