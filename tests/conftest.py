"""One real Redis for all tests of a session (of an xdist worker), and dcf on it or on fakeredis.

Nothing is flushed between tests: each names its own runs and agents.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from dcf.store import embedded
from dcf.store.connection import Connections, Pool, open_pool
from dcf.store.embedded import EmbeddedServer
from tests.support.ahead import Ahead
from tests.support.counting import CountingPool
from tests.support.fake_redis import FakePool
from tests.support.mocks import Files
from tests.support.proxy import Proxy
from tests.support.trouble import Killer
from tests.support.world import World

pytest_plugins = ("tests.letta.fixtures",)


@pytest.fixture(scope="session")
def short_directory() -> Iterator[Path]:
    """A directory whose path is short enough for a unix socket in it."""
    path = Path(tempfile.mkdtemp(prefix="dcf-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def server(short_directory: Path) -> Iterator[EmbeddedServer]:
    with embedded.start(short_directory / "redis", appendfsync="everysec") as found:
        yield found


@pytest.fixture(scope="session")
def real_pool(server: EmbeddedServer) -> Iterator[Pool]:
    pool = open_pool(server.url)
    yield pool
    pool.disconnect()


@pytest.fixture(scope="session")
def real_connections(real_pool: Pool) -> Connections:
    return Connections(real_pool)


@pytest.fixture(params=["fake", "real"])
def connections(request: pytest.FixtureRequest) -> Iterator[Connections]:
    """Once fakeredis (logic only), once the real server."""
    if request.param == "real":
        yield request.getfixturevalue("real_connections")
        return
    found = Connections(FakePool())
    yield found
    found.close()


@pytest.fixture
def world(connections: Connections) -> Iterator[World]:
    """dcf on either Redis."""
    yield from _checked(World(connections=connections))


@pytest.fixture
def timely(connections: Connections) -> Iterator[World]:
    """dcf on either Redis, with time that the test lets pass, and a killer before every commit."""
    yield from _checked(World(connections=connections, clock=Ahead(), before_commit=Killer(), items=Files()))


@pytest.fixture
def real(real_connections: Connections) -> Iterator[World]:
    """dcf on the real server: what a test needs of Redis here, fakeredis does otherwise or not at all.

    That is: expiry, wrong types and other error replies, JSON text as Lua sees it, INFO, SIGKILL, several threads.
    """
    yield from _checked(World(connections=real_connections))


def _checked(world: World) -> Iterator[World]:
    yield world
    world.close()
    strange = [key for key in world.ask("KEYS", "*") if not key.startswith((b"cp:", b"dp:"))]
    assert strange == [], "every key of dcf begins with cp: or dp:"


@pytest.fixture
def worlds(server: EmbeddedServer, real_connections: Connections) -> Iterator[Callable[..., World]]:
    """Makes more users of the real server, each with connections of its own, as another process would have."""
    made: list[World] = []

    def make(url: str | None = None, *, pool: Pool | None = None, deadline_s: float = 10.0) -> World:
        connections = Connections(pool or open_pool(url or server.url))
        made.append(World(connections=connections, deadline_s=deadline_s))
        return made[-1]

    yield make
    for world in made:
        world.connections.close()
        World(connections=real_connections, runs=world.runs).close()


@pytest.fixture
def counting(server: EmbeddedServer) -> Iterator[CountingPool]:
    pool = CountingPool(open_pool(server.url))
    yield pool
    pool.disconnect()


@pytest.fixture
def proxy(server: EmbeddedServer) -> Iterator[Proxy]:
    with Proxy(server.data_dir / "redis.sock") as found:
        yield found


@pytest.fixture
def redis_client(server: EmbeddedServer) -> Iterator[redis.Redis]:
    """A plain client, for what an operator or another program would do."""
    with redis.Redis.from_url(server.url, protocol=2) as client:
        yield client
