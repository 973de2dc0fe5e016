"""A page of the outputs that wait for verdicts, across runs: for whom, and where the next page begins. Data only."""

from typing import Final

from dcf.core.listing.cursors import unknown_cursor
from dcf.core.listing.waiting import WaitingPlace
from dcf.features.gates.consequences import GateCase
from dcf.values.records import record

ANY: Final = "any"
"""The list of what anybody may judge."""


class GatePlace(WaitingPlace):
    """An entry of a list: since when it waits, and which state of which run it is."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return it as a cursor."""
        return f"{self.at}|{self.entry}"


@record(frozen=True, slots=True, kw_only=True)
class GateQuery:
    """Request for gates: of an agent or person by name, and of groups; gates that anybody may review are there too.

    With a `project` only of its runs.
    """

    limit: int
    name: str | None
    groups: tuple[str, ...] = ()
    project: str | None = None
    place: GatePlace | None = None

    @property
    def queues(self) -> tuple[str, ...]:
        """The lists that together have it."""
        own = () if self.name is None else (f"agent:{self.name}", f"person:{self.name}")
        return (*own, *(f"group:{group}" for group in self.groups), ANY)


@record(frozen=True, slots=True, kw_only=True)
class GatePage:
    """Outputs that wait, the longest first, each with its run, and its place in the list."""

    rows: tuple[tuple[str, GateCase], ...]
    places: tuple[GatePlace, ...]
    next_place: GatePlace | None


def read_gate_place(cursor: str | None) -> GatePlace | None:
    """Read a cursor; raise InvalidArgument for what is none."""
    if cursor is None:
        return None
    at, bar, entry = cursor.partition("|")
    if not bar or not at.isdecimal() or len(at) > 20 or "/" not in entry:  # noqa: PLR2004 - digits of a time
        raise unknown_cursor()
    return GatePlace(at=int(at), entry=entry)
