"""The parent of a child run, as the field `parent` of its meta document describes it. Data only."""

from typing import Final

from dcf.values.json_text import Json
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

    def as_json(self) -> dict[str, Json]:
        """Return it as the meta document has it."""
        return {"run": self.run, "state": self.state, "epoch": self.epoch, "how": self.how, "depth": self.depth}


def read_parent(document: Json) -> Parent | None:
    """Read the field; None if the run has no parent."""
    match document:
        case {"run": str(run), "state": str(state), "epoch": int(epoch), "how": str(how), "depth": int(depth)}:
            return Parent(run=run, state=state, epoch=epoch, how=how, depth=depth)
    return None
