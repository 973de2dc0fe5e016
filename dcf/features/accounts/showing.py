"""An account as lists, metrics, `why` and callers see it: sums without turns, and how many states wait. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

from dcf.core.documents.usage_sums import COST, TOKENS, money
from dcf.features.accounts import model
from dcf.features.accounts.decisions import family_limits
from dcf.features.accounts.model import Books
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record

_NAMES: Final = {
    "in_flight": "in_flight",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "day_tokens": "tokens_per_day",
}
_EPOCH: Final = date(1970, 1, 1).toordinal()
_OPEN_COST: Final = f"open_{COST}"

UNIT_OF_TOKENS: Final = "tokens"
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
        yield UNIT_OF_TOKENS, float(sum(sums.get(name, 0) for name in (*TOKENS, "open_tokens")))
        for name in sums:
            if name.startswith(COST):
                currency = name.removeprefix(COST)
                yield currency, float(money(sums[name] + sums.get(f"open_{name}", 0)))

    @property
    def budgets(self) -> Iterator[tuple[str, float]]:
        """The budgets of a day by unit."""
        numbers = self.books.numbers
        if numbers.get("day_tokens"):
            yield UNIT_OF_TOKENS, float(numbers["day_tokens"])
        if numbers.get("day_nanos"):
            yield self.books.texts.get("currency", ""), float(money(numbers["day_nanos"]))


def account_shown(view: AccountView, now: int) -> dict[str, Json]:
    """Return an account as JSON."""
    numbers, texts = view.books.numbers, view.books.texts
    limits: dict[str, Json] = {shown: numbers[own] for own, shown in _NAMES.items() if numbers.get(own)}
    if numbers.get("day_nanos"):
        limits["cost_per_day"] = {"cost": money(numbers["day_nanos"]), "currency": texts.get("currency", "")}
    return {
        "account": view.name,
        "status": _status(view, now),
        "limits": limits,
        "closed": _closure(view, now),
        "closed_models": dict(_families(view, now)),
        "in_flight": numbers.get("count", 0),
        "reserved_tokens": numbers.get("tokens", 0),
        "parked_states": view.parked,
        "today": day_shown(view.books.days.get(now // model.DAY, {})),
        "agents": list(view.agents),
    }


def _status(view: AccountView, now: int) -> str:
    """Return whether the account is open, closed, or opening step by step."""
    if not view.is_open(now):
        return "closed"
    return "opening" if view.books.numbers.get("until") else "open"


def _closure(view: AccountView, now: int) -> dict[str, Json] | None:
    numbers, texts = view.books.numbers, view.books.texts
    if view.is_open(now):
        return None
    return {
        "until": to_text(numbers["until"]),
        "is_known": bool(numbers.get("told")),
        "since": to_text(numbers.get("since", 0)),
        "kind": texts.get("kind", ""),
        "reported_by": texts.get("by", ""),
        "reason": texts.get("why", ""),
    }


def _families(view: AccountView, now: int) -> Iterator[tuple[str, Json]]:
    for family, (until, by) in family_limits(view.books.texts).items():
        if until > now:
            yield family, {"until": to_text(until), "reported_by": by}


def day_number(day: str) -> int:
    """Return the number of a day (2026-11-24) since 1970."""
    return date.fromisoformat(day).toordinal() - _EPOCH


def ledger_shown(days: Mapping[int, Mapping[str, int]]) -> dict[str, Json]:
    """Return the ledgers of days and their sum, as sums of usage are shown; each turn is a report."""
    total = Counter[str]()
    for sums in days.values():
        total.update(sums)
    by_day = {date.fromordinal(number + _EPOCH).isoformat(): _usage(sums) for number, sums in sorted(days.items())}
    return {"total": _usage(total), "period": _usage(total), "days": by_day}


def _usage(sums: Mapping[str, int]) -> dict[str, Json]:
    used = day_shown(sums)
    amounts = {name: used[name] for name in (*TOKENS, "cost")}
    return {**amounts, "seconds": 0.0, "reports": used["turns"]}


def day_shown(sums: Mapping[str, int]) -> dict[str, Json]:
    """Return the ledger of a day: money as text, by currency; `open` is what killed turns may have used as well."""
    costs = {name.removeprefix(COST): money(amount) for name, amount in sums.items() if name.startswith(COST)}
    opened = {
        name.removeprefix(_OPEN_COST): money(amount)
        for name, amount in sums.items()
        if name.startswith(_OPEN_COST) and amount
    }
    return {
        **{name: sums.get(name, 0) for name in TOKENS},
        "cost": costs,
        "turns": sums.get("turns", 0),
        "open": {"tokens": sums.get("open_tokens", 0), "cost": opened, "turns": sums.get("lapsed", 0)},
    }
