"""The tool that writes a line into the history of a run, as the holder of a lease. It parses, calls and formats."""

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.features.task_log import rules
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.registry import Answer, Arguments, JsonObject, LeaseToken, StateName, WorkflowId, refused, tool


class WriteLogEvent(Arguments):
    """Write a line into the history of the run while you hold a state: for programs that tell how their work goes.

    Number the lines of a lease 1, 2, 3: a repeated call then writes its line once.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken
    number: int = Field(ge=1, le=rules.MOST_LINES, description="Which line of this lease it is, from 1.", examples=[1])
    message: str = Field(max_length=rules.LONGEST_MESSAGE, description="What to tell.", examples=["2 of 5 priced"])
    fields_json: JsonObject | None = Field(default=None, description="More about it, at most 4096 bytes of JSON.")


class LogEventWritten(Answer):
    """Whether the line stands there, and how many more may follow under this lease."""

    workflow_id: str | None = None
    state: str | None = None
    lines_left: int | None = None
    repeated: bool = False


@tool(toolset="execution", scope=Scope.WORK, arguments=WriteLogEvent, answer=LogEventWritten)
def log_event(app: Application, args: WriteLogEvent) -> LogEventWritten:
    """Write the line."""
    fields = {} if args.fields_json is None else parse(args.fields_json, name="fields_json")
    if not isinstance(fields, dict):
        raise InvalidArgument("fields_json is not an object.", 'Send fields_json as {"name": value}.')
    request = rules.LogEvent(
        state=args.state,
        token=args.lease_token,
        number=args.number,
        message=args.message,
        fields=fields,
    )
    answer = app.task_log.log_event(args.workflow_id, request)
    if isinstance(answer, Refusal):
        return refused(LogEventWritten, answer, workflow_id=args.workflow_id, state=args.state)
    return LogEventWritten(
        status="The line was written before." if answer.repeated else "The line is written.",
        workflow_id=args.workflow_id,
        state=args.state,
        lines_left=answer.left,
        repeated=answer.repeated,
    )
