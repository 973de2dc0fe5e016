"""`dcf runs usage` and `dcf runs budget`: what they take and print."""

import json
import uuid
from datetime import UTC, datetime, timedelta

from dcf.core.documents.usage import UsageReport
from dcf.features.children.model import link_of
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


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


def test_the_usage_of_a_tree_is_shown_by_child_run(dcf: Dcf, world: World) -> None:
    head = world.create(chain("A", "B"))
    child = world.create(chain("A", "B"), parent=link_of(world.meta(head), head, "A", 1, ""))
    assert "tree" not in dcf("runs", "usage", head).stdout
    used = UsageReport(tokens_in=1000, tokens_cached=8000, tokens_cache_written=50, nanos=10**9, currency="EUR")
    for run in (head, child):
        world.complete(run, "A", world.acquire(run, "A"), {}, usage=used)
    shown = dcf("runs", "usage", head).stdout
    assert "total: 1,000 tokens in, 0 out, 8,000 cached, 50 written to caches, 0 s, 1 EUR in 1 reports" in shown
    assert "tree: 2,000 tokens in, 0 out, 16,000 cached, 100 written to caches, 0 s, 2 EUR in 2 reports" in shown
    assert f"child {child}: 1,000 tokens in" in dcf("runs", "usage", head, "--tree").stdout
    assert "with all runs below it: 2000 tokens in, 0 out" in dcf("show", head).stdout
    listed = json.loads(dcf("ls", "--json").stdout)
    assert [run["usage"]["tree"]["tokens_in"] for run in listed if run["workflow_id"] == head] == [2000]

    document = json.loads(dcf("runs", "budget", head, "--tokens", 18_100, "--tree", "--json").stdout)
    assert (document["budget"], document["used_up"]) == (
        {"tokens": 18_100, "tree": True},
        "18100 of 18100 tokens",
    )
    assert json.loads(dcf("runs", "budget", head, "--no-tree", "--json").stdout)["used_up"] is None


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
        (("runs", "usage", "--agent", "a", "--tree"), "Only a run has a tree"),
        (("runs", "usage", "--agent", "a", "--cursor", "x"), "cursor"),
        (("runs", "budget", "r"), "Give limits, or --none"),
        (("runs", "budget", "r", "--none", "--tokens", "5"), "Give limits, or --none"),
    ],
)
def test_what_is_wrong_is_said(dcf: Dcf, arguments: tuple[str, ...], words: str) -> None:
    wrong = dcf(*arguments)
    assert (wrong.exit_code, words in " ".join(wrong.stderr.split())) == (2, True), wrong.stderr
