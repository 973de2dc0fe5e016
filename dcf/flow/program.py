"""The facts of a whole compilation: names of states and variables, the place of each state, and its agent."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from dcf.asl.jsonata.writing import FUNCTIONS
from dcf.flow.refusals import Complaint, FollowsRefusal, Place, Refusal, complaint_of, place_of
from dcf.flow.source import Source
from dcf.steps.vocabulary import Task

_LONGEST_NAME: Final = 70


@dataclass(slots=True)
class Program:
    """The document that is being written. State names are unique over all of its machines.

    `places` has the place of each state, `functions` the task of each state that calls one. `is_timed`:
    the run has a timeout, which bounds its loops too. `refusals`: how often something was refused.
    """

    is_timed: bool
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    functions: dict[str, Task[..., Any]] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    active: list[Callable[..., Any]] = field(default_factory=list)
    scopes: int = 0
    refusals: int = 0
    _variables: dict[str, tuple[int, str]] = field(default_factory=dict)

    def state_name(self, base: str, node: ast.AST, source: Source) -> str:
        """Return a name that no other state has, and remember its place."""
        text = " ".join(base.replace("/", "÷").split()) or "state"
        text = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
        name, number = text, 2
        while name in self.places:
            name, number = f"{text} {number}", number + 1
        self.places[name] = place_of(node, source.file)
        return name

    def variable(self, name: str, scope: int) -> str:
        """Return the variable in ASL of a name of a scope: no two names share one, and none hides a function."""
        text = f"{name}_" if name in FUNCTIONS else name
        variable, number = text, 2
        while self._variables.get(variable, (scope, name)) != (scope, name):
            variable, number = f"{text}_{number}", number + 1
        self._variables[variable] = (scope, name)
        return variable

    def refuse(self, refusal: Refusal, source: Source) -> None:
        """Remember a refusal; the rest of the flow is read all the same, so that all complaints come at once."""
        self.refusals += 1
        complaint = complaint_of(refusal, source.file, source.lines)
        if not isinstance(refusal, FollowsRefusal) and complaint not in self.complaints:
            self.complaints.append(complaint)
