"""A password of Redis that changes while dcf runs: read from its file for every new connection, and never shown."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from dcf.application.application import open_application
from dcf.cli.opening import run_list
from dcf.core.listing.runs import RunQuery
from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.settings.process import Settings, read_settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.faults import connection_error
from dcf.store.connection.opening import connect
from dcf.store.connection.pools import close_async_client, open_async_client
from tests.support.redis.inboxes import reading
from tests.support.redis.servers import free_port, listens, redis_server, running
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

pytestmark = pytest.mark.anyio

FIRST, SECOND = "first-s3cret-canary", "second:s3cret/canary?&#%"
REFUSED = "Redis refused the user name or password."


@dataclass(frozen=True, slots=True)
class Service:
    """A Redis whose user `dcf` has another password from time to time, and the file that dcf reads it from."""

    admin: redis.Redis
    port: int
    file: Path

    @property
    def url(self) -> str:
        return self.url_of(f"redis://dcf@127.0.0.1:{self.port}/0")

    def url_of(self, url: str) -> str:
        """The settings' address from a URL and the file."""
        address = Settings.model_validate({"redis_url": url, "redis_password_file": self.file}).redis_address
        assert address is not None
        return address

    def want(self, password: str) -> None:
        """Have the server take this password only, and end all connections."""
        self.admin.execute_command("ACL", "SETUSER", "dcf", "resetpass", f">{password}")  # type: ignore[no-untyped-call]
        self.admin.execute_command("CLIENT", "KILL", "USER", "dcf")  # type: ignore[no-untyped-call]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    user: tuple[str, ...] = ("--user", "default", "on", "nopass", "~*", "&*", "+@all")
    user += ("--user", "dcf", "on", f">{FIRST}", "~*", "&*", "+@all")
    with redis_server(tmp_path, *user) as port, redis.Redis(port=port, protocol=2) as admin:
        file = tmp_path / "pass word+file"
        file.write_text(f"{FIRST}\n")
        yield Service(admin, port, file)


def refusal(url: str) -> str:
    """The answer to a command over this URL; no part of it shows a password."""
    connections = Connections(open_pool(url))
    with pytest.raises(StoreUnavailable) as raised:
        connections.send(("TIME",))
    connections.close()
    error = raised.value
    shown = "".join(traceback.format_exception(error)) + repr(vars(error)) + error.message + error.hint
    assert "canary" not in shown
    assert "DCF_REDIS_PASSWORD_FILE" in error.hint
    return error.message


def test_new_connections_use_the_new_password_and_nobody_starts_again(service: Service) -> None:
    world = World(connections=Connections(open_pool(service.url)), deadline_s=60)
    run = world.create(chain("A", "B"))
    service.want(SECOND)
    service.file.write_text(SECOND)
    world.do(run, "A")
    world.do(run, "B")
    assert world.run_status(run) == "succeeded"
    world.connections.close()


def test_a_password_that_is_not_in_the_file_yet_is_refused_in_plain_words(service: Service) -> None:
    world = World(connections=Connections(open_pool(service.url)), deadline_s=60)
    run = world.create(chain("A"))
    service.want(SECOND)
    with pytest.raises(StoreUnavailable, match=REFUSED):
        world.acquire(run, "A")
    assert refusal(service.url) == REFUSED
    service.file.write_text(SECOND)
    world.do(run, "A")
    assert world.run_status(run) == "succeeded"
    world.connections.close()


async def test_who_waits_for_events_uses_the_new_password_too(service: Service) -> None:
    world = World(connections=Connections(open_pool(service.url)))
    async with reading(service.url) as reader:
        for round_, password in enumerate((FIRST, SECOND)):
            agent = f"worker-{round_}"
            service.want(password)
            service.file.write_text(password)
            run = world.create(chain("A"), agents={"A": agent})
            world.plane.kick_off(run, "go")
            world.notifications.deliver(run)
            assert await reader.next(agent, 10.0) is not None
    world.connections.close()


async def test_the_connection_that_waits_is_opened_again_with_the_new_password(service: Service) -> None:
    client = open_async_client(service.url)
    assert await client.get("any") is None
    service.want(SECOND)
    service.file.write_text(SECOND)
    await client.connection_pool.disconnect()
    assert await client.get("any") is None
    service.file.write_text("wrong-canary")
    await client.connection_pool.disconnect()
    with pytest.raises(redis.AuthenticationError) as raised:
        await client.get("any")
    assert connection_error(raised.value, None).message == REFUSED
    service.file.unlink()
    with pytest.raises(redis.AuthenticationError) as missing:
        await client.get("any")
    assert connection_error(missing.value, None).message.endswith("there is no such file.")
    await close_async_client(client)


def test_sentinels_lead_to_a_master_that_wants_the_password_of_the_file(service: Service, tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "sentinel.conf"
    config.write_text(f"port {port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {service.port} 1\n")
    with running(str(config), "--sentinel"):
        wait_until(lambda: listens(port))
        url = service.url_of(f"redis+sentinel://dcf@127.0.0.1:{port}/mymaster")
        connections = Connections(open_pool(url))
        assert connections.send(("ACL", "WHOAMI")) == [b"dcf"]
        service.want(SECOND)
        service.file.write_text(SECOND)
        assert connections.send(("ACL", "WHOAMI")) == [b"dcf"]
        connections.close()


@pytest.fixture
def lone_node(service: Service, tmp_path: Path) -> Iterator[Service]:
    """The same as a cluster, of one node."""
    user = ("--user", "dcf", "on", f">{FIRST}", "~*", "&*", "+@all")
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    (tmp_path / "node").mkdir()
    with redis_server(tmp_path / "node", *options, *user) as port, redis.Redis(port=port, protocol=2) as admin:
        admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_until(lambda: b"cluster_state:ok" in admin.execute_command("CLUSTER", "INFO"))
        yield Service(admin, port, service.file)


def test_the_nodes_of_a_cluster_get_the_new_password(lone_node: Service) -> None:
    connections = connect(lone_node.url_of(f"redis+cluster://dcf@127.0.0.1:{lone_node.port}"))
    connections.send(("SET", "cp:idx:probe", "1"))
    lone_node.want(SECOND)
    lone_node.file.write_text(SECOND)
    assert connections.send(("GET", "cp:idx:probe")) == [b"1"]
    connections.close()


@rows("query", ["canary=1", "socket_timeout=1", "ssl_ca_certs=none.pem", "password_file=f&password=x"])
def test_the_url_of_a_cluster_takes_what_logs_in_and_nothing_else(query: str) -> None:
    with pytest.raises(InvalidArgument, match="REDIS_URL") as raised:
        connect(f"redis+cluster://h:1?{query}")
    assert "canary" not in raised.value.message + raised.value.hint


def test_a_password_without_a_name_is_that_of_the_default_user(service: Service) -> None:
    service.admin.execute_command("ACL", "SETUSER", "default", "resetpass", f">{FIRST}")  # type: ignore[no-untyped-call]
    connections = Connections(open_pool(service.url_of(f"redis://127.0.0.1:{service.port}")))
    assert connections.send(("ACL", "WHOAMI")) == [b"default"]
    connections.close()


@rows(
    ("content", "reason"),
    [
        (None, "there is no such file"),
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xff\xfe", "it cannot be read"),
    ],
    ids=["missing", "empty", "blank", "no text"],
)
def test_a_file_that_gives_no_password_is_an_error_until_it_gives_one(
    service: Service, content: bytes | None, reason: str
) -> None:
    if content is None:
        service.file.unlink()
    else:
        service.file.write_bytes(content)
    assert refusal(service.url) == f"The file with the password of Redis gives none: {reason}."
    service.file.write_text(FIRST)
    connections = Connections(open_pool(service.url))
    assert connections.send(("TIME",))
    connections.close()


def test_an_application_reads_the_file_that_the_environment_names(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", f"redis://dcf@127.0.0.1:{service.port}/0?socket_timeout=4")
    monkeypatch.setenv("DCF_REDIS_PASSWORD_FILE", str(service.file))
    with open_application(read_settings()) as application:
        assert application.health.report().is_ready
        service.want(SECOND)
        service.file.write_text(SECOND)
        assert application.health.report().is_ready
    with run_list() as listed:
        assert listed.list_runs(RunQuery(limit=1)).rows == ()


@rows("scheme", ["redis://dcf:canary@h:1/0", "redis+sentinel://dcf:canary@h:1/mymaster"])
def test_two_passwords_are_one_too_many(service: Service, scheme: str) -> None:
    for opened in (open_pool, open_async_client):
        with pytest.raises(InvalidArgument, match="there is a file with another one") as raised:
            opened(service.url_of(scheme))
        assert "canary" not in raised.value.message + raised.value.hint


def test_the_embedded_server_needs_no_password(tmp_path: Path) -> None:
    assert Settings(redis_url=None, redis_password_file=tmp_path).redis_address is None


def test_the_sentinels_url_takes_no_option_that_there_is_not() -> None:
    for opened in (open_pool, open_async_client):
        for query in ("canary=1", "socket_timeout=canary"):
            with pytest.raises(InvalidArgument, match="REDIS_URL is not a valid Redis URL"):
                opened(f"redis+sentinel://h:1/mymaster?{query}")
