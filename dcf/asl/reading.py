"""The items in a file that a Map's ItemReader names: text in, JSON out.

Fetching the file is the caller's matter. Every failure is States.ItemReaderFailed.
"""

import csv
import json
from collections.abc import Mapping
from typing import Final

from dcf.core.json_text import Json
from dcf.errors import StateError

_DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}


def read_items(text: str, config: Mapping[str, Json]) -> Json:
    """Read a file as ReaderConfig says; JSON may hold an object, for ItemsPath to look into."""
    kind = config.get("InputType", "JSON")
    try:
        found = _by_type(kind, text, config)
    except (ValueError, RecursionError, csv.Error):
        raise reader_failure(f"The file is not valid {kind}.") from None
    limit = config.get("MaxItems")
    return found[:limit] if limit and isinstance(found, list) else found


def reader_failure(cause: str) -> StateError:
    """Make the error of a reader that cannot bring the items."""
    return StateError("States.ItemReaderFailed", cause)


def _by_type(kind: str, text: str, config: Mapping[str, Json]) -> Json:
    if kind in ("CSV", "MANIFEST"):
        return _table(text, config)
    if kind == "JSONL":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if kind != "JSON":
        raise reader_failure(f"Files of type {kind} cannot be read.")
    found = json.loads(text)
    if not isinstance(found, list | dict):
        raise reader_failure("Attempting to map over non-iterable node.")
    return found


def _table(text: str, config: Mapping[str, Json]) -> list[Json]:
    delimiter = _DELIMITERS.get(config.get("CSVDelimiter", "COMMA"), ",")
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
    given = config.get("CSVHeaderLocation") == "GIVEN"
    headers: list[str] = config.get("CSVHeaders", []) if given else next(iter(rows), [])
    if len(set(headers)) < len(headers):
        raise reader_failure("CSV headers cannot contain duplicates.")
    return [_record(headers, row) for row in (rows if given else rows[1:])]


def _record(headers: list[str], row: list[str]) -> dict[str, Json]:
    cells = [*row, *[""] * max(0, len(headers) - len(row))]
    return dict(zip(headers, cells, strict=False))
