"""The parent of a child run, as the field `parent` of its meta document describes it. Data only."""

from collections.abc import Callable
from dataclasses import field
from typing import Final

from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record

MOST_DEPTH: Final = 10
"""Deepest child: a run that a caller starts has depth 0, its children 1."""

SYNC: Final = frozenset({".sync", ".sync:2"})
"""The suffixes of a Resource whose state waits for the end of the child, and stops the child when it ends itself."""


@record(frozen=True, slots=True, kw_only=True)
class Parent:
    """The state of another run that started this one, and in which visit; `how` is the suffix of its Resource.

    `above` are the runs above that run, the nearest first. Earlier versions wrote none, so it identifies no parent.
    """

    run: str
    state: str
    epoch: int
    how: str
    depth: int
    above: tuple[str, ...] = field(default=(), compare=False)

    @property
    def ancestors(self) -> tuple[str, ...]:
        """All runs above the child, the nearest first; at most 10."""
        return (self.run, *self.above)[:MOST_DEPTH]

    @property
    def awaits_end(self) -> bool:
        """True if the parent's state ends when the child does."""
        return self.how in SYNC

    as_json = json_method(rare="above")


read_parent: Final[Callable[[Json], Parent | None]] = RecordCodec(Parent, rare="above", whole=True).read
"""Reads the field; None if the run has no parent."""
