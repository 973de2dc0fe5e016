"""dcf on a Redis of its own, where there is nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dcf.store.connection.connections import Connections, open_pool
from tests.support.redis.servers import redis_server
from tests.support.world import World


@contextmanager
def world_alone(directory: Path, *options: str, **more: Any) -> Iterator[World]:
    """Start a server with these options for the block; `more` is for the world."""
    with redis_server(directory, *options) as port:
        world = World(connections=Connections(open_pool(f"redis://127.0.0.1:{port}")), **more)
        yield world
        world.connections.close()


def url_of(world: World) -> str:
    """The URL of the server of such a world."""
    return f"redis://127.0.0.1:{world.ask('CONFIG', 'GET', 'port')[1].decode()}"
