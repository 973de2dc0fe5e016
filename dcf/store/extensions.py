"""Types and tables of the parts of a run, and of the lists across runs, that installed capabilities keep.

The tables are complete before the first call: a process that asks before raises. `features/installed_runs.py` fills
them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part
from dcf.core.listing.checks import ListKind
from dcf.store.connection.commands import Command
from dcf.store.keys.table import RunKeys
from dcf.values.records import record
from dcf.values.tables import Tables

if TYPE_CHECKING:
    from dcf.store.transaction.first_packet import Asked, Understand

Opened: TypeAlias = Callable[[str, Mapping[str, StateDoc]], Iterable[Command]]
"""Returns the commands, for before a commit, that list the changed states of a run."""

Ended: TypeAlias = Callable[[RunKeys, WriteSet, Snapshot], Iterable[Command]]
"""Returns the commands, for after a commit, that take states off the lists on which they wait no more."""


@record(frozen=True, slots=True, kw_only=True)
class StateLists:
    """Lists across runs of states that wait for something. Their keys begin with `prefix`, their entries name states.

    `is_listed` says whether a state belongs on one of them. `opened` is asked for commits that write this `part` of the
    run, or without one, any state; `ended` for all.
    """

    kind: ListKind
    prefix: str
    is_listed: Callable[[StateDoc], bool]
    opened: Opened
    part: Part[Any, Any, Any] | None = None
    ended: Ended | None = None


class ListExtensions(Tables):
    """The tables of installed capabilities, in their order."""

    filled_by = "dcf.features.installed_runs"

    states: tuple[StateLists, ...]
    opened: tuple[tuple[Part[Any, Any, Any] | None, Opened], ...]
    ended: tuple[Ended, ...]

    def install(self, states: Iterable[StateLists]) -> None:
        """Fill the tables, in this order."""
        self.states = tuple(states)
        self.opened = tuple((lists.part, lists.opened) for lists in self.states)
        self.ended = tuple(lists.ended for lists in self.states if lists.ended is not None)


LISTS: Final = ListExtensions()


def _no_keys(_: RunKeys) -> tuple[str, ...]:
    return ()


@record(frozen=True, slots=True, kw_only=True)
class PartRow:
    """How a part of a run is stored: `ask` reads it in the first packet of a transaction, and `write` writes it.

    `write` adds the commands to a packet (`store/transaction/writing.py: Packet`). `keys` are the keys of the part that
    are no kind of `store/keys/kinds.py`: they expire and are deleted with the run.
    """

    part: Part[Any, Any, Any]
    ask: "Callable[[Asked, RunKeys, Any], Understand]"
    write: Callable[[Any, RunKeys, Any], None]
    keys: Callable[[RunKeys], tuple[str, ...]] = _no_keys


class PartExtensions(Tables):
    """The rows of what is installed, by part."""

    filled_by = "dcf.features.installed_runs"

    rows: Mapping[Part[Any, Any, Any], PartRow]

    def install(self, rows: Iterable[PartRow]) -> None:
        """Fill the table."""
        self.rows = {row.part: row for row in rows}


PARTS: Final = PartExtensions()


def keys_of_parts(run: RunKeys) -> list[str]:
    """Return the keys of a run that capabilities made themselves."""
    return [key for row in PARTS.rows.values() for key in row.keys(run)]


def every_key(run: RunKeys, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str]) -> list[str]:
    """Return all keys that a run with these states, scopes and branches can have."""
    return run.every(states, scopes, branches) + keys_of_parts(run)
