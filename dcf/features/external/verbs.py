"""The tool that sends a signal into a run. It only parses, calls and formats."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.callers import require_planner
from dcf.verbs.registry import Answer, Arguments, WorkflowId, refused, tool
from dcf.verbs.run_requests import Reason, RequestId


class SendSignal(Arguments):
    """Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has happened.

    The Task that waits for this name ends with the payload as its output. If none waits yet, the signal is kept, and
    the next one that does takes it; signals of one name are taken in order, each once.
    """

    workflow_id: WorkflowId
    name: str = Field(
        min_length=1, max_length=128, description="The signal's name, as the Task waits for it.", examples=["paid"]
    )
    payload_json: Any = Field(default=None, description="What the Task gets: any JSON value, or JSON text.")
    reason: Reason = None
    request_id: RequestId = None


class SignalSent(Answer):
    """What became of it: `kept` for a state to come, or the `state` that it ended. `number`: it was the run's nth.

    `repeated`: this request was applied before, and this is its first answer.
    """

    workflow_id: str | None = None
    run_status: str | None = None
    signal: str | None = None
    number: int | None = None
    kept: bool | None = None
    state: str | None = None
    state_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="people", scope=Scope.PLAN, profiles=("planner", "operator"), arguments=SendSignal, answer=SignalSent)
def send_signal(app: Application, args: SendSignal) -> SignalSent:
    """Send the signal."""
    require_planner(app, args.workflow_id)
    most = app.settings.max_output_bytes
    payload = None if args.payload_json is None else parse(args.payload_json, name="payload_json", max_bytes=most)
    answer = app.signals.send(args.workflow_id, args.name, payload, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(SignalSent, answer, workflow_id=args.workflow_id)
    what = "is kept" if answer.answer["kept"] else f"ended state '{answer.answer['state']}'"
    return SignalSent(
        status=f"Signal '{args.name}' {what}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
