"""Shows what waits for a verdict, and what `dcf gates decide` and `dcf gates override` have done."""

from collections.abc import Mapping
from typing import Any, Final

import typer

from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.features.people import say_more, verdict_command
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text
from dcf.values.json_text import Json

_LONGEST: Final = 10_000
_SHORT: Final = 200


def show_gates(answer: Mapping[str, Json], call: Mapping[str, Any]) -> None:
    """Print the outputs that wait, each with its criteria and the command that judges it."""
    for row in answer["gates"]:
        _print_row(row, whole=call["state"] is not None)
    if not answer["gates"]:
        run = call["workflow_id"]
        typer.echo(f"Nothing{f' of {clean(run)}' if run else ''} waits for a verdict.")
    say_more(answer)


def show_verdict(answer: Mapping[str, Json], _: Mapping[str, Any]) -> None:
    """Print a verdict, or an override, and what follows."""
    waits = f"; it waits for {', '.join(map(clean, answer['waits_for']))}" if answer["waits_for"] else ""
    typer.echo(
        f"Gate {clean(answer['gate'])} of {clean(answer['state'])} of {clean(answer['workflow_id'])}: "
        f"{clean(answer['verdict'])}. The state is {clean(answer['state_status'])}{waits}."
    )
    if answer["repeated"]:
        say(f"That was done before{BEFORE.removeprefix(',')}.")


def _print_row(row: Mapping[str, Json], *, whole: bool) -> None:
    typer.echo(f"{clean(row['state'])}  {clean(row['name'])}  ({clean(row['kind'])}, by {clean(row['asked'])})")
    for text in row.get("criteria", ()):
        typer.echo(f"  - {clean(text, _LONGEST)}")
    if "command" in row:
        typer.echo(f"  $ {clean(row['command'], _LONGEST)}")
    if "output" in row:
        output = json_text(row["output"], indent=2 if whole else None)
        typer.echo(f"  {output if whole else clean(output, _SHORT)}")
    else:
        typer.echo(f"  `dcf gates ls {clean(row['workflow_id'])} {clean(row['state'])}` shows the output.")
    typer.echo(f"  content sha256: {clean(row['content_sha256'], _LONGEST)}")
    typer.echo(f"  {verdict_command(row['workflow_id'], row['state'], row['name'], 'pass', row['content_sha256'])}")
