"""Pieces of a text: shortened for a message, or cut from stored bytes only between characters. Pure."""

from typing import Final

LONGEST: Final = 4
"""Bytes of one character."""


def clip(text: str, limit: int = 80) -> str:
    """Shorten text for a message, and make it printable if it is not valid Unicode."""
    short = text if len(text) <= limit else text[:limit] + "…"
    return short.encode("utf-8", "replace").decode()


def utf8_piece(data: bytes, length: int) -> tuple[int, bytes]:
    """Take about `length` bytes: how many at the beginning belong to a character before, and whole characters.

    `data` goes on behind `length` by up to a character, unless the text ends before. One character is always taken.
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
