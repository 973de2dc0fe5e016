"""Ends of states that are still open, and what gathers them: except clauses, loops, finally clauses. Pure."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from dcf.asl.jsonata.writing import expression
from dcf.values.json_text import Json

Way: TypeAlias = Callable[[str], None]
"""An end that is still open: it is called with the name of the state that follows."""

EVERYTHING: Final = ("States.ALL",)


def into(holder: dict[str, Any], key: str = "Next") -> Way:
    """Return the open end of a state or rule."""

    def lead(name: str) -> None:
        holder[key] = name

    return lead


@dataclass(slots=True, eq=False)
class Handler:
    """An except clause: the names of the errors that it takes, its variable, and the ends that lead to it."""

    errors: tuple[str, ...]
    variable: str | None
    rules: list[dict[str, Json]] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)

    @property
    def takes_everything(self) -> bool:
        """True for `except Exception`."""
        return self.errors == EVERYTHING

    def remember(self, variable: str) -> None:
        """Keep the error in a variable from now on, also where it was caught before."""
        self.variable = variable
        for rule in self.rules:
            rule["Assign"] = {variable: expression("$states.errorOutput")}


@dataclass(slots=True)
class Loop:
    """A loop around the statement that is written; `depth` counts the finally clauses around the loop."""

    depth: int
    breaks: list[Way] = field(default_factory=list)
    continues: list[Way] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Cleanup:
    """A finally clause: what must be done before its try is left, and how many handlers are around it."""

    statements: list[ast.stmt]
    handlers: int
