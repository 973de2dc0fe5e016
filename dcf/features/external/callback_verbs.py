"""The verbs of whoever holds a task token: end its Task, or keep it alive. They call and describe.

The token is the authority over its state. So a key needs no more than the scope work, and need not be bound to an agent
of the run.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.documents.operations import RunAnswer
from dcf.features.external.records import EndedTask, LivingTask
from dcf.features.usage.verbs import UsedUp, usage_given
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import LONGEST, read_task_token
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import JsonValue

if TYPE_CHECKING:
    from dcf.application.application import Application

_READ: Final = "dcf.cli.features.callbacks:read_token"
_SHOW: Final = "dcf.cli.features.callbacks:show_task"
_CODES: Final = ("task_token_unknown", "task_token_used", "task_token_outdated", "run_over", "output_invalid")

_TaskToken = Annotated[
    str,
    Argument(
        means="The task token ($$.Task.Token) as it was handed out; keep it secret.",
        example="the task_token in the answer of acquire_state_lease",
        min_length=1,
        max_length=LONGEST,
        spelling="The task token ($$.Task.Token) as it was handed out; - reads it from standard input, where no list of"
        " processes shows it.",
    ),
]


def _run_of_token(arguments: Any) -> Iterable[str]:
    """Return the run that a token is of; an invalid one names none."""
    token = read_task_token(arguments.task_token)
    return () if token is None else (token.workflow_id,)


def _said(answer: Mapping[str, Any]) -> str:
    return f"State '{answer['state']}' of run '{answer['workflow_id']}' is {answer['state_status']}."


@verb(
    toolset="people",
    scope="work",
    lists=("operator",),
    says=_said,
    codes=_CODES,
    command=Command(
        name="states succeed",
        example="dcf states succeed dcf-task-... --output '{\"paid\": true}'",
        before=_READ,
        show=_SHOW,
    ),
    runs_named=_run_of_token,
    of_no_run=True,
    in_refusals={"next_states": ()},
)
def send_task_success(
    on: "Application",
    task_token: _TaskToken,
    output: Annotated[
        JsonValue,
        Argument(
            means="The state's output: any JSON value, or JSON text.",
            spelling="The state's output: JSON text or a file. Default: null.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="output_json",
            option="--output",
        ),
    ] = MISSING,
    *,
    usage: UsedUp = None,
) -> Answered[EndedTask] | Refusal:
    """Answer a Task that waits for a callback: call this when what its task token was handed out for is done.

    The state succeeds with this output and the run continues. A token serves once; repeating the same call is safe.
    """
    value = None if output is MISSING else output
    return _ended(on.callbacks.succeed(task_token, value, usage_given(usage)), task_token)


@verb(
    toolset="people",
    scope="work",
    lists=("operator",),
    says=_said,
    codes=_CODES,
    command=Command(name="states fail", before=_READ, show=_SHOW),
    runs_named=_run_of_token,
    of_no_run=True,
    in_refusals={"next_states": ()},
)
def send_task_failure(
    on: "Application",
    task_token: _TaskToken,
    *,
    error: Annotated[str | None, Argument(means="Name of the failure.", min_length=1, max_length=200)] = None,
    cause: Annotated[str | None, Argument(means="The cause, in words.", plain=True, max_length=20_000)] = None,
    usage: UsedUp = None,
) -> Answered[EndedTask] | Refusal:
    """Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be done.

    The state's Retry and Catch apply. A retry hands out another token, and this one becomes invalid.
    """
    return _ended(on.callbacks.fail(task_token, error, cause, usage_given(usage)), task_token)


@verb(
    toolset="people",
    scope="work",
    lists=("operator",),
    says=lambda _: "The heartbeat is noted.",
    codes=_CODES,
    command=Command(name="states heartbeat", before=_READ, show=_SHOW),
    runs_named=_run_of_token,
    of_no_run=True,
    in_refusals={"next_states": ()},
)
def send_task_heartbeat(on: "Application", task_token: _TaskToken) -> Answered[LivingTask] | Refusal:
    """Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass."""
    done = on.callbacks.heartbeat(task_token)
    return done if isinstance(done, Refusal) else Answered(LivingTask, _members(done, task_token))


def _ended(done: RunAnswer | Refusal, task_token: str) -> Answered[EndedTask] | Refusal:
    if isinstance(done, Refusal):
        return done
    return Answered(EndedTask, {"repeated": done.repeated, **_members(done, task_token)})


def _members(done: RunAnswer, task_token: str) -> dict[str, Json]:
    token = read_task_token(task_token)
    assert token is not None, "it was served"
    return {"workflow_id": token.workflow_id, **done.answer}


add_tools(__name__)
