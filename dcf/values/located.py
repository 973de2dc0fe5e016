"""Values that know where they were written, and reading them strictly.

Skills and stub tools are written by people, in tables and files; what is wrong with one is told with the file, the
line and the column. Nothing here reads a file, and nothing falls back to a default because a value is broken.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, parse
from dcf.values.text_pieces import clip

MAX_PROBLEMS: Final = 500
MAX_TEXT: Final = 100_000
"""Characters of one text, unless its reader says otherwise."""

_LONGEST_SHOWN: Final = 400
_NOUNS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where something stands. `file` as its reader was told; `column` is a table's column, or the path of a field."""

    file: str
    line: int | None = None
    column: str | None = None

    def at(self, step: str | int) -> "SourcePlace":
        """Name a part of what stands here."""
        if isinstance(step, int):
            return SourcePlace(self.file, self.line, f"{self.column or ''}[{step}]")
        return SourcePlace(self.file, self.line, f"{self.column}.{step}" if self.column else step)

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        column = "" if self.column is None else f" ({_shown(self.column)})"
        return f"{_shown(self.file)}{line}{column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProblem:
    """One thing wrong with a source: where, a stable code, what, and what to do, one sentence each."""

    place: SourcePlace
    code: str
    message: str
    hint: str

    def as_json(self) -> dict[str, Json]:
        """Make the object that answers show."""
        column = None if self.place.column is None else _shown(self.place.column)
        where: dict[str, Json] = {"file": _shown(self.place.file), "line": self.place.line, "column": column}
        return where | {"code": self.code, "message": self.message, "hint": self.hint}

    def __str__(self) -> str:
        return f"{self.place}: {self.code}: {self.message} {self.hint}"


@dataclass(frozen=True, slots=True)
class Report:
    """Collects everything that is wrong, so that one look finds it all."""

    problems: list[SourceProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, place: SourcePlace, code: str, message: str, hint: str) -> None:
        """Record a problem, once; beyond a bound they are not kept."""
        problem = SourceProblem(place=place, code=code, message=_shown(message), hint=_shown(hint))
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def warn(self, place: SourcePlace, message: str) -> None:
        """Record a doubt; what is written may be used all the same."""
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(f"{place}: {_shown(message)}")


Members: TypeAlias = "dict[str, Located]"


@dataclass(frozen=True, slots=True)
class Located:
    """A value and its place; the parts of an object or a list have places of their own."""

    value: Any
    place: SourcePlace

    def plain(self) -> Json:
        """Return the value as JSON."""
        if isinstance(self.value, dict):
            return {name: part.plain() for name, part in self.value.items()}
        if isinstance(self.value, list):
            return [part.plain() for part in self.value]
        return self.value


def locate(value: Json, place: SourcePlace) -> Located:
    """Give a JSON value a place, and its parts the paths from there."""
    if isinstance(value, dict):
        return Located({name: locate(part, place.at(name)) for name, part in value.items()}, place)
    if isinstance(value, list):
        return Located([locate(part, place.at(at)) for at, part in enumerate(value)], place)
    return Located(value, place)


def read_json(text: str, place: SourcePlace, report: Report, *, max_bytes: int) -> Located | None:
    """Read JSON text strictly; None, and a problem, when it is none."""
    try:
        return locate(parse(text, name=place.column or "The file", max_bytes=max_bytes), place)
    except InvalidArgument as error:
        report.refuse(place, "invalid_json", error.message, "Correct the JSON text.")
        return None


def _shown(text: str) -> str:
    """Make text of a source harmless for whoever reads it, and cut it where it gets long."""
    short = clip(text, _LONGEST_SHOWN)
    return "".join(character if character.isprintable() else "?" for character in short)


def noun(value: object) -> str:
    """Say what kind of value it is."""
    return _NOUNS.get(type(value), "something else")


class LocatedFields:
    """One object, read field by field; what is wrong goes to the report, and reading goes on.

    The answers have the right type even then: whoever uses them looks at the report first.
    """

    def __init__(self, node: Located, report: Report, known: Collection[str]) -> None:
        self.place = node.place
        self.report = report
        self.members: Members = node.value if isinstance(node.value, dict) else {}
        if not isinstance(node.value, dict):
            self._wrong(node, "an object")
        for name in self.members.keys() - set(known):
            hint = f"Remove it or correct its spelling; known here: {', '.join(sorted(known))}."
            report.refuse(self.members[name].place, "unknown_field", f"There is no field '{clip(name)}' here.", hint)

    def __contains__(self, name: str) -> bool:
        return name in self.members and self.members[name].value is not None

    def place_of(self, name: str) -> SourcePlace:
        """Tell where the field stands, or the object where it is missing."""
        return self.members[name].place if name in self.members else self.place

    def require(self, *names: str) -> bool:
        """Report each of these that is missing; tell whether all are there."""
        missing = [name for name in names if name not in self]
        for name in missing:
            self.report.refuse(self.place_of(name), "missing_field", f"{name} is missing.", f"Write {name}.")
        return not missing

    def text(self, name: str, default: str = "", *, longest: int = MAX_TEXT) -> str:
        """Read a text."""
        node = self.members.get(name)
        if node is None or node.value is None:
            return default
        if not isinstance(node.value, str):
            self._wrong(node, "a text")
            return default
        if len(node.value) > longest:
            message = f"{name} is longer than {longest} characters."
            self.report.refuse(node.place, "too_long", message, "Shorten it.")
        return node.value

    def name(self, name: str, pattern: re.Pattern[str], meaning: str) -> str:
        """Read a text that must have a form; `meaning` says which."""
        found = self.text(name, longest=256)
        if name in self and isinstance(self.members[name].value, str) and not pattern.fullmatch(found):
            message = f"{name} cannot be '{clip(found)}'."
            self.report.refuse(self.members[name].place, "invalid_value", message, f"Write {meaning}.")
        return found

    def choice(self, name: str, options: Collection[str], default: str) -> str:
        """Read one of a few words."""
        found = self.text(name, default, longest=256)
        if found not in options:
            hint = f"Use one of: {', '.join(options)}."
            message = f"{name} cannot be '{clip(found)}'."
            self.report.refuse(self.place_of(name), "invalid_value", message, hint)
            return default
        return found

    def number(self, name: str, default: float, *, low: float = 0, high: float) -> float:
        """Read a number between two bounds."""
        node = self.members.get(name)
        if node is None or node.value is None:
            return default
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            self._wrong(node, "a number")
            return default
        if not low <= node.value <= high:
            hint = f"Write a number from {low:g} to {high:g}."
            self.report.refuse(node.place, "invalid_value", f"{name} cannot be {node.value}.", hint)
            return default
        return node.value

    def flag(self, name: str, *, default: bool) -> bool:
        """Read true or false."""
        node = self.members.get(name)
        if node is None or node.value is None:
            return default
        if not isinstance(node.value, bool):
            self._wrong(node, "true or false")
            return default
        return node.value

    def items(self, name: str, *, most: int = 1000) -> list[Located]:
        """Read a list; empty where there is none."""
        node = self.members.get(name)
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            self._wrong(node, "a list")
            return []
        if len(node.value) > most:
            self.report.refuse(node.place, "too_many", f"{name} has more than {most} entries.", "Write fewer.")
        return node.value[:most]

    def texts(self, name: str, *, longest: int = 256) -> tuple[str, ...]:
        """Read a list of texts."""
        found = []
        for node in self.items(name):
            if not isinstance(node.value, str) or not 0 < len(node.value) <= longest:
                hint = f"Write a text of 1 to {longest} characters."
                self.report.refuse(node.place, "invalid_value", f"An entry of {name} is no such text.", hint)
                continue
            found.append(node.value)
        return tuple(found)

    def part(self, name: str) -> Located:
        """Read an object; an empty one where there is none."""
        node = self.members.get(name)
        return Located({}, self.place) if node is None or node.value is None else node

    def pairs(self, name: str) -> Iterator[tuple[str, Located]]:
        """Read the members of an object whose names are not fixed."""
        node = self.part(name)
        if not isinstance(node.value, dict):
            self._wrong(node, "an object")
            return
        yield from node.value.items()

    def _wrong(self, node: Located, wanted: str) -> None:
        message = f"This must be {wanted}, not {noun(node.value)}."
        self.report.refuse(node.place, "wrong_type", message, f"Write {wanted}.")
