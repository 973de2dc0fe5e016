"""The verb that corrects the result of a state until somebody has used it. It calls and describes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from dcf.core.access.model import Scope
from dcf.features.questions.corrections import Correct
from dcf.features.questions.records import CorrectedResult
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import JsonValue, LeaseToken, Reason, RequestId, RunId, StateName

if TYPE_CHECKING:
    from dcf.application.application import Application


def _corrected(answer: Mapping[str, Json]) -> str:
    receivers = f"; {', '.join(answer['next_states'])} will get it" if answer["next_states"] else ""
    return f"The result of '{answer['state']}' is corrected{receivers}."


@verb(
    toolset="execution",
    scope="work",
    lists=("member", "operator"),
    says=_corrected,
    codes=("unknown_run", "unknown_state", "not_completed", "result_used", "path_differs", "gated", "run_over"),
    command=Command(
        name="states correct",
        summary="Correct the result of a state, until what follows has used it: leased, joined, or ended with it.",
        example="""dcf states correct order-42 CalculatePricing '{"total": "1.00"}' --reason "a typo\"""",
        show="dcf.cli.features.questions:show_correction",
    ),
    in_refusals={"next_states": ()},
)
def correct_result(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    output: Annotated[
        JsonValue,
        Argument(
            means="The whole result: JSON, or JSON text.",
            example={"total": "1.00"},
            spelling="The right result: JSON, a file, or -.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="output_json",
        ),
    ],
    *,
    lease_token: Annotated[
        LeaseToken | None,
        Argument(
            means="That which completed it; no need for planners.",
            spelling="Only if this lease wrote the result that is there.",
            option="--token",
        ),
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
) -> Answered[CorrectedResult] | Refusal:
    """Correct the result of a state you completed, until somebody has used it (code result_used)."""
    if lease_token is None:
        require(Scope.PLAN, "Correcting a result without its lease_token")
        require_planner(on, workflow_id)
    wish = Correct(state=state, output=output, token=lease_token)
    done = on.corrections.correct_result(workflow_id, wish, reason=reason, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    members = {"workflow_id": workflow_id, "repeated": done.repeated, **done.answer}
    return Answered(CorrectedResult, members, says=_corrected({**members, "state": state}))


add_tools(__name__)
