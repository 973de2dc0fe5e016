"""Refusals of the compiler: the place of the code, the reason, and the code to write instead."""

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.records import record

IN_A_TASK: Final = "Do it in a @task function."


@record(frozen=True, slots=True)
class Place:
    """A place in a file of Python; lines and columns begin at 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}:{self.column}"


def place_of(node: ast.AST | None, file: str) -> Place:
    """Return the place of a piece of source."""
    return Place(file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)


class Refusal(Exception):
    """A piece of source that is refused; `advice` says what to write in its place."""

    def __init__(self, node: ast.AST | None, message: str, advice: str = IN_A_TASK) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.advice = advice


class FollowsRefusal(Refusal):
    """A statement that cannot be judged, since it reads the value of a refused one. It is no complaint of its own."""


@record(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A refusal with its place in a file. Lines and columns begin at 1; `end` is the column behind it, on this line."""

    file: str
    line: int
    column: int
    end: int
    message: str
    advice: str
    source: str = ""

    def __str__(self) -> str:
        marks = " " * (self.column - 1) + "^" * max(1, self.end - self.column)
        advice = f"\n  {self.advice}" if self.advice else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}{advice}\n    {self.source}\n    {marks}"


def complaint_of(refusal: Refusal, file: str, lines: Sequence[str]) -> Complaint:
    """Return the refusal with its place in a file of these lines."""
    node, place = refusal.node, place_of(refusal.node, file)
    line, column = place.line, place.column
    is_one_line = getattr(node, "end_lineno", line) == line
    source = lines[line - 1] if 0 < line <= len(lines) else ""
    end = getattr(node, "end_col_offset", None) if is_one_line else len(source)
    return Complaint(
        file=file,
        line=line,
        column=column,
        end=column if end is None else end + 1,
        message=refusal.message,
        advice=refusal.advice,
        source=source,
    )


class InvalidFlow(InvalidArgument):
    """A flow that cannot be compiled; `complaints` are all that is wrong, in the order of the source."""

    code = "invalid_flow"

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda known: (known.file, known.line, known.column)))
        super().__init__("\n".join(map(str, self.complaints)), "Change these lines; nothing was started.")
