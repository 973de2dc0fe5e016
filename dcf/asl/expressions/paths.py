"""Paths: read the value at a path, and write a value without changing the original document.

Documents are shared, never copied whole, so nothing here may change one in place.
"""

from dataclasses import field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from dcf.asl.expressions.path_syntax import PathStep, scan
from dcf.asl.expressions.risks import Unmarked
from dcf.asl.expressions.searches import Search, parse_search
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip


class _Absent:
    """The type of MISSING: JSON null is a value, so None cannot mean "no value"."""


MISSING: Final = _Absent()


@record(frozen=True, slots=True, kw_only=True)
class Path:
    """A compiled path over the input, the context object or a variable.

    `plain` means that a result may be written there. With a `search` the path returns an array of all matches.
    `in_document`: it starts at the input, not at the context object or a variable. `is_root`: it is `$`, all of it.
    """

    text: str
    in_context: bool
    variable: str | None
    steps: tuple[PathStep, ...]
    plain: bool
    search: Search | None
    in_document: bool = field(init=False, repr=False)
    is_root: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        in_document = not self.in_context and self.variable is None
        object.__setattr__(self, "in_document", in_document)
        object.__setattr__(self, "is_root", not self.steps and in_document and self.search is None)

    def find(self, document: Json, around: Surroundings) -> Json:
        """Return the value at the path; MISSING when there is none."""
        if self.search is not None and not around.may_risk:
            raise Unmarked
        node = self._start(document, around)
        for step in self.steps:
            node = _child(node, step)
            if node is MISSING:
                break
        if self.search is None:
            return node
        return [] if node is MISSING else self.search.find(node, around.spending)

    def read(self, document: Json, around: Surroundings) -> Json:
        """Return the value at the path; raise StateError States.Runtime when there is none."""
        value = self.find(document, around)
        if value is MISSING:
            where = "context object" if self.in_context else "variables" if self.variable else "input"
            raise StateError("States.Runtime", f"The JSONPath '{self.text}' could not be found in the {where}.")
        return value

    def render(self, document: Json, around: Surroundings) -> Json:
        """Return the value at the path, as a template."""
        return self.read(document, around)

    def write(self, document: Json, value: Json) -> Json:
        """Return a copy of the document with the value at this path; only the containers on the way are copied.

        Missing objects on the way are created, arrays never. An index may be one past the last element.
        """
        if not self.in_document:
            raise StateError("States.ResultPathMatchFailure", f"'{self.text}' is not in the state's input: read only.")
        if not self.steps:
            return value
        top = node = self._copy(document, self.steps[0])
        for step, following in pairwise(self.steps):
            child = _child(node, step)
            child = self._copy({} if child is MISSING else child, following)
            self._place(node, step, child)
            node = child
        self._place(node, self.steps[-1], value)
        return top

    def _start(self, document: Json, around: Surroundings) -> Json:
        if self.variable is not None:
            return around.variables.get(self.variable, MISSING)
        return dict(around.context) if self.in_context else document

    def _copy(self, container: Json, step: PathStep) -> Json:
        container_type = dict if isinstance(step, str) else list
        if not isinstance(container, container_type):
            raise self._mismatch(f"'{step}' needs an {'object' if container_type is dict else 'array'} there")
        return container_type(container)

    def _place(self, container: Json, step: PathStep, value: Json) -> None:
        if isinstance(step, str) or -len(container) <= step < len(container):
            container[step] = value
        elif step == len(container):
            container.append(value)
        else:
            raise self._mismatch(f"the array has only {len(container)} elements")

    def _mismatch(self, reason: str) -> StateError:
        return StateError(
            "States.ResultPathMatchFailure",
            f"The ResultPath '{self.text}' does not fit the state's input: {reason}.",
        )


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path:
    """Compile a path; raise ValueError with the reason when it is invalid."""
    in_context, variable, steps, plain, rest = scan(text)
    try:
        search = parse_search(rest) if rest else None
    except ValueError as error:
        raise ValueError(f"'{clip(text)}': {error}") from None
    return Path(text=text, in_context=in_context, variable=variable, steps=steps, plain=plain, search=search)


ROOT: Final = parse_path("$")


def _child(node: Json, step: PathStep) -> Json:
    if isinstance(step, str):
        return node.get(step, MISSING) if isinstance(node, dict) else MISSING
    if isinstance(node, list) and -len(node) <= step < len(node):
        return node[step]
    return MISSING
