"""Prints the answers of `dcf accounts`."""

from collections.abc import Mapping

from dcf.cli.reading.views import print_line
from dcf.cli.text import clean
from dcf.values.json_text import Json


def show_accounts(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a line for each account."""
    for account in answer["accounts"]:
        print_line(_line(account))


def show_account(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print an account whole."""
    print_line(_line(answer))
    for name, value in answer["limits"].items():
        told = f"{value['cost']} {value['currency']}" if isinstance(value, dict) else f"{value:,}"
        print_line(f"  {name.replace('_', ' ')}: {told}")
    print_line(f"  today: {_day(answer['today'])}")
    if answer["agents"]:
        print_line(f"  agents: {', '.join(map(clean, answer['agents']))}")


def show_prices(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the table of prices."""
    for pattern, row in answer["prices"].items():
        print_line(f"{clean(pattern)}: {row['input']} in, {row['output']} out {row['currency']} for a million tokens")


def show_stated(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the ledger of today after a statement."""
    print_line(f"{answer['lines']} lines are in the ledger. Today: {_day(answer['today'])}")


def _line(account: Mapping[str, Json]) -> str:
    closed = account["closed"]
    state = account["status"]
    if closed is not None:
        until = closed["until"] if closed["is_known"] else "nobody knows when"
        state = f"closed until {until} ({clean(closed['kind'])}, reported by {clean(closed['reported_by'])})"
    most = account["limits"].get("in_flight")
    flight = f"{account['in_flight']} of {most}" if most else f"{account['in_flight']}"
    return f"{clean(account['account'])}: {state}, {flight} in flight"


def _day(today: Mapping[str, Json]) -> str:
    cost = "".join(f", {amount} {currency}" for currency, amount in sorted(today["cost"].items()))
    opened = today["open"]
    unknown = f"; {opened['tokens']:,} tokens of {opened['turns']} killed turns are open" if opened["tokens"] else ""
    return f"{today['tokens_in']:,} tokens in, {today['tokens_out']:,} out{cost} in {today['turns']} turns{unknown}"
