"""One row of the table of verbs. Loads nothing, since every command reads the table."""

from typing import NamedTuple


class CommandRow(NamedTuple):
    """The command of a verb as help lists it.

    A command of its own names its `function`, so that a process that runs it imports no more than the function needs.
    """

    name: str
    summary: str
    function: str | None = None


class Row(NamedTuple):
    """What is known of a verb without importing it.

    `module` describes it. `required` are the arguments of its tool that must be sent. `also` are its further commands.
    One `for_programs` is on no list.
    """

    module: str
    toolset: str
    scope: str
    lists: tuple[str, ...]
    required: tuple[str, ...]
    command: CommandRow | None
    also: tuple[CommandRow, ...] = ()
    for_programs: bool = False
