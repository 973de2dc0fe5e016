"""Prints the answers of `dcf runs usage` and `dcf accounts`.

The command `dcf runs budget` takes each limit as an option of its own.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.commands.derived import call_verb, print_record
from dcf.cli.commands.lifecycle import Reason, RequestId
from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean
from dcf.core.documents.usage_sums import TOKENS
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, dump

_PARTS: Final = {"child": "children", "state": "states", "agent": "agents", "model": "models", "day": "days"}
_CACHE: Final = {"tokens_cached": "cached", "tokens_cache_written": "written to caches"}
_PRICES: Final = {"cached_input": "cached", "cache_write": "written to caches"}


def show_usage(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the sums, and of what they consist."""
    print_line(f"total: {_sums(answer['total'])}")
    if answer.get("tree"):
        print_line(f"tree: {_sums(answer['tree'])}")
    if answer.get("period"):
        print_line(f"period: {_sums(answer['period'])}")
    if answer.get("budget"):
        print_line(f"budget: {', '.join(f'{name} {amount}' for name, amount in answer['budget'].items())}")
    for word, part in _PARTS.items():
        for name, sums in sorted((answer.get(part) or {}).items()):
            print_line(f"  {word} {clean(name)}: {_sums(sums)}")
    if answer.get("next_cursor"):
        say(f"There are more: --cursor {answer['next_cursor']}")


def _sums(sums: Mapping[str, Json]) -> str:
    cost = "".join(f", {amount} {currency}" for currency, amount in sums["cost"].items())
    return f"{_tokens(sums)}, {sums['seconds']:,g} s{cost} in {sums['reports']} reports"


def _tokens(sums: Mapping[str, Json]) -> str:
    cached = "".join(f", {sums[name]:,} {word}" for name, word in _CACHE.items() if sums.get(name))
    return f"{sums['tokens_in']:,} tokens in, {sums['tokens_out']:,} out{cached}"


def budget(
    run: RunArgument,
    tokens: Annotated[int | None, typer.Option(help="Tokens in and out together.", min=1)] = None,
    cost: Annotated[str | None, typer.Option(help="Money, with its currency: 5EUR.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds of work.", min=0.001)] = None,
    tree: Annotated[bool | None, typer.Option("--tree/--no-tree", help="For all runs below it, too.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the budget away.")] = False,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a run may use up; limits that are not named stay. Once one is used up, no lease is granted in it."""
    limits: dict[str, Json] = {"tokens": tokens, "seconds": seconds, "tree": tree}
    if cost is not None:
        limits |= {"cost": cost[:-3], "currency": cost[-3:]}
    named = {name: value for name, value in limits.items() if value is not None}
    if bool(named) is none:
        raise InvalidArgument("Nothing is asked for, or both a budget and none.", "Give limits, or --none.")
    about = {"workflow_id": run, "reason": reason, "request_id": request_id}
    answer = call_verb("set_budget", budget_json=dump(named), **about)
    if as_json:
        print_record("set_budget", answer)
    elif answer["used_up"] is None:
        say(f"The budget of {clean(run)} is set.")
    else:
        say(f"The budget is set, and used up: {answer['used_up']}.")


def show_accounts(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a line for each account."""
    for account in answer["accounts"]:
        print_line(_account_line(account))


def show_account(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print an account whole."""
    print_line(_account_line(answer))
    if answer["closed"] is not None:
        print_line(f"  closed since: {answer['closed']['since'][:19]}Z")
    for name, value in answer["limits"].items():
        amount = f"{value['cost']} {value['currency']}" if isinstance(value, dict) else f"{value:,}"
        print_line(f"  {name.replace('_', ' ')}: {amount}")
    print_line(f"  today: {_day_line(answer['today'])}")
    if answer["agents"]:
        print_line(f"  agents: {', '.join(map(clean, answer['agents']))}")


def show_prices(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the table of prices."""
    for pattern, row in answer["prices"].items():
        caches = "".join(f", {row[name]} {word}" for name, word in _PRICES.items() if name in row)
        amounts = f"{row['input']} in{caches}, {row['output']} out {row['currency']}"
        print_line(f"{clean(pattern)}: {amounts} for a million tokens")


def show_stated(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the ledger of today after a statement."""
    print_line(f"{answer['lines']} lines are in the ledger. Today: {_day_line(answer['today'])}")


def _account_line(account: Mapping[str, Json]) -> str:
    closed = account["closed"]
    state = account["status"]
    if closed is not None:
        until = f" until {closed['until'][:19]}Z" if closed["is_known"] else ", nobody knows until when"
        reason = closed["reason"] or closed["kind"]
        state = f"closed{until} ({clean(reason)}, reported by {clean(closed['reported_by'])})"
    most = account["limits"].get("in_flight")
    families = account["closed_models"].items()
    state += "".join(f", closed for {clean(name)} until {limit['until'][:19]}Z" for name, limit in families)
    flight = f"{account['in_flight']} of {most}" if most else f"{account['in_flight']}"
    parked = f", {account['parked_states']} states parked" if account["parked_states"] else ""
    return f"{clean(account['account'])}: {state}, {flight} in flight{parked}{_budget_line(account)}"


def _budget_line(account: Mapping[str, Json]) -> str:
    """Return what is used of the budgets of today; nothing without a budget."""
    today, limits = account["today"], account["limits"]
    parts = []
    if limits.get("tokens_per_day"):
        parts.append(f"{sum(today[kind] for kind in TOKENS):,} of {limits['tokens_per_day']:,} tokens")
    money = limits.get("cost_per_day")
    if money:
        parts.append(f"{today['cost'].get(money['currency'], '0')} of {money['cost']} {money['currency']}")
    return f", today {' and '.join(parts)}" if parts else ""


def _day_line(today: Mapping[str, Json]) -> str:
    cost = "".join(f", {amount} {currency}" for currency, amount in sorted(today["cost"].items()))
    opened = today["open"]
    unknown = f"; {opened['tokens']:,} tokens of {opened['turns']} killed turns are open" if opened["tokens"] else ""
    return f"{_tokens(today)}{cost} in {today['turns']} turns{unknown}"
