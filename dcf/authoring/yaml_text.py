"""Parses YAML strictly, with the line of every value.

Values are built here from PyYAML's node tree. So no tag can create a Python object, duplicate keys are refused, and a
few aliases cannot expand to gigabytes. Only JSON's types are known: `yes`, `no`, `on` and dates stay texts.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, Final, TypeVar

import yaml

from dcf.values.json_text import MAX_DEPTH, Json, dump
from dcf.values.located import Located, Report, SourcePlace

MAX_YAML: Final = 256 * 1024
"""Largest file in bytes; PyYAML's scanner takes about a second for it."""

MAX_VALUES: Final = 50_000
"""Most values of one document; an alias counts each time it is used."""

_LONGEST_NUMBER: Final = 18
_Item = TypeVar("_Item")
_SCALARS: Final[Mapping[str, Callable[[str], Json]]] = {
    "tag:yaml.org,2002:null": lambda _: None,
    "tag:yaml.org,2002:bool": lambda text: text.lower() == "true",
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:str": str,
}


class _Loader(yaml.SafeLoader):
    """PyYAML's scanner and parser with JSON's rules for scalars."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}  # type: ignore[misc]


for _tag, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_form})\Z"), _first)


class _NotYaml(Exception):
    """The document is valid YAML that dcf does not accept."""

    def __init__(self, node: yaml.Node, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.node = node
        self.code = code
        self.message = message
        self.hint = hint


def read_yaml(text: str, file: str, report: Report, *, first_line: int = 1) -> Located | None:
    """Parse one document; None, and a reported problem, if invalid. `first_line` is its first line in the file."""
    if len(text.encode()) > MAX_YAML:
        message = f"The YAML text is larger than {MAX_YAML} bytes."
        report.refuse(SourcePlace(file, first_line), "file_too_large", message, "Divide it into several files.")
        return None
    try:
        node = _compose(text)
        if node is None:
            report.refuse(
                SourcePlace(file, first_line), "empty_file", "The file holds nothing.", "Write a document or remove it."
            )
            return None
        return _YamlReading(file, first_line).located(node, "", 1)
    except _NotYaml as error:
        place = SourcePlace(file, first_line + error.node.start_mark.line)
        report.refuse(place, error.code, error.message, error.hint)
    except RecursionError:
        report.refuse(
            SourcePlace(file), "too_deep", f"It is nested deeper than {MAX_DEPTH} levels.", "Make it flatter."
        )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else first_line + mark.line
        hint = "Check indentation, quotes and colons around there; one document per file."
        report.refuse(SourcePlace(file, line), "invalid_yaml", "This is not valid YAML.", hint)
    except ValueError:
        report.refuse(
            SourcePlace(file), "invalid_yaml", "The YAML holds a value that cannot be read.", "Put it into quotes."
        )
    return None


def aligned_json(text: str) -> str:
    """Return a document that `read_yaml` accepts as JSON text, in which each key and scalar keeps its place."""
    lines = _Lines()
    node = _compose(text)
    if node is not None:
        lines.write(node)
    return "".join(lines.parts)


def _compose(text: str) -> yaml.Node | None:
    """Return the tree of nodes of one document, None for an empty one; raise YAMLError for what is not YAML."""
    return yaml.compose(text, Loader=_Loader)


class _YamlReading:
    """Converts the nodes of one document to values, and counts them."""

    def __init__(self, file: str, first_line: int) -> None:
        self._file = file
        self._first_line = first_line
        self._count = 0

    def located(self, node: yaml.Node, column: str, depth: int) -> Located:
        """Convert a node to a value."""
        self._count += 1
        if self._count > MAX_VALUES:
            hint = "Write fewer aliases, or divide the file."
            raise _NotYaml(node, "too_many_values", f"The document has more than {MAX_VALUES} values.", hint)
        if depth > MAX_DEPTH:
            raise _NotYaml(node, "too_deep", f"It is nested deeper than {MAX_DEPTH} levels.", "Make it flatter.")
        place = SourcePlace(self._file, self._first_line + node.start_mark.line, column or None)
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return Located(self._members(node, place, depth), place)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            items = [self.located(item, place.at(at).column or "", depth + 1) for at, item in enumerate(node.value)]
            return Located(items, place)
        return Located(_scalar(node), place)

    def _members(self, node: yaml.MappingNode, place: SourcePlace, depth: int) -> dict[str, Located]:
        members: dict[str, Located] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise _NotYaml(key, "invalid_key", "A key must be a text.", "Put it into quotes.")
            if key.value == "<<":
                raise _NotYaml(key, "merge_key", "Merge keys (<<) are not read.", "Write the fields out.")
            if key.value in members:
                hint = "Keep one of them."
                raise _NotYaml(key, "duplicate_key", f"The key '{key.value[:80]}' is written twice.", hint)
            members[key.value] = self.located(value, place.at(key.value).column or "", depth + 1)
        return members


def _scalar(node: yaml.Node) -> Json:
    """Return the value of a scalar node; raise if JSON has no such value."""
    read = _SCALARS.get(node.tag)
    if not isinstance(node, yaml.ScalarNode) or read is None:
        raise _NotYaml(node, "tag_refused", f"The tag {node.tag[:80]} is not read.", "Write plain values.")
    if read in {int, float} and len(node.value) > _LONGEST_NUMBER:
        raise _NotYaml(node, "invalid_value", "The number is too long.", "Put it into quotes.")
    value = read(node.value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotYaml(node, "invalid_value", "The number is too large.", "Put it into quotes.")
    return value


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
            self._put(dump(_scalar(node)))

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
