"""Shows what `dcf runs signal` answers."""

from collections.abc import Mapping

import typer

from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.values.json_text import Json


def show_sent(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say whether a signal ended a state or is kept."""
    name, again = clean(call["name"]), BEFORE if answer["repeated"] else ""
    if answer["kept"]:
        typer.echo(f"{name} is kept{again}. {in_commands(clean(answer['hint']), known=call)}")
    else:
        typer.echo(f"{name} ended {clean(answer['state'])} of {clean(call['workflow_id'])}{again}.")
