"""The commands `dcf task`: success, failure and heartbeat of a Task that waits for a callback, by its task token."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.text import clean, json_text

if TYPE_CHECKING:
    from dcf.core.documents.operations import RunAnswer
    from dcf.core.documents.usage import UsageReport
    from dcf.values.refusal import Refusal

_Token = Annotated[
    str,
    typer.Argument(
        metavar="TOKEN",
        help="The task token ($$.Task.Token) as it was handed out; - reads it from standard input, where no list of"
        " processes shows it.",
    ),
]
_Usage = Annotated[
    str | None,
    typer.Option(
        "--usage", help='What the work used up: \'{"tokens_in": 900, "cost": "0.25", "currency": "EUR"}\', or a file.'
    ),
]
_STDIN: Final = "-"

task = typer.Typer(
    name="task",
    no_args_is_help=True,
    help="Answer a Task that waits for a callback, with the task token that was handed out for it.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(task)


@task.command()
def success(
    token: _Token,
    output: Annotated[
        str | None, typer.Option("--output", help="The state's output: JSON text or a file. Default: null.")
    ] = None,
    usage: _Usage = None,
    as_json: JsonFlag = False,
) -> None:
    """End the Task with an output; the run goes on. The token serves once; the same command may be repeated.

    Example:  dcf task success dcf-task-... --output '{"paid": true}'
    """
    from dcf.cli.documents import read_given

    given = None if output is None else read_given(output, "--output")
    used = _used(usage)
    shown = _read(token)
    with opening.application() as found, by_the_local_user():
        _print(shown, found.callbacks.succeed(shown, given, used), as_json=as_json)


@task.command()
def failure(
    token: _Token,
    error: Annotated[str | None, typer.Option("--error", help="Name of the failure.")] = None,
    cause: Annotated[str | None, typer.Option("--cause", help="Why, in a sentence.")] = None,
    usage: _Usage = None,
    as_json: JsonFlag = False,
) -> None:
    """Fail the Task; its Retry and Catch apply, and a retry hands out another token."""
    used = _used(usage)
    shown = _read(token)
    with opening.application() as found, by_the_local_user():
        _print(shown, found.callbacks.fail(shown, error, cause, used), as_json=as_json)


@task.command()
def heartbeat(token: _Token, as_json: JsonFlag = False) -> None:
    """Say that the Task is still worked on, before its HeartbeatSeconds pass."""
    shown = _read(token)
    with opening.application() as found, by_the_local_user():
        _print(shown, found.callbacks.heartbeat(shown), as_json=as_json)


def _read(given: str) -> str:
    return sys.stdin.read().strip() if given == _STDIN else given


def _used(given: str | None) -> "UsageReport | None":
    from dcf.cli.documents import read_given
    from dcf.core.documents.usage import read_report

    return None if given is None else read_report(read_given(given, "--usage"), "--usage")


def _print(token: str, answer: "RunAnswer | Refusal", *, as_json: bool) -> None:
    from dcf.values.task_tokens import read_task_token

    named = read_task_token(token)
    done = accepted(answer, "RUN" if named is None else named.workflow_id)
    assert named is not None, "it was served"
    told = {"workflow_id": named.workflow_id, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    again = ", by an earlier call with this token" if done.repeated else ""
    about = f"{clean(told['state'])} of {clean(named.workflow_id)} is {told['state_status']}{again}."
    typer.echo(f"{about} {clean(told['hint'])}")
