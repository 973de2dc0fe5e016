"""`dcf runs usage` and `dcf runs budget`: what they take and print."""

import json
import uuid
from datetime import UTC, datetime, timedelta

from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows


def test_a_budget_is_set_read_and_taken_away(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="a")
    assert f"The budget of {run} is set." in dcf("runs", "budget", run, "--tokens", 200, "--cost", "5EUR").stderr
    document = json.loads(dcf("runs", "budget", run, "--seconds", 60, "--reason", "longer", "--json").stdout)
    assert document["budget"] == {"tokens": 200, "cost": "5", "currency": "EUR", "seconds": 60}
    assert (document["workflow_id"], document["repeated"], document["used_up"]) == (run, False, None)
    shown = dcf("runs", "usage", run).stdout
    assert "total: 0 tokens in, 0 out, 0 s in 0 reports" in shown
    assert "budget: tokens 200, cost 5, currency EUR" in shown
    assert json.loads(dcf("runs", "usage", run, "--json").stdout)["budget"]["tokens"] == 200
    assert json.loads(dcf("runs", "budget", run, "--none", "--json").stdout)["budget"] is None


def test_usage_of_an_agent_is_read_by_days(dcf: Dcf) -> None:
    agent, today = f"a-{uuid.uuid4().hex[:8]}", datetime.now(UTC).date()
    since, until = (today - timedelta(days=2)).isoformat(), today.isoformat()
    assert "period: 0 tokens in" in dcf("runs", "usage", "--agent", agent, "--since", since, "--until", until).stdout
    assert json.loads(dcf("runs", "usage", "--agent", agent, "--since", "7d", "--json").stdout)["days"] == {}


@rows(
    ("arguments", "words"),
    [
        (
            ("runs", "usage"),
            "Exactly one of",
        ),
        (("runs", "usage", "--agent", "a", "--project", "p"), "Exactly one of"),
        (("runs", "usage", "--agent", "a", "--since", "yesterday"), "since is no point in time"),
        (("runs", "usage", "--agent", "a", "--since", "2026-13-01"), "not a day"),
        (("runs", "budget", "r"), "Give limits, or --none"),
        (("runs", "budget", "r", "--none", "--tokens", "5"), "Give limits, or --none"),
    ],
)
def test_what_is_wrong_is_said(dcf: Dcf, arguments: tuple[str, ...], words: str) -> None:
    wrong = dcf(*arguments)
    assert (wrong.exit_code, words in " ".join(wrong.stderr.split())) == (2, True), wrong.stderr
