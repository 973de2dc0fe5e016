"""The verb that lets an output pass whatever its gates say. It calls and describes."""

from typing import TYPE_CHECKING, Annotated

from dcf.core.documents.operations import LONGEST_REASON
from dcf.features.gates.overriding import Override
from dcf.features.gates.records import DecidedGate
from dcf.features.gates.verbs import SHOWN, decided
from dcf.values.refusal import Refusal
from dcf.verbs.answers.operated import operated
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import Person, RequestId, RunId, StateName

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="gates",
    scope="override",
    lists=("operator",),
    says=decided,
    codes=("unknown_run", "unknown_state", "no_such_gate", "not_judged", "author_may_not_override", "run_over"),
    command=Command(
        name="gates override",
        summary="Let the output of a state pass its gates, whatever they say, for this visit of the state.",
        example='dcf gates override order-42 Write --gate review --reason "checked by phone"',
        show=SHOWN,
    ),
    page=PageAction(
        title="Override the gate",
        effect="The output passes although the gate has not passed it. The audit trail says who did so, and why.",
        form=("gate", "reason", "agent_id"),
        is_grave=True,
    ),
    audit=("workflow_id", "state", "gate", "reason", "agent_id"),
    in_refusals={"waits_for": (), "next_states": ()},
)
def override_gate(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    *,
    reason: Annotated[
        str,
        Argument(
            means="Why it may pass.",
            example="Checked by phone.",
            spelling="Why it may pass, for the history.",
            min_length=1,
            max_length=LONGEST_REASON,
            label="Reason, for the history",
        ),
    ],
    gate: Annotated[
        str | None,
        Argument(
            means="Default: all that have not passed.",
            spelling="Only this one; else all that have not passed.",
            min_length=1,
            max_length=64,
        ),
    ] = None,
    agent_id: Annotated[Person, Argument(means="Who you are.", label="Who you are (agent id)")] = None,
    request_id: RequestId = None,
) -> Answered[DecidedGate] | Refusal:
    """Let the output of a state pass a gate, whatever the gate says; needs the scope override.

    It holds for this visit of the state, and is in the history with your name and the reason.
    """
    caller = current_caller()
    name = agent_id or caller.agent_id or caller.name
    wish = Override(state=state, by=name, reason=reason, gate=gate, caller=caller.name)
    return operated(DecidedGate, workflow_id, on.gates.override(workflow_id, wish, request_id=request_id))


add_tools(__name__)
