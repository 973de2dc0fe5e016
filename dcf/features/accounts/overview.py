"""An account as lists, metrics and `why` see it: its sums without its turns, and the states that wait for it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.documents.usage import COST, money
from dcf.features.accounts import model
from dcf.features.accounts.model import Books
from dcf.values.instants import SECOND
from dcf.values.records import record

TOKENS: Final = "tokens"
"""The unit of tokens, where sums of money are named by their currency."""


@record(frozen=True, slots=True, kw_only=True)
class AccountView:
    """An account: its numbers and the ledger of today, the agents that share it, and how many states wait for it."""

    name: str
    books: Books
    agents: tuple[str, ...] = ()
    parked: int = 0

    def is_open(self, now: int) -> bool:
        """Return whether no limit closes it."""
        return self.books.numbers.get("until", 0) <= now

    def closed_s(self, now: int) -> float:
        """Return for how long it has been closed; 0 if it is not."""
        return 0.0 if self.is_open(now) else (now - self.books.numbers.get("since", now)) / SECOND

    def spent(self, now: int) -> Iterator[tuple[str, float]]:
        """Yield what counts for the budget of today by unit: bills, and estimates of killed turns."""
        sums = self.books.days.get(now // model.DAY, {})
        yield TOKENS, float(sum(sums.get(name, 0) for name in ("tokens_in", "tokens_out", "open_tokens")))
        for name in sums:
            if name.startswith(COST):
                currency = name.removeprefix(COST)
                yield currency, float(money(sums[name] + sums.get(f"open_{name}", 0)))

    @property
    def budgets(self) -> Iterator[tuple[str, float]]:
        """The budgets of a day by unit."""
        numbers = self.books.numbers
        if numbers.get("day_tokens"):
            yield TOKENS, float(numbers["day_tokens"])
        if numbers.get("day_nanos"):
            yield self.books.texts.get("currency", ""), float(money(numbers["day_nanos"]))


@record(frozen=True, slots=True, kw_only=True)
class LimitSign:
    """The limit of a parked state as its account has it: the words of the reporter, and the order of waiting.

    `ahead` states become ready before this one, of `waiting` states in all.
    """

    reason: str = ""
    ahead: int = 0
    waiting: int = 0


NO_SIGN: Final = LimitSign()

Signs = Mapping[tuple[str, int], LimitSign]
"""Signs by account and the time until which a state is parked."""
