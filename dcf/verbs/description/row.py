"""The rows of the table of verbs. It imports no other module, since every command reads the table.

Lists of names are one text each, and are split when they are used.
"""

from typing import NamedTuple


class CommandRow(NamedTuple):
    """A command of a verb as help lists it.

    A command of its own names its `function`, so that a process that runs it imports no more than the function needs.
    """

    verb: str
    summary: str
    function: str | None = None


class Row(NamedTuple):
    """What is known of a verb without importing it.

    `module` describes it. `on_lists` are the lists that have its tool, `needs` the arguments that must be sent. One
    `for_programs` is on no list.
    """

    module: str
    toolset: str
    scope: str
    on_lists: str
    needs: str
    for_programs: bool = False

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that have its tool."""
        return tuple(self.on_lists.split())

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments of its tool that must be sent."""
        return tuple(self.needs.split())
