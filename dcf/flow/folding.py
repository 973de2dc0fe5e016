"""The state that alone leads to what is written next: it takes over assignments, and the end, where that is the same.

The fields Assign and Output of a state are worked out at once, from the values before it and from its result. An
expression that may fail is not folded into a state with Catch or Retry: the state would catch it, or work once more.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from dcf.asl.jsonata.writing import expression, literal
from dcf.flow.jsonata_code import Code, template

RESULT: Final = "$states.result"
"""The output of what a state does, which is also that of the state unless it has a field Output."""


@dataclass(slots=True, eq=False)
class Last:
    """A state, and what it assigns: by name the variable, and the code in terms of the values before the state.

    `results` are the names of its result, `spare` is one of them that nothing but the statement may need. A Pass has
    no result.
    """

    state: dict[str, Any]
    assigned: dict[str, tuple[str, Code]]
    results: set[str] = field(default_factory=set)
    spare: str = ""

    @property
    def codes(self) -> dict[str, Code]:
        """The code of each name that is a result."""
        return {name: self.assigned[name][1] for name in self.results}

    def takes(self, code: Code, name: str = "") -> bool:
        """Return True if the state may work this out itself, and assign it to the name."""
        is_guarded = "Catch" in self.state or "Retry" in self.state
        drops_failure = name in self.assigned and self.assigned[name][1].is_risky
        if drops_failure or (is_guarded and code.is_risky):
            return False
        return not _mentions(template(code), (variable for variable, _ in self.assigned.values()))

    def set(self, name: str, variable: str, code: Code, value: Any) -> None:
        """Assign a value to a name in this state."""
        self.state.setdefault("Assign", {})[variable] = value
        is_result = any(code.text == result.text for result in self.codes.values())
        self.assigned[name] = (variable, code)
        (self.results.add if is_result else self.results.discard)(name)

    def keep_spare(self) -> None:
        """Assign the result that only the statement needs: another state will read it."""
        if self.spare:
            variable, code = self.assigned[self.spare]
            self.state.setdefault("Assign", {})[variable] = template(code)

    def end(self, output: Any) -> None:
        """End the machine with this output; what is assigned needs to be worked out only where it may fail."""
        self.state["End"] = True
        if output != expression(RESULT):
            self.state["Output"] = output
        risky = {variable for variable, code in self.assigned.values() if code.is_risky}
        assigns = {name: value for name, value in self.state.pop("Assign", {}).items() if name in risky}
        if assigns:
            self.state["Assign"] = assigns


def _mentions(value: Any, variables: Iterable[str]) -> bool:
    text = literal(value)
    return any(re.search(rf"\${re.escape(variable)}\b", text) for variable in variables)
