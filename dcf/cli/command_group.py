"""The group of the commands of `dcf`: lists them from a table, and imports the module of a command to run it.

To import and declare all commands takes a tenth of a second. A process runs one of them.
"""

from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from dcf.cli.command_table import ListedCommand, rows
from dcf.errors import DcfError
from dcf.values.json_text import Json

_MARKUP: Final = "rich"


class CommandGroup(TyperGroup):
    """The commands of the table; it prints an error of dcf as two sentences and exits with a code.

    Before it is resolved, a command has a name, a panel and a summary. Help and completion show nothing else of it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._modules = {row.name: row.module for row in rows()}
        self.commands = {row.name: _summary(row) for row in rows()}

    def invoke(self, ctx: typer.Context) -> Json:  # type: ignore[override]  # typer names the same class differently
        """Run the command named by the arguments."""
        try:
            return super().invoke(ctx)
        except DcfError as error:
            from dcf.cli import exit_codes
            from dcf.cli.reading import views

            views.print_error(error)
            raise typer.Exit(exit_codes.of_error(error)) from None

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # as above
        """Import the command that the arguments begin with, and return it, its name and the other arguments."""
        module = self._modules.get(args[0])
        if module is None:
            return super().resolve_command(ctx, args)
        return args[0], declared_by(module).commands[args[0]], args[1:]


@cache
def declared_by(module: str) -> TyperGroup:
    """Import a module of the table; return the group of the commands that it declares."""
    place = import_module(f"dcf.cli.{module}")  # nosemgrep: nothing-of-a-caller-is-executed - only modules of the table
    part = typer.Typer(rich_markup_mode=_MARKUP)
    place.mount(part)
    return get_group(part)


def _summary(row: ListedCommand) -> TyperCommand:
    return TyperCommand(row.name, help=row.summary, rich_help_panel=row.panel, rich_markup_mode=_MARKUP)
