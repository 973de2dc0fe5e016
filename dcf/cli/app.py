"""The command `dcf`: finds the command that the arguments name, and returns an exit code for every outcome.

Only the module of that command is imported (`command_group`), and what a command works with only when it runs: `--help`
and completion import none of it. Only servers and their clients import the MCP SDK, which takes half a second.
"""

import gc
import sys
from typing import Annotated, NoReturn

import typer

from dcf.cli import beginning
from dcf.cli.command_group import CommandGroup
from dcf.cli.places.choice import name_context
from dcf.cli.processes.garbage import collect_rarely_at_start
from dcf.cli.termination import end_on_sigterm
from dcf.version import __version__

app = typer.Typer(
    name="dcf", cls=CommandGroup, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False
)


def main() -> NoReturn:
    """Run the program; this is the entry point of the console script."""
    collect_rarely_at_start()
    beginning.begin()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # an old encoding may lack a character
    end_on_sigterm()
    try:
        app()
    finally:
        gc.freeze()  # the last look for garbage, in all that is loaded, takes a tenth of a second
    sys.exit()


def _version(request: bool) -> None:
    if request:
        typer.echo(f"dcf {__version__}")
        raise typer.Exit


def _complete_context(incomplete: str) -> list[tuple[str, str]]:
    from dcf.cli.places.completion import complete_context

    return complete_context(incomplete)


def _note_context(ctx: typer.Context, name: str | None) -> None:
    """Note which place the command names; behind the command only if it does, since it may stand before it."""
    if name is not None or ctx.parent is None:
        name_context(name)


@app.callback()
def _options(
    _context: Annotated[
        str | None,
        typer.Option(
            "--context",
            metavar="NAME",
            callback=_note_context,
            is_eager=True,
            autocompletion=_complete_context,
            help="Work on this place: local, or a name of `dcf context ls`. It may also stand behind the command.",
        ),
    ] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of `dcf` itself."""
