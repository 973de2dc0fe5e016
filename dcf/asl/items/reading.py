"""Parses the items of a file that a Map's ItemReader names, and reads no more of it than needed.

`sources` opens the file. A file is untrusted: it is parsed as strictly as callers' arguments, and the size of
its items is limited. Every failure is States.ItemReaderFailed.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TextIO

from dcf.asl.limits import MAX_ITEMS
from dcf.errors import InvalidArgument, StateError
from dcf.values.json_text import Json, parse
from dcf.values.text_pieces import clip

MAX_CELLS: Final = 2_000_000
"""Limit on the cells of a table, missing ones included: many short rows under a long header take much memory."""

_NO_OTHER_LIMIT: Final = 2**60
"""The file's own limit was applied while it was read."""

_DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}


def reader_failure(cause: str) -> StateError:
    """Return the error of an ItemReader that cannot read its items."""
    return StateError("States.ItemReaderFailed", cause)


def read_items(file: TextIO, config: Mapping[str, Json], name: str) -> Json:
    """Read a file as ReaderConfig says; a JSON file may hold an object, which ItemsPath then selects from."""
    if config.get("InputType", "JSON") != "JSON":
        return taken(records(file, config, name), config)
    selected = _selected(read_json(file, name), config)
    if isinstance(selected, dict):
        return selected
    return taken(_iterable(selected), config)


def records(file: TextIO, config: Mapping[str, Json], name: str) -> Iterator[Json]:
    """Read the items of a file one by one; `name` is what the definition calls the file."""
    kind = config.get("InputType", "JSON")
    try:
        if kind == "CSV":
            yield from _table(file, config)
        elif kind == "JSONL":
            yield from _lines(file, name)
        elif kind == "JSON":
            yield from _iterable(_selected(read_json(file, name), config))
        else:
            raise reader_failure(f"Files of type {clip(str(kind))} cannot be read: use CSV, JSON or JSONL.")
    except csv.Error as error:
        raise reader_failure(f"The file '{clip(name)}' is not valid CSV: {error}.") from None
    except UnicodeError:
        raise _not_text(name) from None


def taken(document: Iterable[Json], config: Mapping[str, Json]) -> list[Json]:
    """Return at most MaxItems items and leave the rest unread; raise when there are more than a Map can have."""
    most = config.get("MaxItems") or MAX_ITEMS + 1
    items = list(islice(document, min(most, MAX_ITEMS + 1)))
    if len(items) > MAX_ITEMS:
        raise reader_failure(f"There are more than {MAX_ITEMS} items: set MaxItems, or split the file.")
    return items


def read_json(file: TextIO, name: str) -> Json:
    """Read a file that holds one JSON value."""
    try:
        text = file.read()
    except UnicodeError:
        raise _not_text(name) from None
    return _parsed(text, f"The file '{clip(name)}'")


def _parsed(text: str, name: str) -> Json:
    try:
        return parse(text, name=name, max_bytes=_NO_OTHER_LIMIT)
    except InvalidArgument as error:
        raise reader_failure(error.message) from None


def _not_text(name: str) -> StateError:
    return reader_failure(f"The file '{clip(name)}' is not UTF-8 text.")


def _iterable(items: Json) -> list[Json]:
    if not isinstance(items, list):
        raise reader_failure("Attempting to map over non-iterable node.")
    return items


def _selected(shape: Json, config: Mapping[str, Json]) -> Json:
    """Return the value at ItemsPointer, a JSON Pointer."""
    pointer = str(config.get("ItemsPointer", ""))
    for step in pointer.split("/")[1:]:
        shape = _member(shape, step.replace("~1", "/").replace("~0", "~"), pointer)
    return shape


def _member(node: Json, name: str, pointer: str) -> Json:
    if isinstance(node, dict) and name in node:
        return node[name]
    if isinstance(node, list) and name.isdecimal() and len(name) <= len(str(len(node))) and int(name) < len(node):
        return node[int(name)]
    raise reader_failure(f"The file has nothing at the ItemsPointer '{clip(pointer)}'.")


def _lines(file: TextIO, name: str) -> Iterator[Json]:
    for number, line in enumerate(file, 1):
        if line.strip():
            yield _parsed(line, f"Line {number} of the file '{clip(name)}'")


def _table(file: TextIO, config: Mapping[str, Json]) -> Iterator[Json]:
    delimiter = _DELIMITERS.get(config.get("CSVDelimiter", "COMMA"), ",")
    rows = (row for row in csv.reader(file, delimiter=delimiter) if row)
    are_named = config.get("CSVHeaderLocation") == "GIVEN"
    headers: list[str] = config.get("CSVHeaders", []) if are_named else next(rows, [])
    if len(set(headers)) < len(headers):
        raise reader_failure("CSV headers cannot contain duplicates.")
    for count, row in enumerate(rows, 1):
        if count * len(headers) > MAX_CELLS:
            raise reader_failure(f"The table has more than {MAX_CELLS} cells: set MaxItems, or split the file.")
        yield _record(headers, row)


def _record(headers: list[str], row: list[str]) -> dict[str, Json]:
    cells = [*row, *[""] * max(0, len(headers) - len(row))]
    return dict(zip(headers, cells, strict=False))
