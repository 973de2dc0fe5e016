"""Tools for whoever holds a task token: end its Task, or keep it alive. They only parse, call, format.

The token is the authority over its state. So a key needs no more than the scope work, and need not be bound to an agent
of the run.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.operations import RunAnswer
from dcf.features.usage.verbs import USAGE, usage_given
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import LONGEST, read_task_token
from dcf.verbs.registry import Answer, Arguments, JsonObject, refused, tool
from dcf.verbs.unlisted import UNLISTED

_TaskToken = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST,
        description="The task token ($$.Task.Token) as it was handed out; keep it secret.",
        examples=["the task_token in the answer of acquire_state_lease"],
    ),
]


def _run_of_token(args: "SendTaskSuccess | SendTaskFailure | SendTaskHeartbeat") -> Iterable[str]:
    """Return the run that a token is of; an invalid one names none."""
    token = read_task_token(args.task_token)
    return () if token is None else (token.workflow_id,)


class SendTaskSuccess(Arguments):
    """Answer a Task that waits for a callback: call this when what its task token was handed out for is done.

    The state succeeds with this output and the run goes on. A token serves once; repeating the same call is safe.
    """

    task_token: _TaskToken
    output_json: Any = Field(default=None, description="The state's output: any JSON value, or JSON text.")
    usage_json: JsonObject | None = Field(default=None, description=USAGE, json_schema_extra=UNLISTED)


class TaskAnswered(Answer):
    """How the state and its run stand now. `repeated`: the first answer to the same call; `hint`: what to do."""

    workflow_id: str | None = None
    state: str | None = None
    state_status: str | None = None
    run_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool | None = None
    problems: list[dict[str, Any]] | None = None

    only_when_set = ("problems",)


@tool(
    toolset="people",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=SendTaskSuccess,
    answer=TaskAnswered,
    runs_named=_run_of_token,
    of_no_run=True,
)
def send_task_success(app: Application, args: SendTaskSuccess) -> TaskAnswered:
    """End the state with an output."""
    output = parse(args.output_json, name="output_json", max_bytes=app.settings.max_output_bytes)
    return _answered(app.callbacks.succeed(args.task_token, output, usage_given(args.usage_json)), args.task_token)


class SendTaskFailure(Arguments):
    """Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be done.

    The state's Retry and Catch apply. A retry hands out another token; this one serves no more.
    """

    task_token: _TaskToken
    error: str | None = Field(default=None, min_length=1, max_length=200, description="Name of the failure.")
    cause: str | None = Field(default=None, max_length=20_000, description="What went wrong, in words.")
    usage_json: JsonObject | None = Field(default=None, description=USAGE, json_schema_extra=UNLISTED)


@tool(
    toolset="people",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=SendTaskFailure,
    answer=TaskAnswered,
    runs_named=_run_of_token,
    of_no_run=True,
)
def send_task_failure(app: Application, args: SendTaskFailure) -> TaskAnswered:
    """End the state with a failure."""
    used = usage_given(args.usage_json)
    return _answered(app.callbacks.fail(args.task_token, args.error, args.cause, used), args.task_token)


class SendTaskHeartbeat(Arguments):
    """Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass."""

    task_token: _TaskToken


class TaskAlive(TaskAnswered):
    """When the next heartbeat is due, if one is, and when the state times out in any case."""

    heartbeat_due: str | None = None
    deadline: str | None = None


@tool(
    toolset="people",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=SendTaskHeartbeat,
    answer=TaskAlive,
    runs_named=_run_of_token,
    of_no_run=True,
)
def send_task_heartbeat(app: Application, args: SendTaskHeartbeat) -> TaskAlive:
    """Restart the heartbeat of the state."""
    answer = app.callbacks.heartbeat(args.task_token)
    if isinstance(answer, Refusal):
        return refused(TaskAlive, answer)
    return TaskAlive(status="The heartbeat is noted.", **_told(answer, args.task_token))


def _answered(answer: RunAnswer | Refusal, task_token: str) -> TaskAnswered:
    if isinstance(answer, Refusal):
        return refused(TaskAnswered, answer)
    told = _told(answer, task_token)
    status = f"State '{told['state']}' of run '{told['workflow_id']}' is {told['state_status']}."
    return TaskAnswered(status=status, repeated=answer.repeated, **told)


def _told(answer: RunAnswer, task_token: str) -> dict[str, Any]:
    token = read_task_token(task_token)
    assert token is not None, "it was served"
    return {"workflow_id": token.workflow_id, **answer.answer}
