"""The entries of capabilities in lists across runs: types, and the tables of installed capabilities.

The tables are complete before the first call: a process that asks before raises. `features/installed_lists.py` fills
them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import StateDoc
from dcf.core.listing.checks import ListKind
from dcf.store.connection.commands import Command
from dcf.store.keys.table import RunKeys
from dcf.values.records import record
from dcf.values.tables import Tables

Opened: TypeAlias = Callable[[str, Mapping[str, StateDoc]], Iterable[Command]]
"""Returns the commands, for before a commit, that list the changed states of a run."""

Ended: TypeAlias = Callable[[RunKeys, WriteSet, Snapshot], Iterable[Command]]
"""Returns the commands, for after a commit, that take states off the lists on which they wait no more."""


@record(frozen=True, slots=True, kw_only=True)
class StateLists:
    """Lists across runs of states that wait for something. Their keys begin with `prefix`, their entries name states.

    `is_listed` says whether a state belongs on one of them. `opened` is asked for commits that change the row `row` of
    `WriteSet`; `ended` for all.
    """

    kind: ListKind
    prefix: str
    is_listed: Callable[[StateDoc], bool]
    row: str
    opened: Opened
    ended: Ended | None = None


class ListExtensions(Tables):
    """The tables of installed capabilities, in their order."""

    filled_by = "dcf.features.installed_lists"

    states: tuple[StateLists, ...]
    opened: tuple[tuple[str, Opened], ...]
    ended: tuple[Ended, ...]

    def install(self, states: Iterable[StateLists]) -> None:
        """Fill the tables, in this order."""
        self.states = tuple(states)
        self.opened = tuple((lists.row, lists.opened) for lists in self.states)
        self.ended = tuple(lists.ended for lists in self.states if lists.ended is not None)


LISTS: Final = ListExtensions()
