"""Parses CSV tables strictly: known columns only, every row as long as the header, every cell with its place."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dcf.values.json_text import MAX_BYTES
from dcf.values.located import Located, Report, SourcePlace, read_json

MAX_ROWS: Final = 20_000

Cell = Callable[[str, SourcePlace, Report], Located | None]
"""Parses the text of a non-blank cell; if it is invalid, reports a problem and has no result (None)."""

Row = Located
"""An object with one member for each non-blank cell of a row."""


def text_cell(text: str, place: SourcePlace, _: Report) -> Located:
    """Return the cell's text."""
    return Located(text, place)


def json_cell(text: str, place: SourcePlace, report: Report) -> Located | None:
    """Parse a cell as JSON."""
    return read_json(text, place, report, max_bytes=MAX_BYTES)


def number_cell(text: str, place: SourcePlace, report: Report) -> Located | None:
    """Parse a cell as a number."""
    scratch = Report()
    located = read_json(text.strip(), place, scratch, max_bytes=100)
    if located is None or isinstance(located.value, bool) or not isinstance(located.value, int | float):
        report.refuse(place, "invalid_number", f"'{text[:40]}' is no number.", "Write a number, such as 10 or 0.5.")
        return None
    return located


def flag_cell(text: str, place: SourcePlace, report: Report) -> Located | None:
    """Parse a cell as true or false."""
    word = text.strip().lower()
    if word not in {"true", "false"}:
        report.refuse(place, "invalid_flag", f"'{text[:40]}' is neither true nor false.", "Write true or false.")
        return None
    return Located(word == "true", place)


def list_cell(text: str, place: SourcePlace, _: Report) -> Located:
    """Parse a cell as a comma-separated list."""
    return Located([Located(part.strip(), place) for part in text.split(",") if part.strip()], place)


def read_table(text: str, file: str, columns: Mapping[str, Cell], required: Sequence[str], report: Report) -> list[Row]:
    """Parse a table. Invalid cells are reported and read as None."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    try:
        header = next(reader, None)
        if header is None or not _check_header(header, file, columns, required, report):
            return []
        line = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                row = _read_row(cells, header, SourcePlace(file, line), columns, report)
                rows += [] if row is None else [row]
            line = reader.line_num + 1
            if len(rows) > MAX_ROWS:
                report.refuse(
                    SourcePlace(file, line),
                    "too_many_rows",
                    f"There are more than {MAX_ROWS} rows.",
                    "Divide the table.",
                )
                break
    except csv.Error:
        hint = "Check the quotes around there; a quote inside a cell is written twice."
        report.refuse(SourcePlace(file, reader.line_num), "invalid_csv", "This is not valid CSV.", hint)
        return []
    return rows


def _check_header(
    header: Sequence[str], file: str, columns: Mapping[str, Cell], required: Sequence[str], report: Report
) -> bool:
    before = len(report.problems)
    for name in header:
        if name not in columns:
            hint = f"Remove it or correct its spelling; known here: {', '.join(columns)}."
            report.refuse(SourcePlace(file, 1, name[:80]), "unknown_column", f"There is no column '{name[:80]}'.", hint)
        elif header.count(name) > 1:
            report.refuse(
                SourcePlace(file, 1, name), "duplicate_column", "The column is there twice.", "Keep one of them."
            )
    for name in required:
        if name not in header:
            report.refuse(SourcePlace(file, 1, name), "missing_column", f"The column {name} is missing.", "Add it.")
    return len(report.problems) == before


def _read_row(
    cells: Sequence[str], header: Sequence[str], place: SourcePlace, columns: Mapping[str, Cell], report: Report
) -> Row | None:
    if len(cells) != len(header):
        message = f"The row has {len(cells)} cells, the header {len(header)}."
        report.refuse(place, "wrong_cells", message, "Check commas and quotes in this row.")
        return None
    members: dict[str, Located] = {}
    for name, cell in zip(header, cells, strict=True):
        if cell.strip():
            at = SourcePlace(place.file, place.line, name)
            members[name] = columns[name](cell, at, report) or Located(None, at)
    return Located(members, place)
