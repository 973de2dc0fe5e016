"""Settles the turns whose bills runs report, and computes the money that a bill does not tell by the user's prices."""

import time
from typing import TYPE_CHECKING, Final

from dcf.features.accounts import keys, model
from dcf.features.accounts.model import Bill, Used
from dcf.features.accounts.money import Price, cost_of, read_price
from dcf.features.accounts.storage import AccountStore
from dcf.features.usage.bill_storage import BillOffer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcf.core.documents.usage import BilledTurn, UsageReport
    from dcf.store.connection.commands import Command
    from dcf.store.connection.connections import Connections

_KEPT_S: Final = 5.0
"""For so long a process knows the prices without reading them again."""


class KnownPrices:
    """The table of prices, as a process knows it."""

    def __init__(self, store: AccountStore) -> None:
        self._store = store
        self._prices: dict[str, Price] = {}
        self._read_at = float("-inf")

    def forget(self) -> None:
        """Read the table again next time."""
        self._read_at = float("-inf")

    def all(self) -> dict[str, Price]:
        """Return the prices, as they were some seconds ago at most."""
        if time.monotonic() - self._read_at >= _KEPT_S:
            began = time.monotonic()
            self._prices = {pattern: read_price(pattern, row) for pattern, row in self._store.prices().items()}
            self._read_at = began
        return self._prices

    def bill(self, reservation: str, usage: "UsageReport") -> Bill:
        """Return the bill of a turn, with its money."""
        nanos, currency = usage.nanos, usage.currency
        if currency is None:
            nanos, currency = cost_of(self.all(), usage)
        used = Used(
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            tokens_cache_written=usage.tokens_cache_written,
            nanos=min(nanos, model.MOST_NANOS),
        )
        return Bill(id=reservation, used=used, currency=currency or "")


class AccountBills:
    """Makes the commands that settle turns."""

    settled_key = keys.SETTLED

    def __init__(self, connections: "Connections") -> None:
        self._store = AccountStore(connections)
        self._prices = KnownPrices(self._store)

    def commands(self, turns: "Sequence[BilledTurn]") -> "list[Command]":
        """Return a command for each of these turns, which the provider has accepted."""
        bills = ((turn.account, self._prices.bill(turn.reservation, turn.usage)) for turn in turns)
        return [self._store.settlement(account, bill) for account, bill in bills]


OFFER: Final = BillOffer(make=AccountBills)
