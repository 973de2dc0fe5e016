"""The JSON files that commands are given: found, read and parsed, or refused in words."""

from pathlib import Path
from typing import Final

from dcf.data import find_file
from dcf.errors import InvalidArgument
from dcf.values.json_text import MAX_BYTES, Json, parse, parse_workflow

MAX_WORKFLOW: Final = 1024 * 1024
_MARK: Final = 4
"""Bytes that a byte order mark may add."""


def read_text(file: Path, max_bytes: int = MAX_WORKFLOW) -> tuple[Path, str]:
    """Read a file, or the shipped one of that name; what is longer is cut just so that it still is too long."""
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
    return parse_workflow(read_text(file)[1], name=str(file), max_bytes=MAX_WORKFLOW)


def read_json(file: Path, max_bytes: int = MAX_BYTES) -> Json:
    """Read a file and parse it."""
    return parse(read_text(file, max_bytes)[1], name=str(file), max_bytes=max_bytes)
