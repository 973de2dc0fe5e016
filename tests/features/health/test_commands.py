"""`dcf doctor`, and the same report in `dcf serve` and `dcf run`: exit codes, widths, words."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dcf.cli.reading.doctor import exit_code
from dcf.features.health.findings import Topic
from dcf.store.embedded import server as embedded
from dcf.store.events.activity import ActivityRecords
from dcf.store.keys import table as keys
from tests.cli.conftest import Dcf
from tests.support.redis.alone import url_of, world_alone
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "no")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """dcf on a server that keeps everything, of this test alone."""
    with world_alone(tmp_path, *DURABLE) as world:
        yield world


def test_nothing_to_say_is_zero_also_when_it_is_strict(dcf: Dcf, own: World) -> None:
    result = dcf("doctor", "--strict", REDIS_URL=url_of(own))
    assert result.exit_code == 0
    assert "✔" in result.stdout
    assert not any(mark in result.stdout for mark in "!✘→")


def test_a_warning_is_told_and_an_error_only_when_it_is_strict(dcf: Dcf, own: World) -> None:
    own.ask("CONFIG", "SET", "appendfsync", "everysec")
    assert dcf("doctor", REDIS_URL=url_of(own)).exit_code == 0
    strict = dcf("doctor", "--strict", REDIS_URL=url_of(own))
    assert (strict.exit_code, "! warning" in strict.stdout) == (1, True)


def test_a_clock_that_is_missing_is_one(dcf: Dcf, own: World) -> None:
    own.create(chain("A"))
    result = dcf("doctor", REDIS_URL=url_of(own))
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "✘ failing No clock has ever looked, and 1 run is under way" in text
    assert "→ Start `dcf serve` or `dcf store pulse`, or look at its log." in text
    assert dcf("store", "pulse", "--once", REDIS_URL=url_of(own)).exit_code == 0
    assert dcf("doctor", REDIS_URL=url_of(own)).exit_code == 0


def test_a_full_memory_of_the_embedded_server_is_four(dcf_alone: Dcf, tmp_path: Path) -> None:
    with embedded.start(tmp_path / "data") as server, redis.Redis.from_url(server.url) as admin:
        admin.config_set("maxmemory", 1000)
        result = dcf_alone("doctor")
        assert result.exit_code == 4
        text = " ".join(result.stdout.split())
        assert "writes ✘ failing Redis refuses writes: its memory is full (OOM)." in text
        assert "→ Delete runs that are over (dcf runs prune --older-than 7d), cancel some (dcf cancel RUN)" in text
        document = json.loads(dcf_alone("doctor", "--json").stdout)
        assert (document["ok"], document["level"], document["failing"]) == (False, "failing", 1)
        admin.config_set("maxmemory", 0)
        assert dcf_alone("doctor").exit_code == 0


@rows(
    ("ok", "failing", "warnings", "lenient", "strict"),
    [(True, 0, 0, 0, 0), (True, 0, 2, 0, 1), (True, 1, 0, 1, 1), (False, 1, 0, 4, 4), (False, 2, 3, 4, 4)],
)
def test_the_exit_code(ok: bool, failing: int, warnings: int, lenient: int, strict: int) -> None:
    report = {"ok": ok, "failing": failing, "warnings": warnings}
    assert (exit_code(report, strict=False), exit_code(report, strict=True)) == (lenient, strict)


def test_what_is_found_fits_eighty_columns_and_names_the_agents_seen(dcf: Dcf, own: World) -> None:
    own.create(chain("A"))
    own.ask("CONFIG", "SET", "maxmemory", "1000000000")
    own.ask("CONFIG", "SET", "appendfsync", "everysec")
    records = ActivityRecords(own.connections)
    records.saw([f"agent-{'x' * 50}-{number:02}" for number in range(12)])
    hostile = "\x1b[31mred\u202e " + "very long " * 40
    records.platform_fails("letta", for_s=60, failures=7, error=hostile)
    result = dcf("doctor", REDIS_URL=url_of(own))
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert result.stdout.count(f"agent-{'x' * 50}") == 10 + 1
    assert "and 2 more" in result.stdout
    assert "7 times in a row" in " ".join(result.stdout.split())


def test_the_report_for_programs_has_versions_facts_and_agents(dcf: Dcf, own: World) -> None:
    ActivityRecords(own.connections).saw(["pricing-1"])
    result = dcf("doctor", "--json", REDIS_URL=url_of(own))
    document = json.loads(result.stdout)
    assert (document["redis"], document["level"]) == ("REDIS_URL", "ok")
    assert document["redis_version"][:2] in {"8.", "9."}
    assert document["dcf"]
    assert document["python"].startswith("3.")
    assert [agent["agent_id"] for agent in document["agents"]] == ["pricing-1"]
    assert document["durability"]["appendfsync"] == "always"
    assert [check["topic"] for check in document["checks"]] == [topic.value for topic in Topic]


def test_a_list_that_cannot_be_mended_now_is_an_error_of_repair_only(dcf: Dcf, own: World) -> None:
    run = own.create(chain("A"))
    own.ask("ZREM", keys.RUNS, run)
    own.ask("CONFIG", "SET", "maxmemory", "1000")
    assert dcf("doctor", REDIS_URL=url_of(own)).exit_code == 4
    refused = dcf("doctor", "--repair", REDIS_URL=url_of(own))
    assert (refused.exit_code, "memory is full (OOM)" in refused.stderr) == (4, True)
