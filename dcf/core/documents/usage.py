"""Usage of work: tokens, money, time. Data, how a report of it is read, and when a budget is reached. Pure.

Sums are whole numbers, so that they are exact and can be added in any order: tokens, milliseconds, and money in
billionths of its unit. Money is summed by currency; nothing is converted.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from dcf.core.documents.parking import ACCOUNT_NAME
from dcf.core.documents.usage_sums import CACHED_TOKENS, COST, NANO, TOKENS, money, sums_of_tree
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_name, is_id
from dcf.values.json_text import Json
from dcf.values.records import record, replace

MOST_TOKENS: Final = 10**12
MOST_SECONDS: Final = 10**8
_MOST_SUM: Final = 2**62
"""Largest sum that is shown. Redis counts up to 2**63."""

MOST_MODELS: Final = 10
"""Models of one report whose parts are told apart; amounts of further ones are only in its sums."""

_LONGEST_MODEL: Final = 100
_MONEY: Final = re.compile(r"([0-9]{1,6})(?:\.([0-9]{1,9}))?\Z", re.ASCII)
_ACCOUNT: Final = re.compile(rf"{ACCOUNT_NAME}\Z", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Z]{3}\Z", re.ASCII)
_AMOUNTS: Final = (*TOKENS, "ms", "nanos")
_PART_FIELDS: Final = frozenset({*TOKENS, "cost", "seconds"})
_FIELDS: Final = _PART_FIELDS | {"currency", "model", "models", "turn"}
_TURN_FIELDS: Final = frozenset({"account", "reservation", "usage"})
_BUDGET_FIELDS: Final = frozenset({"tokens", "cost", "currency", "seconds"})
_RUN_BUDGET_FIELDS: Final = _BUDGET_FIELDS | {"tree"}
_MONEY_FIELDS: Final = frozenset({"cost", "currency"})


@record(frozen=True, slots=True, kw_only=True)
class BilledTurn:
    """A turn that was reserved under an account, and what it used in all. It is settled with the report around it."""

    account: str
    reservation: str
    usage: "UsageReport"

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as it is reported and written."""
        return {"account": self.account, "reservation": self.reservation, "usage": self.usage.as_json()}


@record(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """The usage of one attempt, as its holder reported it: `ms` of time, `nanos` of money.

    `tokens_in` are new to the provider; `tokens_cached` were read from its cache, and `tokens_cache_written` written to
    it. `models` are the parts of several models, each with its `model`; the sums include them. `turn` is the last turn
    of the attempt, where its agent has an account; the amounts include its own.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    ms: int = 0
    nanos: int = 0
    currency: str | None = None
    model: str | None = None
    models: "tuple[UsageReport, ...]" = ()
    turn: BilledTurn | None = None

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_in + self.tokens_out + self.tokens_cached + self.tokens_cache_written

    @property
    def parts(self) -> "tuple[UsageReport, ...]":
        """The parts of this report whose model is known."""
        return self.models if self.model is None else (replace(self, turn=None),)

    def amounts(self) -> dict[str, int]:
        """Return the amounts to add to sums, by the names of the sums."""
        amounts = {name: getattr(self, name) for name in (*TOKENS, "ms")}
        if self.currency is not None:
            amounts[f"{COST}{self.currency}"] = self.nanos
        return {"reports": 1} | {name: amount for name, amount in amounts.items() if amount}

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as a completion reports it."""
        members = _shown(self) | ({} if self.currency is None else {"currency": self.currency})
        if self.models:
            members["models"] = {str(part.model): _part_shown(part) for part in self.models}
        elif self.model is not None:
            members["model"] = self.model
        return members if self.turn is None else members | {"turn": self.turn.as_json()}

    def with_more(self, more: "UsageReport") -> "UsageReport":
        """Return both as one report, with the later turn. Raise InvalidArgument for two currencies."""
        return replace(_both(self, more), turn=more.turn or self.turn)


def _both(report: UsageReport, more: UsageReport) -> UsageReport:
    total = _total(report, more)
    parts: dict[str | None, UsageReport] = {}
    for part in (*report.parts, *more.parts):
        before = parts.get(part.model)
        if before is not None or len(parts) < MOST_MODELS:
            parts[part.model] = part if before is None else replace(_total(before, part), model=part.model)
    if len(parts) == 1:
        (whole,) = parts.values()
        return whole if replace(whole, model=None) == total else replace(total, models=(whole,))
    return replace(total, models=tuple(parts.values()))


def _shown(report: UsageReport) -> dict[str, Json]:
    cached = {name: getattr(report, name) for name in CACHED_TOKENS if getattr(report, name)}
    amounts = {"tokens_in": report.tokens_in, "tokens_out": report.tokens_out, **cached, "seconds": report.ms / 1000}
    return amounts if report.currency is None else {**amounts, "cost": money(report.nanos)}


def _part_shown(part: UsageReport) -> dict[str, Json]:
    return {name: value for name, value in _shown(part).items() if value and value != "0"}


def _total(report: UsageReport, more: UsageReport) -> UsageReport:
    if None not in (report.currency, more.currency) and report.currency != more.currency:
        raise InvalidArgument(
            f"{more.currency} cannot be added to {report.currency}: one piece of work reports one currency.",
            "Convert the money before you report it.",
        )
    amounts = {name: getattr(report, name) + getattr(more, name) for name in _AMOUNTS}
    return replace(UsageReport(currency=report.currency or more.currency), **amounts)


@record(frozen=True, slots=True, kw_only=True)
class Charge:
    """A report of usage that is written with the state that it is about: whose it is, and of which day.

    It also counts in the trees of the run's `ancestors`. `heads_tree`: the budget of the run is one of its tree.
    """

    state: str
    agent: str
    day: str
    usage: UsageReport
    ancestors: tuple[str, ...] = ()
    heads_tree: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Budget:
    """The maximum usage of a run or a project: all tokens together, money of one currency, time of work.

    `tree`: it is for the run and all runs below it. `issue` is the one in the run's journal that was opened when it was
    used up.
    """

    tokens: int | None = None
    nanos: int | None = None
    currency: str | None = None
    ms: int | None = None
    tree: bool = False
    issue: str | None = None

    def reached(self, run_sums: Mapping[str, int]) -> str | None:
        """Return which part of the budget is used up, in words; None if none is."""
        sums = sums_of_tree(run_sums) if self.tree else run_sums
        tokens = sum(sums.get(name, 0) for name in TOKENS)
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
            "tree": self.tree or None,
        }
        return {name: value for name, value in shown.items() if value is not None}


def read_report(document: Json, name: str = "usage_json") -> UsageReport:
    """Read a report of usage; raise InvalidArgument for anything that is not one."""
    fields = _object(document, name, _FIELDS)
    nanos, currency = _cost(fields, name)
    model, models = fields.get("model"), fields.get("models")
    turn = None if fields.get("turn") is None else read_turn(fields["turn"], f"turn in {name}")
    report = replace(_amounts(fields, nanos, name), currency=currency, turn=turn)
    if models is not None:
        return _with_models(report, fields, models, name)
    return report if model is None else replace(report, model=_model(model, f"model in {name}"))


def read_reported(used: Mapping[str, Any], name: str = "report_usage") -> UsageReport:
    """Read what a program reports: its money may be a number, and None is as if the member were not there."""
    return read_report(_in_text(used), name)


def _in_text(used: Mapping[str, Any]) -> dict[str, Json]:
    fields = {member: value for member, value in used.items() if value is not None}
    if not isinstance(fields.get("cost", ""), str):
        fields["cost"] = f"{fields['cost']:.9f}"
    models = fields.get("models")
    if isinstance(models, Mapping):
        fields["models"] = {model: _in_text(part) for model, part in models.items()}
    return fields


def _with_models(report: UsageReport, fields: Mapping[str, Json], models: Json, name: str) -> UsageReport:
    """Return the report with its parts. Its amounts are at least their sums, and have the same bounds."""
    if not isinstance(models, dict) or not 0 < len(models) <= MOST_MODELS or fields.get("model") is not None:
        raise InvalidArgument(
            f"models in {name} is not an object of 1 to {MOST_MODELS} models, or model is there as well.",
            'Send {"models": {"m-1": {"tokens_in": 900}, "m-2": {"tokens_in": 80}}}, without model.',
        )
    parts = tuple(_part(model, part, report.currency, f"models in {name}") for model, part in models.items())
    most = {member: max(getattr(report, member), sum(getattr(part, member) for part in parts)) for member in _AMOUNTS}
    report = replace(report, **most)
    read_report(replace(report, turn=None).as_json(), name)
    return replace(report, models=parts)


def _part(model: str, document: Json, currency: str | None, name: str) -> UsageReport:
    fields = {} if document == {} else _object(document, name, _PART_FIELDS)
    priced = {"cost": fields.get("cost"), "currency": currency} if fields.get("cost") is not None else {}
    nanos, _ = _cost(priced, name)
    return replace(_amounts(fields, nanos, name), currency=currency, model=_model(model, name))


def _amounts(fields: Mapping[str, Json], nanos: int | None, name: str) -> UsageReport:
    return UsageReport(
        tokens_in=_count(fields, "tokens_in", name) or 0,
        tokens_out=_count(fields, "tokens_out", name) or 0,
        tokens_cached=_count(fields, "tokens_cached", name) or 0,
        tokens_cache_written=_count(fields, "tokens_cache_written", name) or 0,
        ms=_ms(fields, name) or 0,
        nanos=nanos or 0,
    )


def read_turn(document: Json, name: str) -> BilledTurn:
    """Read a turn and its usage; raise InvalidArgument for anything that is not one."""
    fields = _object(document, name, _TURN_FIELDS)
    account: Json = fields.get("account")
    reservation: Json = fields.get("reservation")
    usage: Json = fields.get("usage")
    is_named = isinstance(account, str) and isinstance(reservation, str) and isinstance(usage, dict)
    if not is_named or "turn" in usage or not _ACCOUNT.match(account) or not is_id(reservation):
        raise InvalidArgument(f"{name} has not account, reservation and usage.", "Send the turn as it was reserved.")
    return BilledTurn(account=account, reservation=reservation, usage=read_report(usage, name))


def _model(model: Json, name: str) -> str:
    if not isinstance(model, str) or not model:
        raise InvalidArgument(f"{name} is not a text.", "Leave it out, or send the name of the model.")
    check_name(model, name, _LONGEST_MODEL)
    return model


def read_budget(document: Json, name: str = "budget_json") -> Budget | None:
    """Read a budget; None for one without limits. Raise InvalidArgument for anything that is not one."""
    fields = _object(document, name, _RUN_BUDGET_FIELDS)
    nanos, currency = _cost(fields, name)
    tree = fields.get("tree")
    if tree not in (None, True, False):
        raise InvalidArgument(f"tree in {name} is not true or false.", "Send true for the run and all below it.")
    budget = Budget(tokens=_count(fields, "tokens", name), nanos=nanos, currency=currency, ms=_ms(fields, name))
    return None if budget == Budget() else replace(budget, tree=tree is True)


def read_budget_change(document: Json, name: str = "budget_json", *, of_run: bool = False) -> Mapping[str, Json]:
    """Return what a caller wants of a budget, as `changed_budget` takes it. Raise InvalidArgument for anything else.

    Only the budget of a run may be one of its tree.
    """
    if document == {}:
        return {}
    fields = _object(document, name, _RUN_BUDGET_FIELDS if of_run else _BUDGET_FIELDS)
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
    return int(amount[1]) * NANO + int((amount[2] or "").ljust(9, "0")), currency
