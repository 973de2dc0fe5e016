"""Splits long answers into pages of whole items, so that no JSON is cut, with a cursor for the next page.

A cursor is the name of the last item shown. So it stays valid while items are added and removed, and the server stores
no state for it.
"""

from collections.abc import Sequence
from typing import Final

from dcf.values.json_text import Json, byte_length

_OVERHEAD: Final = 2048
"""Bytes reserved for the parts of an answer besides its items."""


def fitting(items: Sequence[Json], max_bytes: int) -> int:
    """Return how many of the items, from the first on, one answer has room for; one at least."""
    room = Room(max_bytes)
    return next((count for count, item in enumerate(items) if not room.takes(item)), len(items))


class Room:
    """The bytes left for items on a page. The first item always fits, however large."""

    def __init__(self, max_bytes: int, *members: Json) -> None:
        self._left = max_bytes - _OVERHEAD - sum(map(byte_length, members))
        self._empty = True

    def takes(self, item: Json) -> bool:
        """Return True, and count the item, if it fits on the page."""
        size = byte_length(item)
        if not self._empty and size > self._left:
            return False
        self._left -= size
        self._empty = False
        return True
