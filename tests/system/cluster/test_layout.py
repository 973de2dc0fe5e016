"""The version of the key layout on a cluster, where one node has the record, and behind a sentinel."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections, exchange
from dcf.store.connection.inspection import inspect_server
from dcf.store.connection.layout import LAYOUT, StoreTooNew
from dcf.store.connection.opening import connect
from dcf.store.keys import table as keys
from tests.support.redis.cluster import Cluster


@contextmanager
def newer(send: Callable[[Command], object]) -> Iterator[None]:
    """A newer dcf has written the record, until the block ends."""
    send(("SET", keys.LAYOUT, json.dumps({"version": LAYOUT + 1, "dcf": "9.1.0"})))
    try:
        yield
    finally:
        send(("DEL", keys.LAYOUT))


def test_the_first_process_writes_the_record_at_the_node_of_its_key(
    cluster: Cluster, cluster_onlooker: Connections
) -> None:
    cluster_onlooker.send(("DEL", keys.LAYOUT))
    connections = connect(cluster.url)
    inspect_server(connections)
    (record,) = cluster_onlooker.send(("GET", keys.LAYOUT))
    connections.close()
    assert json.loads(record)["version"] == LAYOUT


def test_a_newer_layout_is_refused_by_each_client_of_the_node_with_the_record(
    cluster: Cluster, cluster_onlooker: Connections
) -> None:
    with newer(cluster_onlooker.send):
        connections = connect(cluster.url)
        for _ in range(2):
            with pytest.raises(StoreTooNew):
                inspect_server(connections)
            with pytest.raises(StoreTooNew):
                connections.send(("GET", keys.LAYOUT))
        connections.close()
    again = connect(cluster.url)
    inspect_server(again)
    again.close()


def test_a_layout_that_was_raised_meanwhile_is_refused_after_a_reconnection(
    cluster: Cluster, cluster_onlooker: Connections
) -> None:
    connections = connect(cluster.url)
    inspect_server(connections)
    with newer(cluster_onlooker.send):
        connections.recover()  # as after a connection error
        with pytest.raises(StoreTooNew):
            connections.send(("GET", keys.LAYOUT))
    connections.close()


def test_the_primary_behind_a_sentinel_is_asked_like_any_server(sentinel_connections: Connections) -> None:
    inspect_server(sentinel_connections)
    sentinel_connections.recover()  # as after a connection error
    with sentinel_connections.one() as already:
        keep = newer(lambda command: exchange(already, [command]))
        with keep, pytest.raises(StoreTooNew):
            sentinel_connections.send(("GET", keys.LAYOUT))
