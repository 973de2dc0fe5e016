"""The group of the commands of `dcf`: lists them from a table, and imports the module of a command to run it.

To import and declare all commands takes a tenth of a second. A process runs one of them.
"""

from copy import copy
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from dcf.cli.command_table import ListedCommand, rows_of
from dcf.cli.front_page import front_page
from dcf.errors import DcfError
from dcf.values.json_text import Json

_MARKUP: Final = "rich"


class RowGroup(TyperGroup):
    """Commands of the table. Before it is resolved, a command has a name and a summary for help.

    `noun` is the first word of these commands; the group without one has the commands of every day, and the nouns.
    """

    def __init__(self, *, noun: str = "", **options: Any) -> None:
        super().__init__(**options)
        self._noun = noun
        self._rows = {row.name: row for row in rows_of(noun)}
        self.commands = {row.name: _summary(row) for row in self._rows.values()}

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # see `invoke`
        """Import the command that the arguments begin with, and return it, its name and the other arguments."""
        row = self._rows.get(args[0])
        if row is not None:
            return args[0], _also_behind(command_of(row), _context_option(ctx)), args[1:]
        from dcf.cli.commands.moved import meant

        command = meant(self._noun, args)
        if command is not None and not ctx.resilient_parsing:
            ctx.fail(f"This command is `dcf {command}`.")
        return super().resolve_command(ctx, args)


class CommandGroup(RowGroup):
    """All commands; it prints an error of dcf as two sentences and exits with a code."""

    def invoke(self, ctx: typer.Context) -> Json:  # type: ignore[override]  # typer names the same class differently
        """Run the command named by the arguments."""
        try:
            return super().invoke(ctx)
        except DcfError as error:
            from dcf.cli import exit_codes
            from dcf.cli.reading import views

            views.print_error(error)
            raise typer.Exit(exit_codes.of_error(error)) from None

    def format_help(self, _: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # see `invoke`
        """Write the page of the program; typer's own would have a line more for each long summary, and boxes."""
        formatter.write(front_page())


def command_of(row: ListedCommand) -> Any:
    """Return the command of a row, or the group of a noun. A command that serves has no answer options."""
    if row.is_noun:
        return RowGroup(name=row.name, noun=row.name, help=row.summary, no_args_is_help=True, rich_markup_mode=_MARKUP)
    if row.serves:
        return _declared(row)
    from dcf.cli.commands.answer_options import with_answer_options

    return with_answer_options(_declared(row), row)


def _declared(row: ListedCommand) -> Any:
    """Return a command as it is declared: by a function, or by the description of a verb."""
    if row.function is not None:
        from dcf.cli.command_table import declared, named

        return declared(row.name, named(row.function))
    assert row.verb is not None, f"{row.name} has a function or a verb"
    from dcf.cli.commands.derived import command_of_verb

    return command_of_verb(row.verb, row.full_name)


def _also_behind(command: Any, option: Any) -> Any:
    """Let an option of `dcf` stand behind a command too: there it is added to a command that was typed before."""
    if all(known.name != option.name for known in command.params):
        command.params.append(option)
    return command


def _context_option(ctx: typer.Context) -> Any:
    """Return `--context` of `dcf` for use after a command's name: not shown, and not passed to the command."""
    option: Any = copy(next(option for option in ctx.find_root().command.params if "--context" in option.opts))
    option.hidden, option.expose_value = True, False
    return option


def _summary(row: ListedCommand) -> TyperCommand:
    return TyperCommand(row.name, help=row.summary, rich_markup_mode=_MARKUP)
