"""`dcf runs delete`, `dcf runs hold` and `dcf runs prune`: what they ask, do and say."""

import json
import uuid

import pytest

from dcf.store.access.audit_trail import AuditTrail
from tests.cli.conftest import Dcf, Seed
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.world import World

LONG_AGO = "2020-01-01T00:00:00.000000Z"


@pytest.fixture
def mine() -> str:
    """A workflow's name that no other test uses."""
    return f"old-{uuid.uuid4().hex[:8]}"


def there(world: World, run: str) -> bool:
    return bool(world.ask("EXISTS", world.store.keys(run).meta))


def aged(world: World, *runs: str) -> None:
    """As if these runs had been created and ended long ago."""
    for run in runs:
        for name in ("created_at", "finished_at"):
            set_member(world.ask, world.store.keys(run).meta, name, LONG_AGO)
        for key in world.ask("KEYS", "cp:idx:runs:*"):
            world.ask("ZADD", key, "XX", 1, run)


def test_a_run_is_deleted_with_yes_and_only_with_yes_where_nobody_can_be_asked(
    dcf: Dcf, seed: Seed, world: World
) -> None:
    run = seed()
    refused = dcf("runs", "delete", run)
    assert (refused.exit_code, "Add --yes" in refused.stderr) == (2, True)
    assert there(world, run)
    done = dcf("runs", "delete", run, "--yes", "--reason", "a test")
    assert (done.exit_code, done.stdout) == (0, f"{run} is deleted.\n")
    assert not there(world, run)
    (entry,) = (item for item in AuditTrail(world.connections).newest(20) if item.about.get("workflow_id") == run)
    assert (entry.change, entry.by, entry.outcome, entry.about["reason"]) == ("delete_run", "local", "ok", "a test")
    again = json.loads(dcf("runs", "delete", run, "--yes", "--json").stdout)
    assert (again["workflow_id"], again["existed"]) == (run, False)
    assert "nothing was to be deleted" in dcf("runs", "delete", run, "--yes").stdout


def test_a_running_run_is_not_deleted(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="a")
    refused = dcf("runs", "delete", run, "--yes")
    assert refused.exit_code == 1
    assert "run_live" in refused.stderr
    assert "`dcf cancel" in refused.stderr
    assert there(world, run)


def test_a_run_on_hold_is_kept_until_it_is_released(dcf: Dcf, seed: Seed, world: World, mine: str) -> None:
    run = seed(name=mine)
    aged(world, run)
    assert dcf("runs", "hold", run, "--reason", "court").stdout == f"{run} is on hold.\n"
    again = json.loads(dcf("runs", "hold", run, "--json").stdout)
    assert (again["workflow_id"], again["hold"], again["changed"], again["repeated"]) == (run, True, False, False)
    assert "on_hold" in dcf("runs", "delete", run, "--yes").stderr
    assert (
        json.loads(dcf("runs", "prune", "--older-than", "30d", "--workflow", mine, "--yes", "--json").stdout)["found"]
        == 0
    )
    assert dcf("runs", "hold", run, "--release").stdout == f"{run} is not on hold.\n"
    assert dcf("runs", "delete", run, "--yes").exit_code == 0
    assert dcf("runs", "hold", run).exit_code == 3


def test_old_runs_are_counted_before_they_are_deleted_and_young_and_live_ones_stay(
    dcf: Dcf, seed: Seed, world: World, mine: str
) -> None:
    old, young, live = [seed(name=mine) for _ in range(3)], seed(name=mine), seed(name=mine, agent="a")
    failed = seed(name=mine, agent="a")
    world.fail(failed, "Only", world.acquire(failed, "Only", "a"))
    aged(world, *old, failed)
    options = ["runs", "prune", "--older-than", "30d", "--workflow", mine]
    counted = dcf(*options, "--dry-run")
    assert "4 runs ended more than 30d ago: 3 succeeded, 1 failed." in counted.stderr
    finished = dcf(*options)
    assert (finished.exit_code, "Add --yes" in finished.stderr) == (2, True)
    assert all(there(world, run) for run in (*old, failed))
    document = json.loads(dcf(*options, "--status", "failed", "--yes", "--json").stdout)
    assert document == {"found": 1, "by_status": {"failed": 1}, "deleted": 1, "kept": 0}
    assert dcf(*options, "--yes").stdout == "3 runs deleted.\n"
    assert [there(world, run) for run in (*old, failed, young, live)] == [False] * 4 + [True] * 2
    assert "0 runs ended more than 30d ago." in dcf(*options, "--yes").stderr


def test_more_runs_than_a_page_are_pruned(
    dcf: Dcf, seed: Seed, world: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.cli.features.retention._PAGE", 5)
    runs = [seed(name=mine) for _ in range(12)]
    aged(world, *runs)
    document = json.loads(dcf("runs", "prune", "--older-than", "1s", "--workflow", mine, "--yes", "--json").stdout)
    assert (document["found"], document["deleted"]) == (12, 12)
    assert world.ask("KEYS", f"*{mine}*") == []


@rows("options", [["--older-than", "x"], [], ["--older-than", "1d", "--status", "running"], ["--older-than", "0d"]])
def test_a_wrong_option_is_refused(dcf: Dcf, options: list[str]) -> None:
    assert dcf("runs", "prune", *options).exit_code == 2
