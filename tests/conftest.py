"""One real Redis for all tests of a session (of an xdist worker), and dcf on it or on fakeredis.

On the real one dcf is the user that a deployment gives it, and a command that this user may not send fails the session;
a test looks and meddles as an administrator. Nothing is flushed between tests: each names its own runs and agents.
"""

import gc
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import cast

if "DCF_CHECK_SLOTS" in os.environ:
    import tests.support.redis.slots  # noqa: F401 - before whatever imports what it replaces

import pytest
import redis
from hypothesis import settings
from redis.sentinel import SentinelConnectionPool

from dcf.cli.processes.garbage import LASTING
from dcf.store.cluster.connections import ClusterConnections
from dcf.store.connection.connections import Connections, Pool, open_pool
from dcf.store.connection.opening import connect
from tests.support.agents.mocks import Files
from tests.support.ahead import Ahead
from tests.support.redis import restricted
from tests.support.redis.authority import new_authority
from tests.support.redis.cluster import Cluster, onlooker_of, redis_cluster
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import STORED
from tests.support.redis.fake_redis import FakePool
from tests.support.redis.proxy import Proxy
from tests.support.redis.restricted import RestrictedRedis, assert_keys_are_ours, restricted_redis
from tests.support.redis.servers import free_port, listens, redis_server, running
from tests.support.trouble import Killer
from tests.support.waiting import wait_until
from tests.support.world import World

pytest_plugins = ("tests.support.advice", "tests.support.selection")

# How long an example takes says how busy the machine is. Each run draws other examples, so few are enough for one.
settings.register_profile("dcf", parent=settings.default, deadline=None, max_examples=50)
settings.register_profile("fast", parent=settings.get_profile("dcf"), max_examples=10)
settings.load_profile("dcf")

# Servers with RedisJSON are in the tests too: the embedded ones, and those of processes.
if STORED.name == "text":
    Connections.wanted = os.environ["DCF_DOCUMENTS"] = "text"

# As `dcf serve` has it. Tests make many objects that live: with Python's own threshold, to parse the package took
# five seconds of collections and one of parsing.
gc.set_threshold(*LASTING)


@pytest.fixture(scope="session")
def short_directory() -> Iterator[Path]:
    """A directory whose path is short enough for a unix socket in it."""
    path = Path(tempfile.mkdtemp(prefix="dcf-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def server(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A real Redis for all tests of a session. No sweep puts runs back on the clock's list."""
    with restricted_redis(short_directory / "redis", is_whole_site=True) as result:
        yield result


@pytest.fixture(scope="session", autouse=True)
def _data_home(short_directory: Path) -> Iterator[None]:
    """The file tools of a local user write below the data directory, which is never that of the tester."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(short_directory / "home"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _trusted(short_directory: Path) -> Iterator[None]:
    """Clients trust one authority: every client loads all that it trusts, 25 ms for those of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(new_authority(short_directory / "trusted").certificate))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_contexts(short_directory: Path) -> Iterator[None]:
    """Commands work on this machine, also if the user who runs the tests has chosen another place."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DCF_CONTEXT", "DCF_SERVER_URL", "DCF_API_KEY"):
            patch.delenv(name, raising=False)
        patch.setenv("DCF_CONTEXTS", str(short_directory / "contexts" / "contexts.toml"))
        yield


@pytest.fixture(scope="module", autouse=True)
def _empty_redis() -> None:
    """Each file begins with an empty Redis: what other files left would slow down whatever walks all keys."""
    for server in restricted.RUNNING:
        server.empty()


@pytest.fixture(scope="session")
def real_pool(server: RestrictedRedis) -> Iterator[Pool]:
    pool = open_pool(server.url)
    yield pool
    pool.disconnect()


@pytest.fixture(scope="session")
def real_connections(real_pool: Pool) -> Connections:
    return Connections(real_pool)


@pytest.fixture(scope="session")
def onlooker(server: RestrictedRedis) -> Iterator[Connections]:
    """The real server as its administrator sees it."""
    connections = Connections(open_pool(server.admin_url))
    yield connections
    connections.close()


@pytest.fixture(scope="session")
def cluster(short_directory: Path) -> Iterator[Cluster]:
    """A cluster for all tests, whose nodes do not take each other for dead because the machine is busy."""
    with redis_cluster(short_directory / "cluster", "--cluster-node-timeout", "15000") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster_connections(cluster: Cluster) -> Iterator[Connections]:
    result = connect(cluster.url)
    yield result
    result.close()


@pytest.fixture(scope="session")
def cluster_onlooker(cluster: Cluster) -> Iterator[Connections]:
    """The cluster as its administrator sees it."""
    onlooker = onlooker_of(cluster)
    yield onlooker
    onlooker.close()


@pytest.fixture(scope="session")
def sentinel_connections(short_directory: Path) -> Iterator[Connections]:
    """dcf's connections to a Redis that it finds by asking a sentinel."""
    folder, port = short_directory / "sentinel", free_port()
    folder.mkdir()
    with redis_server(folder) as master:
        config = folder / "sentinel.conf"
        config.write_text(f"port {port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {master} 1\n")
        with running(str(config), "--sentinel"):
            wait_until(lambda: listens(port))
            result = connect(f"redis+sentinel://127.0.0.1:{port}/mymaster")
            yield result
            result.close()


KINDS = os.environ.get("DCF_TEST_REDIS", "real").split()
"""Redis as a test sees it that uses `connections`: a real server.

tests/system/cluster tries the store with `cluster`, `sentinel` and `fake` (fakeredis), too.
"""


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start one worker more than there are cores: a third of the time tests wait for servers and clocks."""
    return (yield) + 1


def pytest_collection_finish() -> None:
    """Take what is imported out of later garbage collections: it lives as long as the process."""
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try what uses `connections` with each kind of Redis."""
    if "connections" in metafunc.fixturenames:
        metafunc.parametrize("connections", KINDS, indirect=True)


@pytest.fixture
def connections(request: pytest.FixtureRequest) -> Iterator[Connections]:
    """dcf's connections to a Redis of the kind that is asked for."""
    if request.param != "fake":
        yield request.getfixturevalue(f"{request.param}_connections")
        return
    connections = Connections(FakePool())
    yield connections
    connections.close()


@pytest.fixture
def beside(request: pytest.FixtureRequest, connections: Connections) -> Connections:
    """An onlooker on the Redis of `connections`."""
    if isinstance(connections, ClusterConnections):
        return cast("Connections", request.getfixturevalue("cluster_onlooker"))
    if isinstance(connections._pool, FakePool | SentinelConnectionPool):
        return connections
    return cast("Connections", request.getfixturevalue("onlooker"))


@pytest.fixture
def world(connections: Connections, beside: Connections) -> Iterator[World]:
    """dcf on either Redis."""
    yield from _checked(World(connections=connections, onlooker=beside))


@pytest.fixture
def timely(connections: Connections, beside: Connections) -> Iterator[World]:
    """dcf on either Redis, with time that the test lets pass, and a killer before every commit."""
    world = World(connections=connections, onlooker=beside, clock=Ahead(), before_commit=Killer(), items=Files())
    yield from _checked(world)


@pytest.fixture
def real(real_connections: Connections, onlooker: Connections) -> Iterator[World]:
    """dcf on the real server: what a test needs of Redis here, fakeredis does otherwise or not at all.

    That is: expiry, wrong types and other error replies, JSON text as Lua sees it, INFO, SIGKILL, several threads.
    """
    yield from _checked(World(connections=real_connections, onlooker=onlooker))


def _checked(world: World) -> Iterator[World]:
    yield world
    world.close()
    if isinstance(getattr(world.connections, "_pool", None), FakePool):  # a real server is checked before each file
        assert_keys_are_ours(key.decode() for key in world.ask("KEYS", "*"))


@pytest.fixture
def worlds(server: RestrictedRedis, onlooker: Connections) -> Iterator[Callable[..., World]]:
    """Makes more users of the real server, each with connections of its own, as another process would have."""
    made: list[World] = []

    def make(url: str | None = None, *, pool: Pool | None = None, deadline_s: float = 10.0, near: bool = True) -> World:
        connections = Connections(pool or open_pool(url or server.url))
        from_s = math.inf if near else 0.0  # not as long as a packet takes here: the machine may be busy
        world = World(connections=connections, onlooker=onlooker, deadline_s=deadline_s, one_packet_from_s=from_s)
        made.append(world)
        return made[-1]

    yield make
    for world in made:
        world.connections.close()
        World(connections=onlooker, runs=world.runs).close()


@pytest.fixture
def counting(server: RestrictedRedis) -> Iterator[CountingPool]:
    pool = CountingPool(open_pool(server.url))
    yield pool
    pool.disconnect()


@pytest.fixture
def proxy(server: RestrictedRedis) -> Iterator[Proxy]:
    with Proxy(server.socket, server.login()) as proxy:
        yield proxy


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that are made from now on give a server up that says nothing for a second."""
    monkeypatch.setattr("dcf.store.connection.pools._TIMEOUT_S", 1.0)


@pytest.fixture
def redis_client(server: RestrictedRedis) -> Iterator[redis.Redis]:
    """A plain client, for what an operator or another program would do."""
    with redis.Redis.from_url(server.admin_url, protocol=2) as client:
        yield client
