"""`dcf runs top`: what is stuck, and who holds what; live on a terminal, once for a program."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dcf.cli.reading import top
from dcf.cli.reading.views import console
from dcf.store.connection.connections import Connections, open_pool
from tests.cli.conftest import Dcf, Seed
from tests.cli.reading.test_catalog import stuck_run
from tests.features.diagnosis.test_operations import started
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import task
from tests.support.world import World


@pytest.fixture(scope="module")
def quiet_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A Redis with few runs: of many `dcf runs top` shows the newest only."""
    with restricted_redis(short_directory / "top") as result:
        yield result


@pytest.fixture
def dcf(dcf: Dcf, quiet_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch) -> Dcf:
    monkeypatch.setenv("REDIS_URL", quiet_redis.url)
    return dcf


@pytest.fixture
def world(quiet_redis: RestrictedRedis) -> Iterator[World]:
    with (
        closing(Connections(open_pool(quiet_redis.url))) as connections,
        closing(Connections(open_pool(quiet_redis.admin_url))) as onlooker,
    ):
        made = World(connections=connections, onlooker=onlooker)
        yield made
        made.close()


@pytest.fixture
def run(world: World) -> str:
    """A run of two states of which the agent ann holds the first."""
    made = started(world, workflow({"First": task("Second"), "Second": task()}), agents={"First": "top-ann"})
    world.acquire(made, "First", "top-ann", "secret-token-of-top")
    return made


def test_it_tells_runs_and_what_each_agent_holds_and_no_token(dcf: Dcf, run: str) -> None:
    text = dcf("runs", "top", "--json").stdout
    document = json.loads(text)
    assert run in [row["workflow_id"] for row in document["runs"]]
    holds = next(agent["holds"] for agent in document["agents"] if agent["agent"] == "top-ann")
    assert (run, "First") in [(hold["workflow_id"], hold["state"]) for hold in holds]
    assert "secret-token-of-top" not in text


def test_who_waits_for_a_verdict_holds_the_state_and_no_lease_is_over(dcf: Dcf, world: World) -> None:
    gate = {"name": "review", "kind": "review", "criteria": ["It is short."]}
    made = started(world, workflow({"A": {"Type": "Task", "Gates": [gate], "End": True}}), agents={"A": "top-judged"})
    world.try_complete(made, "A", world.acquire(made, "A", "top-judged"), output={})
    world.expire_lease(made, "A")
    top = json.loads(dcf("runs", "top", "--json").stdout)
    holds = next(agent["holds"] for agent in top["agents"] if agent["agent"] == "top-judged")
    assert [(lease["state"], lease["lease_expires_at"]) for lease in holds] == [("A", None)]
    assert "expired" not in dcf("runs", "top").stdout


def test_a_run_that_just_ended_is_not_counted_as_running(dcf: Dcf, seed: Seed) -> None:
    seed()
    document = json.loads(dcf("runs", "top", "--json").stdout)
    assert document["counts"]["running"] == sum(row["status"] == "running" for row in document["runs"]) < top.MOST_RUNS


def test_a_pipe_gets_one_snapshot(dcf: Dcf, run: str) -> None:
    lines = dcf("runs", "top").stdout.splitlines()
    assert next(line for line in lines if line.startswith(run))
    holding = next(line for line in lines if line.startswith("top-ann") and run in line)
    assert "First" in holding
    assert holding.endswith(" left")


def test_a_run_that_is_stuck_stands_first_with_the_reason(dcf: Dcf, world: World) -> None:
    forgotten = stuck_run(world, "Forgotten")
    newer = started(world, workflow({"Only": task()}), agents={"Only": "top-ann"})
    runs = json.loads(dcf("runs", "top", "--json").stdout)["runs"]
    ids, stuck = [row["workflow_id"] for row in runs], [row["stuck"] for row in runs]
    assert ids.index(forgotten) < ids.index(newer)
    assert len(ids) == len(set(ids))
    assert stuck == sorted(stuck, reverse=True)
    assert next(row for row in runs if row["workflow_id"] == forgotten)["why"]


def test_a_screen_that_is_too_small_shows_some_of_both() -> None:
    row = {"stuck": False, "paused": False, "blocked": False, "status": "running", "states": 2, "states_done": 1}
    runs = [{**row, "workflow_id": f"run-{number}", "workflow_name": "W"} for number in range(30)]
    holding = {"workflow_id": "run-1", "state": "S", "attempt": 1, "since": None, "lease_expires_at": None}
    agents = [{"agent": f"agent-{number}", "holds": [holding]} for number in range(30)]
    at = "2026-11-22T09:00:00.000000Z"
    document = {"at": at, "counts": {"running": 30}, "runs": runs, "agents": agents, "more_held": False}
    out = console()
    with out.capture() as captured:
        out.print(top.view(document, 20))
    lines = captured.get().splitlines()
    assert len(lines) <= 20
    assert [sum(line.startswith(word) for line in lines) for word in ("run-", "agent-")] == [7, 7]
