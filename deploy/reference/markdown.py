"""Builds tables and headings of Markdown pages."""

from collections.abc import Iterable, Sequence
from inspect import cleandoc

NOTE = "Made by `make reference`; do not edit."


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; an empty header cell is allowed, a bar in a cell is escaped."""
    lines = [_row(header), "|" + "---|" * len(header), *(_row(row) for row in rows)]
    return "\n".join(lines)


def page(title: str, *parts: str) -> str:
    """Return a page: its title, the note that it is generated, and its parts with a blank line between them."""
    return "\n\n".join([f"# {title}", NOTE, *(cleandoc(part) for part in parts if part)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell.replace('|', chr(92) + '|')} " if cell else " " for cell in cells) + "|"
