"""The parent of a child run, as the field `parent` of its meta document describes it. Data only."""

from collections.abc import Callable
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
    """The state of another run that started this one, and in which visit; `how` is the suffix of its Resource."""

    run: str
    state: str
    epoch: int
    how: str
    depth: int

    @property
    def awaits_end(self) -> bool:
        """True if the parent's state ends when the child does."""
        return self.how in SYNC

    as_json = json_method()


read_parent: Final[Callable[[Json], Parent | None]] = RecordCodec(Parent, whole=True).read
"""Reads the field; None if the run has no parent."""
