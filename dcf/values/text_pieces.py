"""Shortens text for messages, and cuts UTF-8 bytes between characters. Pure."""

from collections.abc import Sequence
from typing import Final

LONGEST: Final = 4
"""Most bytes that one UTF-8 character takes."""


def clip(text: str, limit: int = 80) -> str:
    """Cut text to `limit` characters with an ellipsis, and replace invalid Unicode."""
    short = text if len(text) <= limit else text[:limit] + "…"
    return short.encode("utf-8", "replace").decode()


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return the first of these names for a message, as they are."""
    return ", ".join(names[:most])


def named(names: Sequence[str], most: int = 5) -> str:
    """Return the first of these names for a message, each in quotes and cut, and dots if there are more."""
    quoted = ", ".join(f"'{clip(name)}'" for name in names[:most])
    return f"{quoted}, ..." if len(names) > most else quoted


def utf8_piece(data: bytes, length: int) -> tuple[int, bytes]:
    """Take about `length` bytes of UTF-8 without cutting a character; at least one character is taken.

    Return how many leading bytes belong to a character that began before, and the bytes taken. `data` must hold up to
    four bytes more than `length`, unless the text ends earlier.
    """
    start = 0
    while start < min(LONGEST - 1, len(data)) and _continues(data[start]):
        start += 1
    end = min(length, len(data))
    if end == len(data):
        return start, data[start:]
    back = end
    while back > max(start, end - LONGEST) and _continues(data[back]):
        back -= 1
    if back > start:
        return start, data[start:back]
    end = start + 1
    while end < len(data) and _continues(data[end]):
        end += 1
    return start, data[start:end]


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - the mark of a byte inside a character
