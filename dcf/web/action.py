"""One action of the page: what a form may say of a tool, and how it is confirmed. Knows no tool and no HTTP."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from dcf.core.access.model import Scope
from dcf.values.records import record

Kind: TypeAlias = Literal["line", "text", "json", "flag", "number", "list"]
"""How an argument is written into a form: a line, a text, JSON, a box to tick, a whole number.

A `list` is JSON too, for a tool that takes no JSON text.
"""


@record(frozen=True, slots=True, kw_only=True)
class Given:
    """An argument that a form may give. `label`: a person fills it in when they confirm; None: the page gives it."""

    name: str
    label: str | None = None
    kind: Kind = "line"
    needed: bool = False
    ticked: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool as an action of the page: what it is called, and what will happen, as a person is asked to confirm it.

    `scopes`: the caller needs one of these besides the tool's own. `always`: arguments that no form can change.
    `is_repeatable`: the tool takes a request_id, and so recognises a call that is made twice. `then`: where to go after
    it: back, to the run that it made, or to the list of runs.
    """

    title: str
    effect: str
    given: tuple[Given, ...]
    scopes: frozenset[Scope] = frozenset()
    always: Mapping[str, bool] = field(default_factory=dict)
    is_repeatable: bool = True
    then: Literal["back", "run", "runs"] = "back"
    is_grave: bool = False

    def of(self, name: str) -> Given | None:
        """Return what a form may say about this argument; None if nothing."""
        return next((argument for argument in self.given if argument.name == name), None)
