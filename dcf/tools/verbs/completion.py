"""The verb that completes several states at once, for programs. Each result is accepted or refused alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.features.usage.verbs import USAGE, usage_given
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.errors import note_on
from dcf.verbs.answers.outcomes import what_failed
from dcf.verbs.answers.work import claimed_work
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.description.words import STATE, LeaseTtl, OwnAgentId, RunId
from dcf.verbs.records.execution import CompletedStates
from dcf.verbs.registry import printable, problems_shown

if TYPE_CHECKING:
    from dcf.application.application import Application

_MOST: Final = 100
"""Most states that are completed, or leased, by one call."""


class StateResult(BaseModel):
    """The result of one state: its output, or the error with which it failed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    state: str = Field(
        pattern=STATE, min_length=1, max_length=400, description="Name of the state.", examples=["CalculatePricing"]
    )
    lease_token: str = Field(
        min_length=1,
        max_length=200,
        description="The lease's token; keep it secret.",
        examples=["the token in the answer of acquire_state_lease"],
    )
    output_json: Any = Field(default=None, description="The output: any JSON value, or JSON text.")
    error_name: str | None = Field(default=None, max_length=200, description="It failed: name of the failure.")
    error_message: str | None = Field(default=None, max_length=20_000, description="It failed: what went wrong.")
    usage_json: str | dict[str, Any] | None = Field(default=None, description=USAGE)


class _Claim(NamedTuple):
    """The agent that completes the states, and how many next ones are leased with each."""

    owner: str | None
    ttl_s: int | None
    most: int


@verb(
    toolset="execution",
    scope="work",
    codes=("unknown_run", "unknown_state", "lease_lost", "run_over"),
    in_refusals={"completed": (), "work": ()},
    for_programs=True,
)
def complete_states(
    on: "Application",
    workflow_id: RunId,
    results: Annotated[
        Sequence[StateResult],
        Argument(
            means="The outcome for each state.",
            example=[{"state": "Pricing", "lease_token": "lease-1", "output_json": {"n": 3}}],
            form="records",
            min_length=1,
            max_length=_MOST,
        ),
    ],
    *,
    claim_next: Annotated[int, Argument(means="Also lease at most so many more states for me.", ge=0, le=_MOST)] = 0,
    agent_id: Annotated[
        OwnAgentId | None, Argument(means="Your agent id; default: the leases' owner.", was="owner_agent_id")
    ] = None,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="Seconds of the leases claimed by claim_next (1 to 86400).")] = 300,
) -> Answered[CompletedStates]:
    """Complete several states of a run that you hold, in one call: for programs that work on many states at once.

    Each result is accepted or refused separately, as `update_workflow_control_plane` would do. With `claim_next` you
    also get as many next states as there are for you, as ``work``. Repeating the call is safe.
    """
    claim = _Claim(agent_id, lease_ttl_s if claim_next else None, max(1, claim_next))
    requests = [_request(on, result, claim) for result in results]
    answers = on.control_plane.update_all(workflow_id, requests)
    accepted = [answer for answer in answers if isinstance(answer, Updated)]
    ends = [answer.run_status for answer in accepted if answer.run_status is not RunStatus.RUNNING]
    members = {
        "workflow_id": workflow_id,
        "run_status": ends[-1] if ends else RunStatus.RUNNING if accepted else None,
        "completed": [
            {"state": result.state} | _told(on, workflow_id, result, answer)
            for result, answer in zip(results, answers, strict=True)
        ],
        "work": [
            work for answer in accepted for work in claimed_work(on, workflow_id, agent_id, answer, whole_input=True)
        ],
    }
    says = f"Accepted {len(accepted)} of {len(answers)} results of run '{workflow_id}'."
    return Answered(CompletedStates, members, says=says)


def _request(on: "Application", result: StateResult, claim: _Claim) -> Update:
    has_failed = result.error_name is not None or result.error_message is not None
    has_output = result.output_json is not None
    output = parse(result.output_json, name="output_json", max_bytes=on.settings.max_output_bytes)
    return Update(
        state=result.state,
        token=result.lease_token,
        status=Status.FAILED if has_failed else Status.SUCCEEDED,
        has_output=has_output,
        output=output if has_output else None,
        error=result.error_name,
        cause=result.error_message,
        usage=usage_given(result.usage_json),
        owner=claim.owner,
        claim_ttl_s=claim.ttl_s,
        claim_most=claim.most,
    )


def _told(on: "Application", workflow_id: str, result: StateResult, answer: Updated | Refusal) -> dict[str, Json]:
    if isinstance(answer, Refusal):
        return {
            "code": answer.code,
            "error": printable(f"{answer.code}: {answer.message}"),
            "hint": printable(answer.hint),
            **problems_shown(answer),
            **what_failed(answer),
        }
    note = None if result.error_name is None else note_on(on, workflow_id, result.state, result.error_name)
    members = {"code": "ok", "next_states": list(answer.next_states), "repeated": answer.repeated}
    return members if note is None else members | {"note": note}


add_tools(__name__)
