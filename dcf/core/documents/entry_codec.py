"""Converts the entry of a state, recorded when control entered it, to JSON and back. Must not decide about it."""

from typing import Final

from dcf.asl.steps import Entry
from dcf.core.documents.stored_values import count_of, object_of
from dcf.values.json_text import Json

_ITEM: Final = 2
"""Length of a stored Map item: its index and its value."""


def write_entry(entry: Entry) -> dict[str, Json]:
    """Write what was recorded when a state was entered, for use when it is left."""
    written: dict[str, Json] = {"raw": entry.raw, "entered_at": entry.entered_at}
    if entry.variables:
        written["variables"] = dict(entry.variables)
    if entry.retries:
        written["retries"] = list(entry.retries)
    if entry.item is not None:
        written["item"] = list(entry.item)
    if entry.silent:
        written["silent"] = entry.silent
    return written


def read_entry(document: Json) -> Entry:
    """Read what `write_entry` wrote."""
    fields = object_of(document)
    item = fields.get("item")
    return Entry(
        raw=fields.get("raw"),
        variables=object_of(fields.get("variables")),
        entered_at=str(fields.get("entered_at")),
        retries=tuple(count_of(number) for number in fields.get("retries") or ()),
        item=(item[0], item[1]) if isinstance(item, list) and len(item) == _ITEM else None,
        silent=count_of(fields.get("silent")),
    )
