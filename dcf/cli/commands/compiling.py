"""The command `dcf compile`: prints the state machine that a flow becomes."""

from typing import Annotated

import typer

from dcf.cli.text import json_text


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(name="compile")(compile_file)


def compile_file(
    flow: Annotated[str, typer.Argument(metavar="FILE.py[:FLOW]", help="A Python file with a flow.")],
) -> None:
    """Print the workflow document that a flow becomes: Amazon States Language with JSONata, complete without the file.

    What cannot be compiled is listed, each with its line and with what to write in its place; nothing is started.

    Example:  dcf compile flow.py > flow.json
    """
    from dcf.cli.flow_files import read_flow

    typer.echo(json_text(read_flow(flow).document, indent=2))
