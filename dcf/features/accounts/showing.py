"""Says how an account is: open or closed, what is in flight, and what it has used today. Pure."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Final

from dcf.core.documents.usage import COST, money
from dcf.features.accounts import model
from dcf.features.accounts.overview import AccountView
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_NAMES: Final = {
    "in_flight": "in_flight",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "day_tokens": "tokens_per_day",
}
_EPOCH: Final = date(1970, 1, 1).toordinal()
_OPEN_COST: Final = f"open_{COST}"


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
    amounts = {name: used[name] for name in ("tokens_in", "tokens_out", "cost")}
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
        "tokens_in": sums.get("tokens_in", 0),
        "tokens_out": sums.get("tokens_out", 0),
        "cost": costs,
        "turns": sums.get("turns", 0),
        "open": {"tokens": sums.get("open_tokens", 0), "cost": opened, "turns": sums.get("lapsed", 0)},
    }
