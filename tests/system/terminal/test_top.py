"""`dcf top` on a terminal, until Ctrl-C."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dcf.store.connection import Connections, open_pool
from tests.cli.conftest import Dcf
from tests.runs.test_diagnosis import started
from tests.support.machines import workflow
from tests.support.restricted import RestrictedRedis, restricted_redis
from tests.support.scopes import task
from tests.support.terminal import on_a_terminal
from tests.support.world import World


@pytest.fixture(scope="module")
def quiet_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A Redis with few runs: of many `dcf top` shows the newest only."""
    with restricted_redis(short_directory / "top") as found:
        yield found


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


def test_a_terminal_is_drawn_until_ctrl_c(dcf: Dcf, run: str) -> None:
    with on_a_terminal(sys.executable, "-m", "dcf", "top") as terminal:
        terminal.until("top-ann")
        assert terminal.interrupt() == 0
