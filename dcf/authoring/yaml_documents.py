"""Turns a workflow written in YAML into JSON text in which each key stays at its line and column.

So every reader of documents, and every message with a line, works for both. It reads no file and follows no tag.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import yaml

from dcf.authoring.yaml_text import MAX_YAML, compose, read_yaml, scalar
from dcf.errors import InvalidArgument
from dcf.values.json_text import dump
from dcf.values.located import Report

_Item = TypeVar("_Item")


def json_of_yaml(text: str, name: str) -> str:
    """Return the document as JSON text with the lines of the YAML; raise InvalidArgument for YAML that is not read."""
    if len(text.encode()) > MAX_YAML:
        raise InvalidArgument(f"{name} has more than {MAX_YAML} bytes of YAML.", "Write the document as JSON.")
    report = Report()
    if read_yaml(text, name, report) is None:
        problem = report.problems[0]
        raise InvalidArgument(f"{problem.place}: {problem.message}", problem.hint)
    lines = _Lines()
    node = compose(text)
    if node is not None:
        lines.write(node)
    return "".join(lines.parts)


class _Lines:
    """Writes tokens of JSON no further left or above than their places in the YAML."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._line = 0
        self._column = 0

    def write(self, node: yaml.Node) -> None:
        """Write a value; the places of brackets and commas are free."""
        if isinstance(node, yaml.MappingNode):
            self._put("{")
            for comma, (key, value) in _with_commas(node.value):
                self._put(comma)
                self._move(key.start_mark)
                self._put(f"{dump(key.value)}:")
                self.write(value)
            self._put("}")
        elif isinstance(node, yaml.SequenceNode):
            self._put("[")
            for comma, value in _with_commas(node.value):
                self._put(comma)
                self.write(value)
            self._put("]")
        else:
            self._move(node.start_mark)
            self._put(dump(scalar(node)))

    def _move(self, mark: yaml.Mark) -> None:
        if self._line < mark.line:
            self.parts.append("\n" * (mark.line - self._line))
            self._line, self._column = mark.line, 0
        if self._line == mark.line and self._column < mark.column:
            self._put(" " * (mark.column - self._column))

    def _put(self, token: str) -> None:
        self.parts.append(token)
        self._column += len(token)


def _with_commas(items: Iterable[_Item]) -> Iterator[tuple[str, _Item]]:
    for at, item in enumerate(items):
        yield "," if at else "", item
