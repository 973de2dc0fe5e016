"""Counts the values in a JSON body while it arrives, part by part, so that one with too many is never parsed.

Parsing is done by the SDK, at once and on the event loop, and its time and memory go by the number of values: a body of
short values takes twenty times as long as one long text of the same length.
"""

import re
from dataclasses import dataclass

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|(\\?\Z))', re.DOTALL)
"""A string, or the beginning of a string that the next part continues; then the group tells how it breaks off."""


@dataclass(slots=True)
class ValueCount:
    """How many values have arrived: each has a comma behind it, or an opening bracket before it."""

    found: int = 0
    _broken_off: bytes | None = None

    def add(self, part: bytes) -> None:
        """Count the next part of the body."""
        if self._broken_off is not None:
            part = b'"' + self._broken_off + part
        pieces = _STRING.split(part)
        self._broken_off = pieces[-2] if len(pieces) > 1 else None
        outside = b"".join(pieces[::2])
        self.found += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
