"""Usage of work: tokens, money, time. Data, how a report of it is read, and when a budget is reached. Pure.

Sums are whole numbers, so that they are exact and can be added in any order: tokens, milliseconds, and money in
billionths of its unit. Money is summed by currency; nothing is converted.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_name
from dcf.values.json_text import Json
from dcf.values.records import record, replace

MOST_TOKENS: Final = 10**12
MOST_SECONDS: Final = 10**8
_NANO: Final = 10**9
_MOST_SUM: Final = 2**62
"""Largest sum that is shown. Redis counts up to 2**63."""

_LONGEST_MODEL: Final = 100
_MONEY: Final = re.compile(r"([0-9]{1,6})(?:\.([0-9]{1,9}))?\Z", re.ASCII)
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,53}\Z", re.ASCII)
_RESERVATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Z]{3}\Z", re.ASCII)
_FIELDS: Final = frozenset({"tokens_in", "tokens_out", "cost", "currency", "seconds", "model", "turn"})
_BUDGET_FIELDS: Final = frozenset({"tokens", "cost", "currency", "seconds"})
_MONEY_FIELDS: Final = frozenset({"cost", "currency"})
COST: Final = "cost:"
"""How the name of a sum of money begins; its currency follows."""


@record(frozen=True, slots=True, kw_only=True)
class BilledTurn:
    """A turn that was reserved under an account, and what it used in all. It is settled with the report around it."""

    account: str
    reservation: str
    usage: "UsageReport"

    @property
    def name(self) -> str:
        """The account and the reservation."""
        return f"{self.account}/{self.reservation}"

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as it is reported and written."""
        return {"account": self.account, "reservation": self.reservation, "usage": self.usage.as_json()}


@record(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """The usage of one attempt, as its holder reported it: `ms` of time, `nanos` of money.

    `turn` is the last turn of the attempt, where its agent has an account; the amounts include its own.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    ms: int = 0
    nanos: int = 0
    currency: str | None = None
    model: str | None = None
    turn: BilledTurn | None = None

    def amounts(self) -> dict[str, int]:
        """Return the amounts to add to sums, by the names of the sums."""
        amounts = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "ms": self.ms}
        if self.currency is not None:
            amounts[f"{COST}{self.currency}"] = self.nanos
        return {"reports": 1} | {name: amount for name, amount in amounts.items() if amount}

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as a completion reports it."""
        members: dict[str, Json] = {
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": self.ms / 1000,
        }
        if self.currency is not None:
            members |= {"cost": money(self.nanos), "currency": self.currency}
        members |= {} if self.model is None else {"model": self.model}
        return members if self.turn is None else members | {"turn": self.turn.as_json()}

    def with_more(self, more: "UsageReport") -> "UsageReport":
        """Return both as one report, without a model where theirs differ. Raise InvalidArgument for two currencies."""
        if None not in (self.currency, more.currency) and self.currency != more.currency:
            raise InvalidArgument(
                f"{more.currency} cannot be added to {self.currency}: one piece of work reports one currency.",
                "Convert the money before you report it.",
            )
        return UsageReport(
            tokens_in=self.tokens_in + more.tokens_in,
            tokens_out=self.tokens_out + more.tokens_out,
            ms=self.ms + more.ms,
            nanos=self.nanos + more.nanos,
            currency=self.currency or more.currency,
            model=self.model if self.model == more.model else None,
            turn=more.turn or self.turn,
        )


@record(frozen=True, slots=True, kw_only=True)
class Charge:
    """A report of usage that is written with the state that it is about: whose it is, and of which day."""

    state: str
    agent: str
    day: str
    usage: UsageReport


@record(frozen=True, slots=True, kw_only=True)
class Budget:
    """The maximum usage of a run or a project: tokens in and out together, money of one currency, time of work.

    `issue` is the one in the run's journal that was opened when it was used up.
    """

    tokens: int | None = None
    nanos: int | None = None
    currency: str | None = None
    ms: int | None = None
    issue: str | None = None

    def reached(self, sums: Mapping[str, int]) -> str | None:
        """Return which part of the budget is used up, in words; None if none is."""
        tokens = sums.get("tokens_in", 0) + sums.get("tokens_out", 0)
        if self.tokens is not None and tokens >= self.tokens:
            return f"{tokens} of {self.tokens} tokens"
        spent = sums.get(f"{COST}{self.currency}", 0)
        if self.nanos is not None and spent >= self.nanos:
            return f"{money(spent)} of {money(self.nanos)} {self.currency}"
        if self.ms is not None and sums.get("ms", 0) >= self.ms:
            return f"{sums['ms'] / 1000:g} of {self.ms / 1000:g} seconds"
        return None

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as it is written and shown."""
        shown: dict[str, Json] = {
            "tokens": self.tokens,
            "cost": None if self.nanos is None else money(self.nanos),
            "currency": self.currency,
            "seconds": None if self.ms is None else self.ms / 1000,
        }
        return {name: value for name, value in shown.items() if value is not None}


def read_report(document: Json, name: str = "usage_json") -> UsageReport:
    """Read a report of usage; raise InvalidArgument for anything that is not one."""
    fields = _object(document, name, _FIELDS)
    nanos, currency = _cost(fields, name)
    model = fields.get("model")
    if model is not None:
        if not isinstance(model, str) or not model:
            raise InvalidArgument(f"model in {name} is not a text.", "Leave it out, or send the name of the model.")
        check_name(model, f"model in {name}", _LONGEST_MODEL)
    return UsageReport(
        tokens_in=_count(fields, "tokens_in", name) or 0,
        tokens_out=_count(fields, "tokens_out", name) or 0,
        ms=_ms(fields, name) or 0,
        nanos=nanos or 0,
        currency=currency,
        model=model,
        turn=None if fields.get("turn") is None else read_turn(fields["turn"], f"turn in {name}"),
    )


def read_turn(document: Json, name: str) -> BilledTurn:
    """Read a turn and its usage; raise InvalidArgument for anything that is not one."""
    match document:
        case {"account": str(account), "reservation": str(reservation), "usage": dict(usage), **rest} if (
            not rest and "turn" not in usage and _ACCOUNT.match(account) and _RESERVATION.match(reservation)
        ):
            return BilledTurn(account=account, reservation=reservation, usage=read_report(usage, name))
    raise InvalidArgument(f"{name} has not account, reservation and usage.", "Send the turn as it was reserved.")


def read_budget(document: Json, name: str = "budget_json") -> Budget | None:
    """Read a budget; None for one without limits. Raise InvalidArgument for anything that is not one."""
    fields = _object(document, name, _BUDGET_FIELDS)
    nanos, currency = _cost(fields, name)
    budget = Budget(tokens=_count(fields, "tokens", name), nanos=nanos, currency=currency, ms=_ms(fields, name))
    return None if budget == Budget() else budget


def read_budget_change(document: Json, name: str = "budget_json") -> Mapping[str, Json]:
    """Return what a caller wants of a budget, as `changed_budget` takes it. Raise InvalidArgument for anything else."""
    if document == {}:
        return {}
    fields = _object(document, name, _BUDGET_FIELDS)
    named = {field: value for field, value in fields.items() if value is not None}
    if named:
        read_budget(named, name)
    return fields


def changed_budget(before: Budget | None, change: Mapping[str, Json]) -> Budget | None:
    """Return the budget after a change: limits that it does not name stay, null takes one away, {} all of them."""
    if not change:
        return None
    budget = {} if before is None else before.as_json()
    if not _MONEY_FIELDS.isdisjoint(change):
        budget = {field: value for field, value in budget.items() if field not in _MONEY_FIELDS}
    named = {field: value for field, value in (budget | dict(change)).items() if value is not None}
    return read_budget(named) if named else None


def stored_budget(document: Json) -> Budget | None:
    """Return the budget in a document; None if there is none or it is damaged."""
    if not isinstance(document, dict):
        return None
    issue = document.get("issue")
    try:
        budget = read_budget({name: value for name, value in document.items() if name != "issue"})
    except InvalidArgument:
        return None
    return None if budget is None else replace(budget, issue=issue if isinstance(issue, str) else None)


def plus(sums: Mapping[str, int], more: UsageReport) -> dict[str, int]:
    """Return the sums with this usage."""
    sums_after = dict(sums)
    for name, amount in more.amounts().items():
        sums_after[name] = min(sums_after.get(name, 0) + amount, _MOST_SUM)
    return sums_after


def added(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of sums."""
    result: dict[str, int] = {}
    for sums in every:
        for name, amount in sums.items():
            result[name] = result.get(name, 0) + amount
    return result


def sums_shown(sums: Mapping[str, int]) -> dict[str, Json]:
    """Return sums as JSON: money as text, by currency."""
    cost = {name.removeprefix(COST): money(nanos) for name, nanos in sorted(sums.items()) if name.startswith(COST)}
    return {
        "tokens_in": sums.get("tokens_in", 0),
        "tokens_out": sums.get("tokens_out", 0),
        "seconds": sums.get("ms", 0) / 1000,
        "cost": cost,
        "reports": sums.get("reports", 0),
    }


def money(nanos: int) -> str:
    """Return an amount of money as text."""
    whole, part = divmod(nanos, _NANO)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".") if part else str(whole)


def _object(document: Json, name: str, known: frozenset[str]) -> Mapping[str, Json]:
    if not isinstance(document, dict) or not document:
        raise InvalidArgument(f"{name} is not an object.", f"Send an object with some of {', '.join(sorted(known))}.")
    unknown = sorted(set(document) - known)
    if unknown:
        raise InvalidArgument(f"{name} has no member '{unknown[0][:40]}'.", f"It may have {', '.join(sorted(known))}.")
    return document


def _count(document: Mapping[str, Json], field: str, name: str) -> int | None:
    value = document.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise InvalidArgument(f"{field} in {name} is not a whole number from 0 to 10^12.", "Send the number of tokens.")
    return value


def _ms(document: Mapping[str, Json], name: str) -> int | None:
    value = document.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        raise InvalidArgument(f"seconds in {name} is not a number from 0 to 10^8.", "Send seconds, as 12.5.")
    return round(value * 1000)


def _cost(document: Mapping[str, Json], name: str) -> tuple[int | None, str | None]:
    """Return the money in billionths, and its currency."""
    cost, currency = document.get("cost"), document.get("currency")
    if cost is None and currency is None:
        return None, None
    if not isinstance(currency, str) or not _CURRENCY.match(currency) or cost is None:
        raise InvalidArgument(
            f"cost and currency in {name} belong together.", 'Send both: {"cost": "0.25", "currency": "EUR"}.'
        )
    amount = _MONEY.match(cost) if isinstance(cost, str) else None
    if amount is None:
        raise InvalidArgument(
            f"cost in {name} is not an amount of money as text.",
            'Send text, at most 999999 with nine decimals: "0.25"; a number loses digits.',
        )
    return int(amount[1]) * _NANO + int((amount[2] or "").ljust(9, "0")), currency
