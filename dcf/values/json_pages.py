"""Pages of large JSON values: each holds whole elements, members or characters and is valid JSON itself. Pure."""

from collections.abc import Iterable
from typing import Final

from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.values.refusal import Refusal

_PUNCTUATION: Final = 2


@record(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a value, of the value's own JSON type.

    `cursor` is the number of the next element, member or character, None on the last page; `total` counts all of them.
    """

    value: Json
    cursor: int | None = None
    total: int | None = None


def page(value: Json, start: int, longest: int) -> Page | Refusal:
    """Return the page that begins at number `start` and has at most `longest` characters as JSON text."""
    total = len(value) if isinstance(value, dict | list | str) else None
    if start > (total or 0):
        hint = "Use the next_cursor of the answer before, or begin with 0."
        return Refusal(code="out_of_range", message=f"There is nothing at cursor {start}.", hint=hint)
    if total is None or (start == 0 and len(dump(value)) <= longest):
        return Page(value=value, total=total)
    if isinstance(value, str):
        part = value[start : start + longest]
        while len(dump(part)) > longest:  # escaping makes the text longer in JSON
            part = part[: len(part) // 2]
        return _page(part, start + len(part), total)
    if isinstance(value, list):
        rest = value[start:]
        count = _fitting((len(dump(rest)) for rest in rest), longest)
        return _page(rest[:count], start + count, total) if count or not rest else _too_large(start)
    members = list(value.items())[start:]
    count = _fitting((len(dump(name)) + len(dump(member)) for name, member in members), longest)
    return _page(dict(members[:count]), start + count, total) if count or not members else _too_large(start)


def _fitting(sizes: Iterable[int], longest: int) -> int:
    count, room = 0, longest - _PUNCTUATION
    for size in sizes:
        room -= size + _PUNCTUATION
        if room < 0:
            break
        count += 1
    return count


def _page(value: Json, end: int, total: int) -> Page:
    return Page(value=value, cursor=end if end < total else None, total=total)


def _too_large(start: int) -> Refusal:
    hint = "Read inside it: name its path."
    return Refusal(code="too_large", message=f"The element at number {start} alone is too large.", hint=hint)
