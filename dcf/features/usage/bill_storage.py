"""The bills of turns that were reserved under an account: usage is moved to the account as to the books of an agent.

A report of a run stays in the run until its account has answered. Accounts are another capability: it fills the table.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from dcf.core.documents.usage import BilledTurn, read_turn
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.values.json_text import load
from dcf.values.records import record
from dcf.values.tables import Tables


class Bills(Protocol):
    """Makes the commands that settle turns. Each may be sent any number of times."""

    def commands(self, turns: Sequence[BilledTurn]) -> list[Command]:
        """Return a command for each of these turns."""

    @property
    def settled_key(self) -> str:
        """The key of what an account has of a settled turn: `%s` stands for the account, and for the reservation."""


@record(frozen=True, slots=True, kw_only=True)
class BillOffer:
    """How a capability settles the bills of turns; exactly one capability offers it."""

    make: Callable[[Connections], Bills]


class BillExtensions(Tables):
    """The maker of these commands."""

    filled_by = "dcf.features.installed_runs"
    make: Callable[[Connections], Bills]

    def install(self, offers: Iterable[BillOffer]) -> None:
        """Fill the table. Raise ValueError unless one capability offers it."""
        (offer,) = offers
        self.make = offer.make


BILLS: Final = BillExtensions()


def stored_turn(text: str) -> BilledTurn:
    """Read a turn, as a run keeps it."""
    return read_turn(load(text), "a report of the run")
