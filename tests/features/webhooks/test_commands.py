"""`dcf agents`: what is shown of a webhook, and what only once."""

import json
from collections.abc import Callable

from typer.testing import Result

from dcf.store.connection.connections import Connections
from tests.support.redis.redis_contents import everything_in
from tests.support.tables import rows

Dcf = Callable[..., Result]
URL = "https://agents.example/hook?key=hidden"


def _listed(dcf: Dcf) -> dict[str, dict[str, object]]:
    return {row["agent_id"]: row for row in json.loads(dcf("agents", "ls", "--json").stdout)["agents"]}


def test_the_secret_alone_is_on_standard_output_and_is_shown_once(dcf: Dcf) -> None:
    made = dcf("agents", "add", "cli-hook", "--url", URL, "--lease", "2h")
    secret = made.stdout.strip()
    assert secret.startswith("whsec_")
    assert secret not in made.stderr
    row = _listed(dcf)["cli-hook"]
    assert (row["platform"], row["url"], row["lease_ttl_s"]) == ("webhook", "https://agents.example:443", 7200)
    for shown in (
        dcf("agents", "ls").output,
        dcf("agents", "ls", "--json").output,
        dcf("store", "audit", "--json").output,
    ):
        assert secret not in shown
        assert "hidden" not in shown
    again = dcf("agents", "add", "cli-hook", "--url", URL)
    assert "whsec_" not in again.output
    assert "its keys stay" in again.output
    dcf("agents", "delete", "cli-hook")


def test_what_any_agent_holds_at_a_time_is_limited(dcf: Dcf) -> None:
    limited = dcf("agents", "add", "cli-busy", "--max-in-progress", 2).stdout
    assert limited == "Agent 'cli-busy' may hold 2 states at a time.\n"
    freed = json.loads(dcf("agents", "add", "cli-busy", "--max-in-progress", 0, "--json").stdout)
    assert (freed["agent_id"], freed["max_in_progress"], freed["secret"]) == ("cli-busy", 0, None)
    assert "cli-busy" not in _listed(dcf)
    both = json.loads(dcf("agents", "add", "cli-limited", "--url", URL, "--max-in-progress", 3, "--json").stdout)
    assert (both["max_in_progress"], both["secret"][:6]) == (3, "whsec_")
    dcf("agents", "delete", "cli-limited")
    neither = dcf("agents", "add", "cli-busy")
    assert (neither.exit_code, "Neither url nor --new-key" in neither.stderr) == (2, True)


def test_a_key_is_rotated_with_or_without_an_overlap(dcf: Dcf) -> None:
    first = json.loads(dcf("agents", "add", "cli-turn", "--url", URL, "--json").stdout)
    second = json.loads(dcf("agents", "rotate", "cli-turn", "--json").stdout)
    assert second["key_ids"] == [second["key_ids"][0], *first["key_ids"]]
    third = json.loads(dcf("agents", "rotate", "cli-turn", "--at-once", "--json").stdout)
    assert len(third["key_ids"]) == 1
    assert len({item["secret"] for item in (first, second, third)}) == 3
    dcf("agents", "delete", "cli-turn")


def test_a_removed_agent_leaves_nothing_secret_behind(dcf: Dcf, onlooker: Connections) -> None:
    secret = dcf("agents", "add", "cli-gone", "--url", URL).stdout.strip()
    assert secret in everything_in(onlooker)
    assert dcf("agents", "delete", "cli-gone").exit_code == 0
    assert secret not in everything_in(onlooker)
    assert dcf("agents", "delete", "cli-gone").exit_code != 0
    assert "cli-gone" not in _listed(dcf)


@rows(
    ("arguments", "words"),
    [
        (("add", "cli-x", "--url", "http://agents.example/"), "not https"),
        (("add", "cli-x", "--url", "https://10.0.0.1/"), "public"),
        (("add", "no spaces", "--url", URL), "agent_id has the wrong form"),
        (("add", "cli-x", "--url", URL, "--lease", "1s"), "between 30 and 86400"),
        (("rotate", "cli-nobody"), "no webhook"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(dcf: Dcf, arguments: tuple[str, ...], words: str) -> None:
    finished = dcf("agents", *arguments)
    assert finished.exit_code != 0
    assert words in " ".join(finished.output.split())


def test_a_missing_agent_is_answered_with_the_command_that_lists_agents(dcf: Dcf) -> None:
    refused = dcf("agents", "delete", "cli-nobody", "--context", "local").stderr
    assert "`dcf --context local agents ls` shows those there are." in refused
