"""Reads and parses the JSON that commands are given: in a file, as an argument, or on standard input.

Every command that takes JSON reads it here, so that `-` and JSON text work wherever a file does, and so that an error
names the line of the fault.
"""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dcf.cli.flow_files import is_flow, read_flow
from dcf.data import find_file
from dcf.errors import InvalidArgument, InvalidDefinition, TooLarge
from dcf.values.json_text import MAX_BYTES, YAML_SUFFIXES, Json, dump, parse, parse_workflow

if TYPE_CHECKING:
    from dcf.cli.positions import Position
    from dcf.core.definitions.model import Definition

MAX_WORKFLOW: Final = 1024 * 1024
_BEGINNINGS: Final = tuple('{["')
_MARK: Final = 4
"""Extra bytes to read: a byte order mark, and one to exceed the limit."""

_STDIN: Final = "-"
_STDIN_NAME: Final = "standard input"


class InvalidDocument(InvalidDefinition):
    """The workflow document of a command has problems; `places` has the line and column of each, by its path."""

    def __init__(self, file: str, text: str, error: InvalidDefinition, *, prefix: str = "") -> None:
        """Find the places; `prefix` is at the front of the paths but not in the text."""
        from dcf.cli.positions import locate

        super().__init__(error.problems)
        self.file = file
        within = {problem.path: problem.path.removeprefix(prefix) for problem in error.problems}
        positions = locate(text, set(within.values()))
        self.places: Mapping[str, Position] = {path: positions[own] for path, own in within.items()}


def read_text(file: Path, max_bytes: int = MAX_WORKFLOW) -> tuple[Path, str]:
    """Read a file (`-`: standard input), or the one of that name that dcf ships; one over the limit is cut, over it."""
    if str(file) == _STDIN:
        return file, _read_stdin(max_bytes)
    path = find_file(file)
    if path is None:
        raise InvalidArgument(f"There is no file {file}.", "Check the path.")
    try:
        with path.open("rb") as opened:
            return path, opened.read(max_bytes + _MARK).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{file} cannot be read as UTF-8 text.", "Check the file.") from None


def read_workflow_text(file: Path) -> tuple[Path, str]:
    """Read a workflow document as JSON text: from JSON, from YAML with its lines, or compiled from a Python flow."""
    if is_flow(file):
        return file, dump(read_flow(file).document)
    path, text = read_text(file)
    if path.suffix not in YAML_SUFFIXES:
        return path, text
    from dcf.authoring.yaml_documents import json_of_yaml

    return path, json_of_yaml(text, _name(file))


def read_workflow(file: Path) -> Json:
    """Read a file, or standard input, and parse it as a workflow document; or compile the flow of a Python file."""
    return parse_document(read_workflow_text(file)[1], file)


def parse_document(text: str, file: Path) -> Json:
    """Parse the text of a file as a workflow document."""
    return _parsed(text, _name(file), MAX_WORKFLOW, parse_workflow)


def read_definition_of(file: Path) -> "Definition":
    """Read a workflow document, or a plain ASL machine, which gets the file's name; raise InvalidDocument for others.

    Every command that runs a workflow reads it so.
    """
    from dcf.core.definitions.forms import as_workflow
    from dcf.core.definitions.model import read_definition
    from dcf.features import installed_language  # noqa: F401 - a workflow is read

    text = read_workflow_text(file)[1]
    document = parse_document(text, file)
    workflow = as_workflow(document, workflow_name_of(file))
    try:
        return read_definition(workflow)
    except InvalidDefinition as error:
        raise InvalidDocument(_name(file), text, error, prefix="" if workflow is document else "/asl") from None


def workflow_name_of(file: Path) -> str:
    """Return the name of a workflow that has none of its own: its file's."""
    return "workflow" if str(file) == _STDIN else file.stem


def read_json(file: Path, max_bytes: int = MAX_BYTES) -> Json:
    """Read a file, or standard input, and parse it."""
    return _parsed(read_text(file, max_bytes)[1], _name(file), max_bytes)


def read_text_or_json(file: Path, max_bytes: int = MAX_BYTES) -> Json:
    """Read a file, or standard input: as JSON if its name ends in .json, otherwise as text without changes."""
    return read_json(file, max_bytes) if file.suffix == ".json" else read_text(file, max_bytes)[1]


def read_given(text: str, option: str) -> Json:
    """Read the JSON of an option: a file, `-` for standard input, or JSON text. A file wins over a text like its name.

    Text that begins with {, [ or a quote is JSON, never the name of a file.
    """
    if text.lstrip()[:1] in _BEGINNINGS or _is_scalar(text):
        return _parsed(text, option, MAX_BYTES)
    return read_json(Path(text))


def read_object(text: str | None, option: str) -> dict[str, Json] | None:
    """Read the JSON object of an option that may be left out; raise InvalidArgument for another kind of value."""
    if text is None:
        return None
    document = read_given(text, option)
    if not isinstance(document, dict):
        raise InvalidArgument(f"{option} is no JSON object.", f'Write {option} \'{{"name": "value"}}\'.')
    return document


def _is_scalar(text: str) -> bool:
    """Return True for a number, true, false or null, unless a file is called so."""
    with suppress(ValueError):
        return isinstance(json.loads(text), int | float | None) and find_file(Path(text)) is None
    return False


def _name(file: Path) -> str:
    return _STDIN_NAME if str(file) == _STDIN else str(file)


def _read_stdin(max_bytes: int) -> str:
    if sys.stdin.isatty():
        sys.stderr.write("dcf: reading JSON from the terminal; end it with Ctrl-D on a line of its own\n")
    try:
        return sys.stdin.read(max_bytes + _MARK).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InvalidArgument("Standard input cannot be read as UTF-8 text.", "Pipe JSON into it.") from None


def _parsed(text: str, name: str, max_bytes: int, read: Callable[..., Json] = parse) -> Json:
    try:
        return read(text, name=name, max_bytes=max_bytes)
    except TooLarge:
        raise
    except InvalidArgument as error:
        raise InvalidArgument(_what_is_wrong(text, name, error), f"Correct {name}.") from None


def _what_is_wrong(text: str, name: str, error: InvalidArgument) -> str:
    """Return the sentence about a text that was refused, with line and column where it is no JSON."""
    if not text.strip():
        return f"{name} is not valid JSON: it is empty."
    broken = error.__context__
    if not isinstance(broken, json.JSONDecodeError):
        return error.message
    return f"{name} is not valid JSON: line {broken.lineno}, column {broken.colno}: {broken.msg}."
