"""The books of an account during one decision: sums of turns in flight, ledgers of days, buckets of a minute. Pure.

`decisions` decides with it. It must compute what the script in `scripts` computes; a property test compares both.
"""

from typing import Final

from dcf.core.documents.usage_sums import TOKENS
from dcf.features.accounts import model
from dcf.features.accounts.model import Books, Done, Held, Used
from dcf.values.records import replace

_MOST_LAPSED: Final = 100


class Ledger:
    """The books during one decision, which may be changed; `books` returns them as they are then."""

    def __init__(self, books: Books) -> None:
        self.numbers, self.texts = dict(books.numbers), dict(books.texts)
        self.held, self.done = dict(books.held), dict(books.done)
        self.shares, self.asked = dict(books.shares), dict(books.asked)
        self.days = {day: dict(sums) for day, sums in books.days.items()}

    def books(self) -> Books:
        """Return the books."""
        return Books(
            numbers=self.numbers,
            texts=self.texts,
            held=self.held,
            done=self.done,
            days=self.days,
            shares=self.shares,
            asked=self.asked,
        )

    def get(self, name: str) -> int:
        """Return a number of the account; 0 if it was never set."""
        return self.numbers.get(name, 0)

    def set(self, name: str, value: int) -> None:
        """Set a number of the account."""
        self.numbers[name] = value

    def add(self, name: str, more: int) -> None:
        """Add to a number of the account."""
        if more:
            self.numbers[name] = self.get(name) + more

    def enter(self, day: int, name: str, amount: int) -> None:
        """Add to the ledger of a day."""
        if amount:
            sums = self.days.setdefault(day, {})
            sums[name] = sums.get(name, 0) + amount

    def enter_tokens(self, day: int, before: Used, after: Used) -> None:
        """Add to the ledger of a day what was used since, by kind of token."""
        for name in TOKENS:
            self.enter(day, name, getattr(after, name) - getattr(before, name))

    def hold(self, name: str, turn: Held) -> Held:
        """Write a turn in flight, and keep the sums of what is promised."""
        before = self.held.get(name)
        turn = self._promised(turn)
        self.add("tokens", turn.open_tokens - (before.open_tokens if before else 0))
        self.add("nanos", turn.open_nanos - (before.open_nanos if before else 0))
        self.add("count", 0 if before else 1)
        self.held[name] = turn
        return turn

    def drop(self, name: str) -> None:
        """Take a turn from those in flight."""
        turn = self.held.pop(name)
        self.add("tokens", -turn.open_tokens)
        self.add("nanos", -turn.open_nanos)
        self.add("count", -1)

    def _promised(self, turn: Held) -> Held:
        own = turn.currency in ("", self.texts.get("currency", ""))
        nanos = max(0, turn.estimated_nanos - turn.used.nanos) if own else turn.estimated_nanos
        return replace(turn, open_tokens=max(0, turn.estimated_tokens - turn.used.tokens), open_nanos=nanos)

    def lapse(self, now: int) -> None:
        """End turns whose holders gave no sign. Their estimates count as open, until the bill is known."""
        over = sorted((turn.till, name) for name, turn in self.held.items() if turn.till < now)
        for _, name in over[:_MOST_LAPSED]:
            turn, currency = self.held[name], self.texts.get("currency", "")
            tokens, nanos = turn.open_tokens, turn.open_nanos if currency else 0
            self.enter(turn.day, "lapsed", 1)
            self.enter(turn.day, "open_tokens", tokens)
            self.enter(turn.day, f"open_cost:{currency}", nanos)
            self.done[name] = Done(
                day=turn.day,
                used=turn.used,
                currency=turn.currency,
                open_tokens=tokens,
                open_nanos=nanos,
                open_currency=currency,
            )
            self.drop(name)
            if self.texts.get("probing") == name:
                self.texts["probing"] = ""

    def bucket(self, name: str, now: int) -> int:
        """Refill a bucket; return its level in units of a millisecond's share of a minute."""
        rate, at = self.get(name), now // 1000
        level = self.numbers.get(f"{name}_level", rate * model.WHOLE_BUCKET_MS)
        passed = max(0, min(at - self.get(f"{name}_at"), model.LONGEST_REFILL_MS))
        level = min(rate * model.WHOLE_BUCKET_MS, level + rate * passed)
        self.set(f"{name}_level", level)
        self.set(f"{name}_at", at)
        return level

    def pour(self, name: str, amount: int) -> None:
        """Take from a bucket, which may be in debt for as long as a refill counts at most."""
        rate = self.get(name)
        if rate:
            amount = max(-model.MOST_ESTIMATE, min(amount, model.MOST_ESTIMATE))
            level = self.numbers.get(f"{name}_level", rate * model.WHOLE_BUCKET_MS) - amount * model.WHOLE_BUCKET_MS
            self.set(f"{name}_level", max(level, -rate * model.LONGEST_REFILL_MS))
