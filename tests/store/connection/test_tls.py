"""TLS to Redis: a CA of one's own, certificates of clients, and plain words for what is wrong with either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.store.connection.connections import CONNECTION_ERRORS, Connections, open_pool
from dcf.store.connection.faults import connection_error
from dcf.store.connection.opening import connect
from dcf.store.connection.pools import close_async_client, open_async_client
from tests.support.redis.authority import Authority, new_authority, tls_in_front, tls_url
from tests.support.redis.inboxes import reading
from tests.support.redis.servers import redis_server
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

pytestmark = pytest.mark.anyio

UNTRUSTED = "Redis cannot be reached: it does not speak TLS, or its certificate is not trusted."


@pytest.fixture(scope="module")
def authority(short_directory: Path) -> Authority:
    return new_authority(short_directory / "ours")


@pytest.fixture(scope="module")
def stranger(short_directory: Path) -> Authority:
    return new_authority(short_directory / "stranger")


@pytest.fixture(scope="module")
def plain(short_directory: Path) -> Iterator[int]:
    with redis_server(short_directory) as result:
        yield result


@pytest.fixture(scope="module")
def port(authority: Authority, plain: int) -> Iterator[int]:
    with tls_in_front(authority, plain) as tls:
        yield tls


def refused(url: str) -> str:
    """The answer to a command over this URL."""
    connections = Connections(open_pool(url))
    with pytest.raises(StoreUnavailable) as raised:
        connections.send(("TIME",))
    connections.close()
    return raised.value.message


async def refused_wait(url: str) -> str:
    """The message to a waiting client over this URL."""
    client = open_async_client(url)
    with pytest.raises(CONNECTION_ERRORS) as raised:
        await client.get("any")
    await close_async_client(client)
    return connection_error(raised.value, None).message


async def test_a_run_and_a_long_poll_go_through_with_the_right_authority(port: int, authority: Authority) -> None:
    url = tls_url(port, ssl_ca_certs=authority.certificate)
    world = World(connections=Connections(open_pool(url)))
    run = world.create(chain("A"), agents={"A": "tls-worker"})
    async with reading(url) as reader:
        world.plane.kick_off(run, "go")
        world.notifications.deliver(run)
        result = await reader.next("tls-worker", 10.0)
    assert result is not None
    world.do(run, "A", "tls-worker")
    assert world.run_status(run) == "succeeded"
    world.connections.close()


async def test_a_server_of_another_authority_is_not_trusted(port: int, stranger: Authority) -> None:
    for url in (tls_url(port, ssl_ca_certs=stranger.certificate), tls_url(port)):
        assert refused(url) == UNTRUSTED
        assert await refused_wait(url) == UNTRUSTED


async def test_a_certificate_for_another_name_is_not_trusted(port: int, authority: Authority) -> None:
    url = tls_url(port, ssl_ca_certs=authority.certificate).replace("127.0.0.1", "localhost")
    assert refused(url) == UNTRUSTED
    assert await refused_wait(url) == UNTRUSTED


async def test_a_server_may_ask_for_a_certificate_of_the_client(
    authority: Authority, stranger: Authority, plain: int
) -> None:
    (mine, key), (theirs, their_key) = authority.issue("client"), stranger.issue("client")
    with tls_in_front(authority, plain, asks_clients=True) as strict:
        connections = Connections(
            open_pool(tls_url(strict, ssl_ca_certs=authority.certificate, ssl_certfile=mine, ssl_keyfile=key))
        )
        assert connections.send(("TIME",))
        connections.close()
        for files in ({}, {"ssl_certfile": theirs, "ssl_keyfile": their_key}):
            url = tls_url(strict, ssl_ca_certs=authority.certificate, **files)
            assert refused(url).startswith("Redis cannot be reached")
            assert (await refused_wait(url)).startswith("Redis cannot be reached")


@rows("name", ["ssl_ca_certs", "ssl_certfile", "ssl_keyfile"])
@rows("scheme", ["rediss://h:1/0", "rediss+sentinel://h:1/mymaster"])
def test_a_file_that_is_not_there_is_named_before_anything_is_sent(tmp_path: Path, scheme: str, name: str) -> None:
    for opened in (open_pool, open_async_client):
        with pytest.raises(InvalidArgument) as raised:
            opened(f"{scheme}?{name}={tmp_path / 'none.pem'}")
        assert raised.value.message == (
            f"REDIS_URL names a file with {name} that is not there, or that this user may not see."
        )


def test_the_certificates_of_a_cluster_are_read_from_its_url_too(authority: Authority, tmp_path: Path) -> None:
    connect(f"rediss+cluster://h:1?ssl_ca_certs={authority.certificate}").close()
    with pytest.raises(InvalidArgument, match="names a file with ssl_ca_certs"):
        connect(f"rediss+cluster://h:1?ssl_ca_certs={tmp_path / 'none.pem'}")
    with pytest.raises(InvalidArgument, match="REDIS_URL is not a valid"):
        connect(f"redis+cluster://h:1?ssl_ca_certs={authority.certificate}")
