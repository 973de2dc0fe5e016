"""`dcf accounts` and `dcf runs usage --account`: what they print of accounts."""

import json
import secrets

from tests.cli.conftest import Dcf


def test_the_list_names_the_end_the_reason_and_the_reporter_of_a_limit(dcf: Dcf) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    money = json.dumps({"cost": "50", "currency": "USD"})
    dcf("accounts", "set", account, "--in-flight", 20, "--tokens-per-day", 5000, "--cost-per-day", money)
    dcf("accounts", "close", account, "--until", "2h", "--reason", "five-hour limit")
    closed = json.loads(dcf("accounts", "show", account, "--json").stdout)["closed"]
    line = (
        f"{account}: closed until {closed['until'][:19]}Z (five-hour limit, reported by {closed['reported_by']}),"
        " 0 of 20 in flight,"
        " today 0 of 5,000 tokens and 0 of 50 USD"
    )
    assert line in dcf("accounts", "ls").stdout.splitlines()
    shown = dcf("accounts", "show", account).stdout
    assert line in shown
    assert "closed since: " in shown
    assert "opens" in dcf("accounts", "open", account).stdout
    assert f"{account}: opening, 0 of 20 in flight" in dcf("accounts", "ls").stdout


def test_a_limit_without_an_end_says_so(dcf: Dcf) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    dcf("accounts", "close", account)
    assert f"{account}: closed, nobody knows until when (limit, reported by " in dcf("accounts", "ls").stdout


def test_a_limit_on_a_family_of_models_is_of_these_alone(dcf: Dcf) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    closed = dcf("accounts", "close", account, "--until", "2h", "--family", "Opus")
    assert f"Account '{account}' is closed for models of the family opus until 2" in closed.stdout
    assert f"{account}: open, closed for opus until 2" in dcf("accounts", "ls").stdout
    assert "needs its end" in dcf("accounts", "close", account, "--family", "opus").stderr


def test_the_usage_of_an_account_is_read_by_days(dcf: Dcf) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    dcf("accounts", "set", account)
    usage = {"tokens_in": 900, "cost": "0.25", "currency": "EUR"}
    bills = [{"reservation": f"t{day}", "usage": usage, "day": f"2026-11-2{day}"} for day in (4, 5)]
    dcf("accounts", "settle", account, json.dumps(bills))
    read = ("runs", "usage", "--account", account, "--since", "2026-11-23", "--until", "2026-11-26")
    shown = dcf(*read).stdout.splitlines()
    assert "total: 1,800 tokens in, 0 out, 0 s, 0.5 EUR in 2 reports" in shown
    assert "  day 2026-11-24: 900 tokens in, 0 out, 0 s, 0.25 EUR in 1 reports" in shown
    assert sorted(json.loads(dcf(*read, "--json").stdout)["days"]) == ["2026-11-24", "2026-11-25"]
    assert "There is no account" in dcf("runs", "usage", "--account", "acc-unknown").stderr
    assert "not a day" in dcf("runs", "usage", "--account", account, "--since", "2026-13-01").stderr
