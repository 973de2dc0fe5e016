"""Values that know the file, line and column they were written at, and a strict reader for them.

People write skills and stub tools in tables and files, so each problem is reported with its place. Reads no file
itself, and never replaces a broken value by a default silently.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, parse
from dcf.values.records import record
from dcf.values.text_pieces import clip

MAX_PROBLEMS: Final = 500
MAX_TEXT: Final = 100_000
"""Longest text in characters, unless the caller of `text` says otherwise."""

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


@record(frozen=True, slots=True)
class SourcePlace:
    """A place in a source: file, line (from 1), and column.

    `file` is the name the reader was given; `column` is a table's column, or the path of a field.
    """

    file: str
    line: int | None = None
    column: str | None = None

    def at(self, step: str | int) -> "SourcePlace":
        """Return the place of a member or element inside this place."""
        if isinstance(step, int):
            return SourcePlace(self.file, self.line, f"{self.column or ''}[{step}]")
        return SourcePlace(self.file, self.line, f"{self.column}.{step}" if self.column else step)

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        column = "" if self.column is None else f" ({_shown(self.column)})"
        return f"{_shown(self.file)}{line}{column}"


@record(frozen=True, slots=True, kw_only=True)
class SourceProblem:
    """One problem in a source: its place, a stable code, what is wrong and what to do (one sentence each)."""

    place: SourcePlace
    code: str
    message: str
    hint: str

    def as_json(self) -> dict[str, Json]:
        """Return the object that tools show: file, line, column, code, message, hint."""
        column = None if self.place.column is None else _shown(self.place.column)
        where: dict[str, Json] = {"file": _shown(self.place.file), "line": self.place.line, "column": column}
        return where | {"code": self.code, "message": self.message, "hint": self.hint}

    def __str__(self) -> str:
        return f"{self.place}: {self.code}: {self.message} {self.hint}"


@record(frozen=True, slots=True)
class Report:
    """Collects all problems and warnings of a source, so that an author can fix them in one go."""

    problems: list[SourceProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, place: SourcePlace, code: str, message: str, hint: str) -> None:
        """Add a problem, once; problems beyond MAX_PROBLEMS are dropped."""
        problem = SourceProblem(place=place, code=code, message=_shown(message), hint=_shown(hint))
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def warn(self, place: SourcePlace, message: str) -> None:
        """Add a warning, which does not keep the source from being used."""
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(f"{place}: {_shown(message)}")


Members: TypeAlias = "dict[str, Located]"


@record(frozen=True, slots=True)
class Located:
    """A value with its place. Members of an object and elements of a list are `Located` too."""

    value: Any
    place: SourcePlace

    def plain(self) -> Json:
        """Return the value as plain JSON, without places."""
        if isinstance(self.value, dict):
            return {name: part.plain() for name, part in self.value.items()}
        if isinstance(self.value, list):
            return [part.plain() for part in self.value]
        return self.value


def locate(value: Json, place: SourcePlace) -> Located:
    """Attach a place to a JSON value and, recursively, to its parts."""
    if isinstance(value, dict):
        return Located({name: locate(part, place.at(name)) for name, part in value.items()}, place)
    if isinstance(value, list):
        return Located([locate(part, place.at(at)) for at, part in enumerate(value)], place)
    return Located(value, place)


def read_json(text: str, place: SourcePlace, report: Report, *, max_bytes: int) -> Located | None:
    """Parse JSON text strictly; report a problem and return None if it is invalid."""
    try:
        return locate(parse(text, name=place.column or "The file", max_bytes=max_bytes), place)
    except InvalidArgument as error:
        report.refuse(place, "invalid_json", error.message, "Correct the JSON text.")
        return None


def _shown(text: str) -> str:
    """Make a source's text safe to print: cut when long, unprintable characters replaced by `?`."""
    short = clip(text, _LONGEST_SHOWN)
    return "".join(character if character.isprintable() else "?" for character in short)


def noun(value: object) -> str:
    """Name the type of a value for a message, as in "an object"."""
    return _NOUNS.get(type(value), "something else")


class LocatedFields:
    """Reads one object field by field. Problems go to the report, and reading continues.

    A broken field is read as a default of the right type: use what was read only if the report has no problems. Fields
    not in `known` are problems.
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
        """Return the place of a field, or of the object if the field is missing."""
        return self.members[name].place if name in self.members else self.place

    def require(self, *names: str) -> bool:
        """Report each missing field; return True if none is missing."""
        missing = [name for name in names if name not in self]
        for name in missing:
            self.report.refuse(self.place_of(name), "missing_field", f"{name} is missing.", f"Write {name}.")
        return not missing

    def text(self, name: str, default: str = "", *, longest: int = MAX_TEXT) -> str:
        """Read a text of at most `longest` characters."""
        text: str | None = self._value(name, str)
        if text is None:
            return default
        if len(text) > longest:
            message = f"{name} is longer than {longest} characters."
            self.report.refuse(self.place_of(name), "too_long", message, "Shorten it.")
        return text

    def name(self, name: str, pattern: re.Pattern[str], meaning: str) -> str:
        """Read a text that matches `pattern`; `meaning` describes the pattern in the hint."""
        text = self.text(name, longest=256)
        if name in self and isinstance(self.members[name].value, str) and not pattern.fullmatch(text):
            message = f"{name} cannot be '{clip(text)}'."
            self.report.refuse(self.members[name].place, "invalid_value", message, f"Write {meaning}.")
        return text

    def choice(self, name: str, options: Collection[str], default: str) -> str:
        """Read a text that is one of `options`."""
        text = self.text(name, default, longest=256)
        if text not in options:
            hint = f"Use one of: {', '.join(options)}."
            message = f"{name} cannot be '{clip(text)}'."
            self.report.refuse(self.place_of(name), "invalid_value", message, hint)
            return default
        return text

    def number(self, name: str, default: float, *, low: float = 0, high: float) -> float:
        """Read a number from `low` to `high`."""
        number: float | None = self._value(name, int, float)
        if number is None:
            return default
        if not low <= number <= high:
            hint = f"Write a number from {low:g} to {high:g}."
            self.report.refuse(self.place_of(name), "invalid_value", f"{name} cannot be {number}.", hint)
            return default
        return number

    def flag(self, name: str, *, default: bool) -> bool:
        """Read a boolean."""
        flag: bool | None = self._value(name, bool)
        return default if flag is None else flag

    def items(self, name: str, *, most: int = 1000) -> list[Located]:
        """Read a list of at most `most` entries; a missing one is empty."""
        items: list[Located] = self._value(name, list) or []
        if len(items) > most:
            self.report.refuse(self.place_of(name), "too_many", f"{name} has more than {most} entries.", "Write fewer.")
        return items[:most]

    def texts(self, name: str, *, longest: int = 256) -> tuple[str, ...]:
        """Read a list of texts of 1 to `longest` characters each."""
        texts = []
        for node in self.items(name):
            if not isinstance(node.value, str) or not 0 < len(node.value) <= longest:
                hint = f"Write a text of 1 to {longest} characters."
                self.report.refuse(node.place, "invalid_value", f"An entry of {name} is no such text.", hint)
                continue
            texts.append(node.value)
        return tuple(texts)

    def part(self, name: str) -> Located:
        """Read an object; a missing one is empty."""
        node = self.members.get(name)
        return Located({}, self.place) if node is None or node.value is None else node

    def pairs(self, name: str) -> Iterator[tuple[str, Located]]:
        """Read an object whose member names are free; yield names and values."""
        node = self.part(name)
        if not isinstance(node.value, dict):
            self._wrong(node, "an object")
            return
        yield from node.value.items()

    def _value(self, name: str, *kinds: type) -> Any:
        """Return the value of a field; None for a missing one, and, with a problem, for one of another type."""
        value = self.members[name].value if name in self else None
        if value is None or type(value) in kinds:
            return value
        self._wrong(self.members[name], _NOUNS[kinds[0]])
        return None

    def _wrong(self, node: Located, expected: str) -> None:
        message = f"This must be {expected}, not {noun(node.value)}."
        self.report.refuse(node.place, "wrong_type", message, f"Write {expected}.")
