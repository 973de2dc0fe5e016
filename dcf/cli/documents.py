"""Reads and parses the JSON that commands are given: in a file, as an argument, or on standard input."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from dcf.data import find_file
from dcf.errors import InvalidArgument, TooLarge
from dcf.values.json_text import MAX_BYTES, Json, parse, parse_workflow

MAX_WORKFLOW: Final = 1024 * 1024
_BEGINNINGS: Final = tuple('{["')
_MARK: Final = 4
"""Extra bytes to read: a byte order mark, and one to exceed the limit."""


def read_text(file: Path, max_bytes: int = MAX_WORKFLOW) -> tuple[Path, str]:
    """Read a file, or the one of that name that dcf ships; a text over the limit is cut, but stays over it."""
    found = find_file(file)
    if found is None:
        raise InvalidArgument(f"There is no file {file}.", "Check the path.")
    try:
        with found.open("rb") as opened:
            return found, opened.read(max_bytes + _MARK).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{file} cannot be read as UTF-8 text.", "Check the file.") from None


def read_workflow(file: Path) -> Json:
    """Read a file and parse it as a workflow document."""
    return _parsed(read_text(file)[1], str(file), MAX_WORKFLOW, parse_workflow)


def read_json(file: Path, max_bytes: int = MAX_BYTES) -> Json:
    """Read a file and parse it."""
    return _parsed(read_text(file, max_bytes)[1], str(file), max_bytes)


def read_given(given: str, option: str) -> Json:
    """Read the JSON of an option: a file, `-` for standard input, or JSON text, which begins with {, [ or a quote."""
    if given == "-":
        try:
            return _parsed(sys.stdin.read(MAX_BYTES + _MARK), "standard input", MAX_BYTES)
        except UnicodeDecodeError:
            raise InvalidArgument("Standard input cannot be read as UTF-8 text.", "Pipe JSON into it.") from None
    if given.lstrip()[:1] in _BEGINNINGS:
        return _parsed(given, option, MAX_BYTES)
    return read_json(Path(given))


def as_workflow(document: Json, name: str) -> Json:
    """Wrap a plain ASL machine into a workflow of this name; return any other document unchanged."""
    if isinstance(document, Mapping) and "States" in document and "asl" not in document:
        return {"workflow_name": name, "asl": document}
    return document


def _parsed(text: str, name: str, max_bytes: int, read: Callable[..., Json] = parse) -> Json:
    try:
        return read(text, name=name, max_bytes=max_bytes)
    except TooLarge:
        raise
    except InvalidArgument as error:
        raise InvalidArgument(error.message, f"Correct {name}.") from None
