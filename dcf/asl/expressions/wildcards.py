"""The patterns of StringMatches: `*` matches any characters; a backslash makes `*` or a backslash literal.

Deliberately not a regular expression: a workflow's author writes the pattern, and matching must take linear time.
"""

import re
from itertools import pairwise

from dcf.errors import StateError
from dcf.values.records import record

_PART = re.compile(r"\\[*\\]|.", re.DOTALL)


@record(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The literal pieces between the wildcards; `text` is the pattern as written."""

    text: str
    pieces: tuple[str, ...]
    dangling: bool

    def matches(self, value: str) -> bool:
        """Return True if the whole value matches; raise StateError when the pattern ends within an escape."""
        if self.dangling:
            raise StateError("States.Runtime", f"The pattern '{self.text}' ends with an unfinished escape (a \\).")
        first, *middle, last = self.pieces if len(self.pieces) > 1 else (*self.pieces, "")
        if len(self.pieces) == 1:
            return value == first
        end = len(value) - len(last)
        position = len(first)
        if position > end or not value.startswith(first) or not value.endswith(last):
            return False
        return _in_order(middle, value, position, end)


def parse_pattern(text: str) -> Pattern:
    """Compile a pattern; a trailing backslash is kept, since it fails only when the pattern is used."""
    parts: list[str] = _PART.findall(text)
    stars = [index for index, part in enumerate(parts) if part == "*"]
    pieces = ("".join(part[-1] for part in parts[start + 1 : end]) for start, end in pairwise([-1, *stars, len(parts)]))
    return Pattern(text=text, pieces=tuple(pieces), dangling=parts[-1:] == ["\\"])


def _in_order(pieces: list[str], value: str, position: int, end: int) -> bool:
    # Taking the earliest position for each piece is enough: a later one allows nothing more.
    for piece in pieces:
        start = value.find(piece, position, end)
        if start < 0:
            return False
        position = start + len(piece)
    return True
