"""The tool that corrects the result of a state until somebody has used it. It only parses, calls and formats."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.questions.corrections import Correct
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require, require_planner
from dcf.verbs.registry import Answer, Arguments, LeaseToken, StateName, WorkflowId, refused, tool
from dcf.verbs.run_requests import Reason, RequestId


class CorrectResult(Arguments):
    """Correct the result of a state you completed, until somebody has used it (code result_used)."""

    workflow_id: WorkflowId
    state: StateName
    output_json: Any = Field(description="The whole result: JSON, or JSON text.", examples=[{"total": "1.00"}])
    lease_token: LeaseToken | None = Field(default=None, description="That which completed it; no need for planners.")
    reason: Reason = None
    request_id: RequestId = None


class ResultCorrected(Answer):
    """What was corrected, and the states whose input is another now."""

    workflow_id: str | None = None
    state: str | None = None
    run_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool | None = None
    problems: list[dict[str, Any]] | None = None

    only_when_set = ("problems",)


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker", "planner", "operator"),
    arguments=CorrectResult,
    answer=ResultCorrected,
)
def correct_result(app: Application, args: CorrectResult) -> ResultCorrected:
    """Correct the result."""
    if args.lease_token is None:
        require(Scope.PLAN, "Correcting a result without its lease_token")
        require_planner(app, args.workflow_id)
    output = parse(args.output_json, name="output_json", max_bytes=app.settings.max_output_bytes)
    wish = Correct(state=args.state, output=output, token=args.lease_token)
    answer = app.corrections.correct_result(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(ResultCorrected, answer, workflow_id=args.workflow_id, state=args.state)
    told = dict(answer.answer)
    who = f"; {', '.join(told['next_states'])} will get it" if told["next_states"] else ""
    return ResultCorrected(
        status=f"The result of '{args.state}' is corrected{who}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )
