"""The page of accounts: a line for each, with its limit, its turns in flight, its budget of today, and parked states.

It shows what `list_accounts` answers, and follows it. It must not decide.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from dcf.core.documents.usage_sums import TOKENS
from dcf.features.diagnosis.facts import lasting
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.web.live.lists import mark_of_accounts
from dcf.web.moments import this_moment
from dcf.web.templating import html
from dcf.web.visit import Visit

_MUCH: Final = 80
"""Percent of a budget from which its use is a warning, as the alert has it."""

_ORDER: Final = ("closed", "opening", "open")
_SHORT_LIMITS: Final = {"requests_per_minute": "turns a minute", "tokens_per_minute": "tokens a minute"}


def accounts_page(visit: Visit, parameters: Mapping[str, str]) -> str:  # noqa: ARG001 - it has no parameters
    """Return the page. Raise ToolRefused for who may not list accounts."""
    reply = visit.ask("list_accounts")
    at = this_moment()
    return html(
        "accounts.html",
        title="Accounts",
        visit=visit,
        accounts=sorted((_row(account, at) for account in reply["accounts"]), key=_closed_first),
        closed=sum(account["status"] == "closed" for account in reply["accounts"]),
        stream="/ui/accounts/live",
        position=mark_of_accounts(reply),
    )


def _closed_first(row: Mapping[str, Any]) -> tuple[int, str]:
    return _ORDER.index(row["status"]), row["account"]


def _row(account: Mapping[str, Json], at: str) -> dict[str, Any]:
    closed, limits = account["closed"], account["limits"]
    until, now = None if closed is None else from_text(closed["until"]), from_text(at)
    return {
        **account,
        "rest": None if until is None or now is None else lasting(until - now),
        "most": limits.get("in_flight"),
        "budgets": _budgets(account),
        "others": [f"{limits[name]:,} {words}" for name, words in _SHORT_LIMITS.items() if name in limits],
    }


def _budgets(account: Mapping[str, Json]) -> list[dict[str, Any]]:
    """Return what is used of each budget of the day; without a budget only what is used."""
    today, limits = account["today"], account["limits"]
    money, costs = limits.get("cost_per_day") or {}, dict(today["cost"])
    used = [("tokens", f"{sum(today[kind] for kind in TOKENS):,}", limits.get("tokens_per_day"))]
    costs.setdefault(money.get("currency", ""), "0")
    used += [
        (currency, amount, money["cost"] if currency == money.get("currency") else None)
        for currency, amount in sorted(costs.items())
        if currency
    ]
    return [_budget(unit, amount, most) for unit, amount, most in used]


def _budget(unit: str, amount: str, most: Json) -> dict[str, Any]:
    if most is None:
        return {"text": f"{amount} {unit}", "percent": None, "is_much": False}
    percent = int(100 * Decimal(amount.replace(",", "")) / Decimal(str(most)))
    shown = f"{most:,}" if isinstance(most, int) else most
    return {"text": f"{amount} of {shown} {unit}", "percent": percent, "is_much": percent >= _MUCH}
