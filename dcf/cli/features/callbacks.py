"""Reads the task token of the commands `dcf task`, and shows what they answer."""

import sys
from collections.abc import Mapping
from typing import Final

import typer

from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.values.json_text import Json

_STDIN: Final = "-"


def read_token(call: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the arguments with the token, which may come from standard input."""
    written = call["task_token"]
    return {**call, "task_token": sys.stdin.read().strip() if written == _STDIN else written}


def show_task(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say how the state of a token stands."""
    again = ", by an earlier call with this token" if answer["repeated"] else ""
    about = f"{clean(answer['state'])} of {clean(answer['workflow_id'])} is {answer['state_status']}{again}."
    typer.echo(f"{about} {in_commands(clean(answer['hint']), known=call)}")
