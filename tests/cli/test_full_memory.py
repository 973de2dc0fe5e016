"""On a Redis whose memory is full an operator frees some with the commands that `dcf doctor` names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.core.listing.runs import Facet
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from tests.cli.conftest import Dcf
from tests.support.redis.alone import url_of, world_alone
from tests.support.redis.documents import set_member
from tests.support.workflows.machines import chain
from tests.support.world import World

LONG_AGO = "2001-01-01T00:00:00.000000Z"


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[tuple[World, str]]:
    """dcf on a Redis of this test alone, and its URL."""
    with world_alone(tmp_path) as world:
        yield world, url_of(world)


def test_runs_are_cancelled_finalized_deleted_and_pruned(dcf: Dcf, crowded: tuple[World, str]) -> None:
    world, url = crowded
    first, second, old = (world.create(chain("A"), agents={"A": "a-1"}) for _ in range(3))
    world.lifecycle.cancel(old)
    set_member(world.ask, RunKeys(old).meta, "finished_at", LONG_AGO)
    for listed in (keys.RUNS, keys.runs_by(Facet.STATUS, "cancelled")):
        world.ask("ZADD", listed, 1, old)  # it was created long ago, too
    world.ask("CONFIG", "SET", "maxmemory", "1")
    commands: list[tuple[str, ...]] = [
        ("cancel", first, "--yes"),
        ("cancel", second, "--yes"),
        ("runs", "finalize", first, "--yes"),
    ]
    commands += [("runs", "delete", second, "--yes"), ("runs", "prune", "--older-than", "30d", "--yes")]
    for command in commands:
        done = dcf(*command, REDIS_URL=url)
        assert done.exit_code == 0, (command, done.stderr)
    left = [bool(world.ask("EXISTS", RunKeys(run).meta)) for run in (first, second, old)]
    assert left == [True, False, False]
    advice = " ".join(dcf("doctor", REDIS_URL=url).stdout.split())
    assert "dcf runs prune --older-than 7d" in advice
