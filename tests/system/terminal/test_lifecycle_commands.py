"""The commands that operate a run ask for confirmation on a terminal."""

import sys

from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Seed
from tests.support.redis.restricted import RestrictedRedis
from tests.support.terminal import on_a_terminal
from tests.support.world import World


def test_on_a_terminal_it_is_asked_before_anything_is_lost(server: RestrictedRedis, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    command = (sys.executable, "-m", "dcf", "cancel", run)
    with on_a_terminal(*command, REDIS_URL=server.url) as terminal:
        terminal.until(rf"Cancel run {run}\? .* \[y/N\]")
        assert terminal.type("n") == 1
    assert world.run_status(run) is RunStatus.RUNNING
    with on_a_terminal(*command, REDIS_URL=server.url) as terminal:
        terminal.until("y/N")
        assert terminal.type("y") == 0
    assert world.run_status(run) is RunStatus.CANCELLED
