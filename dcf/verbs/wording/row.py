"""How one verb is called in each interface. It must not import the engine, since the client and every command read it.

Lists of names are one text each, and are split when they are used: of the whole table a process uses a row or two.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dcf.values.json_text import Json


class CommandForm(NamedTuple):
    """A command of a verb: its words, and its arguments by their names in the tool.

    `positional` has `argument=WORD`, with the word that stands for what is not known; without one it may be left out.
    `options` has `argument=--option`; a flag with two words says both (`hold=--hold/--release`). `fixed` are arguments
    that the command does not ask for.
    """

    name: str
    positional: str
    options: str
    fixed: Mapping[str, Json]


class MethodForm(NamedTuple):
    """The method of the client: its name, its positional arguments, and `argument=name` where the tool's differs."""

    name: str
    positional: str
    renamed: str


class CallRow(NamedTuple):
    """The facts about a verb that an interface needs to word a call of it. `label` is that of the page's button."""

    arguments: str
    destroys: bool
    commands: tuple[CommandForm, ...]
    method: MethodForm | None
    label: str | None


def pairs(text: str) -> dict[str, str]:
    """Return the pairs `name=value` of a text of the table."""
    return dict(word.split("=", 1) for word in text.split())
