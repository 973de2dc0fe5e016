"""The command `dcf signal`: sends a signal into a run. It parses, calls and prints."""

from typing import Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import BEFORE, Reason, RequestId
from dcf.cli.text import clean, json_text


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("signal")(send_signal)


def send_signal(
    run: RunArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal's name, as a Task of the run waits for it.")],
    payload: Annotated[
        str | None, typer.Option("--payload", help="What the Task gets: JSON, a file, or - for standard input.")
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Send a signal into a run: the Task that waits for it (Resource dcf:signal) ends with the payload as its output.

    If none waits yet, the signal is kept, and the next one that does takes it; signals of one name are taken in order.

    Example:  dcf signal order-42 paid --payload '{"amount": "12.50"}' --request-id payment-991
    """
    from dcf.cli.documents import read_given

    given = None if payload is None else read_given(payload, "--payload")
    with opening.application() as found, by_the_local_user():
        answer = accepted(found.signals.send(run, name, given, reason=reason, request_id=request_id), run)
    told = {"workflow_id": run, **answer.answer, "repeated": answer.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    again = BEFORE if answer.repeated else ""
    if told["kept"]:
        typer.echo(f"{clean(name)} is kept{again}. {clean(told['hint'])}")
    else:
        typer.echo(f"{clean(name)} ended {clean(told['state'])} of {clean(run)}{again}.")
