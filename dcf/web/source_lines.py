"""A JSON document as numbered lines, with the problems of its validation at the lines that they are about. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from dcf.asl.syntax.fields import token
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.records import record, replace

MOST_LINES: Final = 1_500
"""Number of lines that are shown from the beginning; after them only those around problems."""
_AROUND: Final = 3
_LONGEST_PATH: Final = 1_000
"""What is deeper, or below longer names, has no place of its own: many values below one long name would need
gigabytes otherwise. Its problems are at what is around it."""
_LINE: Final = re.compile(r"\bline ([0-9]{1,9})\b")

Problem = Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line; `path` is the JSON Pointer of the value that begins in it, None where none does."""

    number: int
    text: str
    path: str | None = None
    problems: tuple[Problem, ...] = ()


def lines_of(document: Json) -> list[SourceLine]:
    """Return a document as it is written with two spaces for each level."""
    return [
        SourceLine(number=number, text=text, path=path)
        for number, (text, path) in enumerate(_written(document, "", "", ""), 1)
    ]


def lines_of_text(text: str) -> list[SourceLine]:
    """Return a text that is no JSON, as it is."""
    return [SourceLine(number=number, text=line) for number, line in enumerate(text.splitlines(), 1)]


def marked(lines: Sequence[SourceLine], problems: Iterable[Problem]) -> list[SourceLine]:
    """Return the lines with their problems: at the value that each is about, or at the innermost one around it."""
    of_path: dict[str, int] = {}
    for index, line in enumerate(lines):
        if line.path is not None:
            of_path.setdefault(_as_in_problems(line.path), index)
    problems_by_line: dict[int, list[Problem]] = {}
    for problem in problems:
        problems_by_line.setdefault(_place(problem, of_path, len(lines)), []).append(problem)
    return [
        replace(line, problems=tuple(problems_by_line[index])) if index in problems_by_line else line
        for index, line in enumerate(lines)
    ]


def worth_showing(lines: Sequence[SourceLine]) -> list[SourceLine]:
    """Return the lines that a page shows: of a long document its beginning, and what is around problems."""
    near = {
        index + offset for index, line in enumerate(lines) if line.problems for offset in range(-_AROUND, _AROUND + 1)
    }
    return [line for index, line in enumerate(lines) if index < MOST_LINES or index in near]


def _place(problem: Problem, of_path: Mapping[str, int], count: int) -> int:
    path = str(problem["path"])
    if not of_path:
        match = _LINE.search(str(problem["message"]))
        return min(int(match[1]), max(count, 1)) - 1 if match else 0
    while path not in of_path and path:
        path = path.rpartition("/")[0]
    return of_path.get(path, 0)


def _as_in_problems(path: str) -> str:
    """Return a path as problems write it."""
    return path if path.isascii() and path.isprintable() else escaped(path, _LONGEST_PATH)


def _below(path: str | None, step: str | int) -> str | None:
    """Return the path of a member; None if it is too long, as for all that is inside it."""
    if path is None or len(path) + len(step if isinstance(step, str) else "") > _LONGEST_PATH:
        return None
    return f"{path}/{token(str(step))}"


def _written(value: Json, here: str | None, lead: str, label: str) -> Iterator[tuple[str, str | None]]:
    """Yield the lines of a value, each with the path of what begins in it; `here` is that of the value."""
    if not isinstance(value, dict | list) or not value:
        yield f"{lead}{label}{json.dumps(value, ensure_ascii=False, allow_nan=False)}", here
        return
    is_object = isinstance(value, dict)
    yield f"{lead}{label}{'{' if is_object else '['}", here
    members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for number, (name, inner) in enumerate(members, 1):
        name_shown = f"{json.dumps(name, ensure_ascii=False, allow_nan=False)}: " if is_object else ""
        comma = "," if number < len(members) else ""
        last: tuple[str, str | None] | None = None
        for line in _written(inner, _below(here, name), f"{lead}  ", name_shown):
            if last is not None:
                yield last
            last = line
        if last is not None:
            yield f"{last[0]}{comma}", last[1]
    yield f"{lead}{'}' if is_object else ']'}", None
