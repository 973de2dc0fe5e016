"""The options of every command with an answer: its format, and --watch if the answer changes over time.

They are added when a command is named, and no command declares them.
"""

from collections.abc import Callable
from copy import copy
from functools import cache, wraps
from typing import Annotated, Any, Final

import typer

from dcf.cli.command_table import ListedCommand, declared
from dcf.cli.commands.formats import Chosen, Format, choose, is_for_programs

_FORMAT: Final = "-o"
_JSON: Final = "as_json"
_WATCH: Final = "watch"
_HELP: Final = "How to print the answer; name: only the names of what it is about, one on a line. Default: table."


def with_answer_options(command: Any, row: ListedCommand) -> Any:
    """Add the options to a command, before --json."""
    names = [item.name for item in command.params]
    if all(_FORMAT not in item.opts for item in command.params):
        command.params.insert(names.index(_JSON), _option(_FORMAT, _chosen(row.ids)))
        command.params[names.index(_JSON) + 1].callback = _with_json
    if row.is_watched and _WATCH not in names:
        command.params.insert(names.index(_JSON), _option("--watch"))
        command.callback = _watching(command.callback)
    return command


def _chosen(ids: tuple[str, ...]) -> Callable[..., None]:
    return lambda ctx, parameter, value: choose(Chosen(value, ids))  # noqa: ARG005 - the names that click gives


def _with_json(_: Any, __: Any, value: bool) -> bool:
    return is_for_programs(as_json=value)


def _watching(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command that with --watch prints its answer again whenever that has changed."""

    @wraps(function)
    def run(*, watch: bool, **values: Any) -> Any:
        if not watch:
            return function(**values)
        from dcf.cli.reading.watching import print_changes

        return print_changes(lambda: function(**values))

    return run


@cache
def _declared() -> dict[str, Any]:
    def options(
        _form: Annotated[Format | None, typer.Option(_FORMAT, "--format", is_eager=True, help=_HELP)] = None,
        watch: Annotated[
            bool, typer.Option("--watch", help="Print it again when it has changed, until Ctrl-C.")
        ] = False,
    ) -> None: ...

    return {item.opts[0]: item for item in declared("options", options, "Options.").params}


def _option(name: str, callback: Callable[..., None] | None = None) -> Any:
    option = copy(_declared()[name])
    if callback is not None:
        option.callback, option.expose_value = callback, False
    return option
