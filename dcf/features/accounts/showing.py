"""Says how an account is: open or closed, what is in flight, and what it has used today. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.usage import COST, money
from dcf.features.accounts import model
from dcf.features.accounts.model import Books
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_NAMES: Final = {
    "in_flight": "in_flight",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "day_tokens": "tokens_per_day",
}
_OPEN_COST: Final = f"open_{COST}"


def account_shown(name: str, books: Books, agents: Sequence[str], now: int) -> dict[str, Json]:
    """Return an account as JSON."""
    numbers, texts = books.numbers, books.texts
    limits: dict[str, Json] = {shown: numbers[own] for own, shown in _NAMES.items() if numbers.get(own)}
    if numbers.get("day_nanos"):
        limits["cost_per_day"] = {"cost": money(numbers["day_nanos"]), "currency": texts.get("currency", "")}
    return {
        "account": name,
        "status": status_of(numbers, now),
        "limits": limits,
        "closed": _closure(books, now),
        "in_flight": numbers.get("count", 0),
        "reserved_tokens": numbers.get("tokens", 0),
        "today": day_shown(books.days.get(now // model.DAY, {})),
        "agents": list(agents),
    }


def status_of(numbers: Mapping[str, int], now: int) -> str:
    """Return whether the account is open, closed, or opening step by step."""
    until = numbers.get("until", 0)
    return "open" if until == 0 else "closed" if until > now else "opening"


def _closure(books: Books, now: int) -> dict[str, Json] | None:
    numbers, texts = books.numbers, books.texts
    if numbers.get("until", 0) <= now:
        return None
    return {
        "until": to_text(numbers["until"]),
        "is_known": bool(numbers.get("told")),
        "since": to_text(numbers.get("since", 0)),
        "kind": texts.get("kind", ""),
        "reported_by": texts.get("by", ""),
        "reason": texts.get("why", ""),
    }


def day_shown(sums: Mapping[str, int]) -> dict[str, Json]:
    """Return the ledger of a day: money as text, by currency; `open` is what killed turns may have used as well."""
    costs = {name.removeprefix(COST): money(amount) for name, amount in sums.items() if name.startswith(COST)}
    opened = {
        name.removeprefix(_OPEN_COST): money(amount)
        for name, amount in sums.items()
        if name.startswith(_OPEN_COST) and amount
    }
    return {
        "tokens_in": sums.get("tokens_in", 0),
        "tokens_out": sums.get("tokens_out", 0),
        "cost": costs,
        "turns": sums.get("turns", 0),
        "open": {"tokens": sums.get("open_tokens", 0), "cost": opened, "turns": sums.get("lapsed", 0)},
    }
