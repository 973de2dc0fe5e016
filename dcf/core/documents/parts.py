"""Parts of a run that capabilities keep: what names them when a decision reads, sees and writes them. Pure.

A decision asks for a part by `ReadSet.parts`, finds it by `Snapshot.part`, and writes it by `WriteSet.put`. How a part
is stored is a row of `store/extensions.py: PARTS`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

from dcf.values.records import record

Wanted = TypeVar("Wanted")
Seen = TypeVar("Seen")
Written = TypeVar("Written")
Row = TypeVar("Row")


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Part(Generic[Wanted, Seen, Written]):
    """A part of a run: a key with the types of what a decision wants of it, sees of it and writes of it.

    `both` joins what two decisions want, `after` returns what would be seen after something was written, and
    `together` joins two writes, the later one last.
    """

    name: str
    both: Callable[[Wanted, Wanted], Wanted]
    after: Callable[[Seen, Written], Seen]
    together: Callable[[Written, Written], Written]

    def wanted(self, extent: Wanted) -> "dict[Part[Any, Any, Any], Any]":
        """Return the parts of a `ReadSet` that ask for this of the part."""
        return {self: extent}

    def seen(self, seen: Seen) -> "dict[Part[Any, Any, Any], Any]":
        """Return the parts of a `Snapshot` in which this was seen of the part."""
        return {self: seen}

    def written(self, written: Written) -> "dict[Part[Any, Any, Any], Any]":
        """Return the parts of a `WriteSet` that write this."""
        return {self: written}


Parts: TypeAlias = Mapping[Part[Any, Any, Any], Any]
"""What is wanted, was seen or is written of some parts."""


WHOLE: Final = ()
"""Wants all of a part that is one document."""


def every_name(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Return all of the names, each once."""
    return tuple(dict.fromkeys((*names, *more)))


def last(_: Row, written: Row) -> Row:
    """Return what was written last, where that takes the place of what was there."""
    return written


def wanted_of(parts: Parts, more: Parts) -> Parts:
    """Return what both of these want."""
    if not parts or not more:
        return parts or more
    joined = {part: part.both(parts[part], extent) for part, extent in more.items() if part in parts}
    return {**parts, **more, **joined}


def seen_after(seen: Parts, written: Parts) -> Parts:
    """Return what would be seen of the parts if this were written. Of a part that was not read, nothing is seen."""
    if not seen or not written:
        return seen
    return {part: part.after(value, written[part]) if part in written else value for part, value in seen.items()}


def written_by(written: Parts, later: Parts) -> Parts:
    """Return the writes of both together."""
    if not written or not later:
        return written or later
    joined = {part: part.together(written[part], value) for part, value in later.items() if part in written}
    return {**written, **later, **joined}
