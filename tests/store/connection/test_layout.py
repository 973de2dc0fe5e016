"""A Redis records the version of its key layout. A dcf that does not know the version does not use it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from dcf.errors import StoreUnsuitable
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.inspection import inspect_server
from dcf.store.connection.layout import LAYOUT, StoreTooNew
from dcf.store.keys import table as keys
from dcf.version import __version__
from tests.support.redis.servers import redis_server
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

NEWER = json.dumps({"version": LAYOUT + 1, "dcf": "9.1.0"})
REFUSAL = (
    f"Use dcf 9.1.0 or newer with this Redis: it has key layout {LAYOUT + 1}, and this dcf knows none after {LAYOUT}."
)

GREETING = {f"cmdstat_{name}" for name in ("client|setinfo", "get")}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server(tmp_path_factory.mktemp("layout")) as result:
        yield result


@pytest.fixture
def client(port: int) -> Iterator[redis.Redis]:
    """An operator of a Redis that is empty."""
    with redis.Redis(port=port) as result:
        result.flushall()
        yield result


@pytest.fixture
def world(port: int, client: redis.Redis) -> Iterator[World]:
    """dcf on that Redis."""
    connections = Connections(open_pool(f"redis://127.0.0.1:{port}"))
    yield World(connections=connections, deadline_s=60)
    connections.close()


def reconnect(client: redis.Redis) -> None:
    """End all other connections to the server, as when it is started again."""
    client.client_kill_filter(_type="normal", skipme=True)


def record_of(client: redis.Redis) -> Any:
    result = client.get(keys.LAYOUT)
    return None if result is None else json.loads(result)


def test_the_first_process_writes_the_version_and_its_own(client: redis.Redis, world: World) -> None:
    inspect_server(world.connections)
    assert record_of(client) == {"version": LAYOUT, "dcf": __version__}
    assert client.ttl(keys.LAYOUT) == -1


def test_a_later_process_leaves_the_record_as_it_is(client: redis.Redis, world: World) -> None:
    older = {"version": 1, "dcf": "0.0.1", "of": "a later version"}
    client.set(keys.LAYOUT, json.dumps(older))
    inspect_server(world.connections)
    assert record_of(client) == older


def test_a_redis_without_the_record_has_layout_1(client: redis.Redis, world: World) -> None:
    run = world.create(chain("A"))
    assert record_of(client) is None
    assert world.run_status(run) == "running"


def test_a_newer_layout_is_refused_before_anything_is_read_or_written(client: redis.Redis, world: World) -> None:
    client.set(keys.LAYOUT, NEWER)
    client.config_resetstat()
    with pytest.raises(StoreTooNew) as refused:
        inspect_server(world.connections)
    assert refused.value.message == REFUSAL
    with pytest.raises(StoreTooNew):
        world.create(chain("A"))
    assert client.keys() == [keys.LAYOUT.encode()]
    assert {*client.info("commandstats")} <= {"cmdstat_config|resetstat", *GREETING, "cmdstat_keys", "cmdstat_info"}


def test_a_layout_that_was_raised_meanwhile_is_refused_after_a_reconnection(client: redis.Redis, world: World) -> None:
    run = world.create(chain("A"))
    client.set(keys.LAYOUT, NEWER)
    reconnect(client)
    for _ in range(2):  # a refused connection is not used later
        with pytest.raises(StoreTooNew):
            world.plane.read(run)
        with pytest.raises(StoreTooNew):
            world.acquire(run, "A")
        with pytest.raises(StoreTooNew):
            world.index.live()
    client.delete(keys.LAYOUT)
    assert world.run_status(run) == "running"


@rows(
    "record",
    ["", "1", "[]", "null", "{}", '{"version": 1}', '{"version": "1", "dcf": "1"}', '{"version": true, "dcf": "1"}'],
)
def test_a_record_that_dcf_did_not_write_is_refused(client: redis.Redis, world: World, record: str) -> None:
    client.set(keys.LAYOUT, record)
    reconnect(client)
    with pytest.raises(StoreUnsuitable, match=r"^The record of the key layout \(cp:idx:layout\) was changed by hand"):
        inspect_server(world.connections)


def test_so_is_a_record_of_another_type(client: redis.Redis, world: World) -> None:
    client.hset(keys.LAYOUT, "version", "1")
    with pytest.raises(StoreUnsuitable, match="changed by hand"):
        inspect_server(world.connections)


def test_a_newer_process_that_starts_at_the_same_time_is_noticed(client: redis.Redis, world: World) -> None:
    world.index.live()  # connects, while there is no record
    client.set(keys.LAYOUT, NEWER)
    with pytest.raises(StoreTooNew):
        inspect_server(world.connections)


def test_a_redis_that_takes_no_writes_keeps_no_record_and_is_used(client: redis.Redis, world: World) -> None:
    client.config_set("min-replicas-to-write", 1)
    try:
        inspect_server(world.connections)
        assert world.index.live() == []
    finally:
        client.config_set("min-replicas-to-write", 0)
    assert record_of(client) is None


def test_reading_the_layout_takes_no_round_trip_more_than_redis_py_takes_to_connect(
    port: int, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.ping()  # its own connection is open
    packets: list[object] = []
    send = redis.Connection.send_packed_command

    def noted(connection: redis.Connection, command: object, **options: Any) -> object:
        packets.append(command)
        return send(connection, command, **options)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(redis.Connection, "send_packed_command", noted)
    counts = []
    for pool in (redis.ConnectionPool(port=port, protocol=2), open_pool(f"redis://127.0.0.1:{port}")):
        packets.clear()
        pool.get_connection()
        counts.append(len(packets))
        pool.disconnect()
    plain, ours = counts
    assert (plain, ours) == (2, 1)


def test_redis_lists_the_version_of_each_dcf_that_is_connected(client: redis.Redis, world: World) -> None:
    world.index.live()
    assert f"redis-py(dcf_v{__version__})" in {item["lib-name"] for item in client.client_list()}
