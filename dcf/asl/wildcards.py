"""The patterns of StringMatches: `*` is any run of characters, a backslash makes `*` and itself literal.

Not a regular expression on purpose: a pattern comes from whoever wrote the workflow, and matching must stay
linear whatever it says.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from dcf.errors import StateError

_PART = re.compile(r"\\[*\\]|.", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The literal pieces between the stars; `text` is the pattern as written."""

    text: str
    pieces: tuple[str, ...]
    dangling: bool

    def matches(self, value: str) -> bool:
        """Whether the whole value fits; raise StateError when the pattern ends in the middle of an escape."""
        if self.dangling:
            raise StateError("States.Runtime", f"The pattern '{self.text}' ends with a backslash that escapes nothing.")
        first, *middle, last = self.pieces if len(self.pieces) > 1 else (*self.pieces, "")
        if len(self.pieces) == 1:
            return value == first
        end = len(value) - len(last)
        position = len(first)
        if position > end or not value.startswith(first) or not value.endswith(last):
            return False
        return _in_order(middle, value, position, end)


def parse_pattern(text: str) -> Pattern:
    """Compile a pattern; a dangling backslash is kept, for it fails only when the pattern is used."""
    parts: list[str] = _PART.findall(text)
    stars = [index for index, part in enumerate(parts) if part == "*"]
    pieces = ("".join(part[-1] for part in parts[start + 1 : end]) for start, end in pairwise([-1, *stars, len(parts)]))
    return Pattern(text=text, pieces=tuple(pieces), dangling=parts[-1:] == ["\\"])


def _in_order(pieces: list[str], value: str, position: int, end: int) -> bool:
    # Taking the earliest place for each piece is enough: what a later place allows, the earliest allows too.
    for piece in pieces:
        found = value.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
