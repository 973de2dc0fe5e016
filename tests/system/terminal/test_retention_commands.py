"""`dcf runs delete` asks for confirmation on a terminal."""

import sys

from tests.cli.conftest import Dcf, Seed
from tests.support.redis.restricted import RestrictedRedis
from tests.support.terminal import on_a_terminal
from tests.support.world import World


def there(world: World, run: str) -> bool:
    return bool(world.ask("EXISTS", world.store.keys(run).meta))


def test_on_a_terminal_it_asks_before_it_deletes(dcf: Dcf, server: RestrictedRedis, seed: Seed, world: World) -> None:
    run = seed()
    for answer, code, is_there in (("n", 1, True), ("y", 0, False)):
        with on_a_terminal(sys.executable, "-m", "dcf", "runs", "delete", run, REDIS_URL=server.url) as terminal:
            terminal.until(r"and all that is kept of it\? \[y/N\]")
            assert terminal.type(answer) == code
        assert there(world, run) == is_there
