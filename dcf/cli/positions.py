"""Finds the line and column of the values in a JSON text that JSON Pointers name."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from json import loads
from typing import Final, NamedTuple

from dcf.asl.syntax.fields import token

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


class Position(NamedTuple):
    """A position in a text; line and column begin at 1."""

    line: int
    column: int


def locate(text: str, pointers: Collection[str]) -> dict[str, Position]:
    """Return the positions of pointers: for a member that of its key, for an element that of its value.

    A pointer to something missing gets the position of its nearest existing parent. The text must be valid JSON.
    """
    ancestors = {ancestor for pointer in pointers for ancestor in _ancestors(pointer)}
    offsets = {pointer: offset for pointer, offset in _walk(text) if pointer in ancestors}
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    positions: dict[str, Position] = {}
    for pointer in pointers:
        offset = next((offsets[ancestor] for ancestor in _ancestors(pointer) if ancestor in offsets), 0)
        line = bisect_right(starts, offset)
        positions[pointer] = Position(line=line, column=offset - starts[line - 1] + 1)
    return positions


def flow_places(text: str, pointers: Collection[str]) -> dict[str, Position]:
    """Return the positions in Python of pointers into a document that a flow was compiled to."""
    from dcf.core.definitions.sources import position_of

    document = loads(text)
    places = {pointer: position_of(document, pointer) for pointer in pointers}
    return {pointer: Position(line=at[1], column=at[2]) for pointer, at in places.items() if at is not None}


def _ancestors(pointer: str) -> Iterator[str]:
    """Yield a pointer and those of its parents, from the inside out."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]
    yield ""


@dataclass(slots=True, kw_only=True)
class _Container:
    """An object or array that is being read."""

    pointer: str
    keyed: bool
    index: int = 0
    key: str | None = None
    at: int = 0

    def take_key(self, text: str, at: int) -> None:
        """Start a member: remember its key and where it stands."""
        self.key, self.at = loads(text), at

    def child(self, at: int) -> tuple[str, int]:
        """Return the pointer of the value that begins here, and the position to report for it."""
        if self.keyed:
            return f"{self.pointer}/{token(self.key or '')}", self.at
        return f"{self.pointer}/{self.index}", at

    def go_on(self) -> None:
        """Move on to the next member or element, after a comma."""
        self.index, self.key = self.index + 1, None


def _walk(text: str) -> Iterator[tuple[str, int]]:
    """Yield the pointer and the position of every value."""
    around: list[_Container] = []
    for match in _TOKEN.finditer(text):
        sign, at = match.group(), match.start()
        if sign in {"}", "]"}:
            around.pop()
        elif sign == ",":
            around[-1].go_on()
        elif around and around[-1].keyed and around[-1].key is None:
            around[-1].take_key(sign, at)
        elif sign != ":":
            pointer, place = around[-1].child(at) if around else ("", at)
            yield pointer, place
            if sign in {"{", "["}:
                around.append(_Container(pointer=pointer, keyed=sign == "{"))
