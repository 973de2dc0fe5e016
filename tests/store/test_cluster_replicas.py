"""On a cluster too, an answer waits for replicas: those of each node that something was written to."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dcf.errors import StoreUnavailable
from dcf.store import cluster as waiting
from dcf.store.cluster_keys import cluster_key, slot_of
from dcf.store.connection import Connection, Connections, exchange
from dcf.store.faults import PassingError
from dcf.store.opening import connect
from tests.support.cluster import Cluster, Node
from tests.support.waiting import wait_until


@pytest.fixture
def confirmed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    """Connections that wait for a replica of each node."""
    monkeypatch.setattr(waiting, "_CONFIRM_MS", 200)
    found = connect(cluster.url, wait_replicas=1)
    yield found
    found.close()


@contextmanager
def without_its_replica(cluster: Cluster, primary: Node) -> Iterator[None]:
    """The replica of a primary does nothing for a while."""
    with cluster.replica_of(primary).stopped():
        yield
    wait_until(cluster.is_in_step, 30)


def meta_of(cluster: Cluster, node: Node) -> str:
    """The key of a run that this node has."""
    metas = (f"cp:wf:of-{number}:meta" for number in range(1000))
    return next(key for key in metas if cluster.owner(slot_of(cluster_key(key))) is node)


def test_what_no_replica_has_is_not_answered(cluster: Cluster, confirmed: Connections) -> None:
    first, second, _ = cluster.primaries()
    with without_its_replica(cluster, first):
        confirmed.send(("SET", meta_of(cluster, second), "1"))
        with pytest.raises(StoreUnavailable, match="NOREPLICAS"):
            confirmed.send(("SET", meta_of(cluster, first), "1"))
        assert confirmed.send(("GET", meta_of(cluster, first))) == [b"1"]


def test_a_run_is_not_changed_before_replicas_have_the_entries_of_lists(
    cluster: Cluster, confirmed: Connections
) -> None:
    first, second, _ = cluster.primaries()
    listed, meta = meta_of(cluster, first), f"{meta_of(cluster, second)}:changed"
    with without_its_replica(cluster, first), pytest.raises(PassingError), confirmed.one() as connection:
        exchange(connection, [("ZADD", f"{listed}:list", 1, "a"), ("MULTI",), ("SET", meta, "1"), ("EXEC",)])
    assert confirmed.send(("GET", meta)) == [None]


def test_a_wait_goes_with_its_write_to_where_a_slot_has_moved(cluster: Cluster) -> None:
    found = connect(cluster.url)
    first, second, _ = cluster.primaries()
    key = meta_of(cluster, first)

    def replicas_that_have_it(connection: Connection) -> object:
        return exchange(connection, [("SET", key, "1"), ("WAIT", 1, 200)])[1]

    assert found.over_one(replicas_that_have_it) == 1
    cluster.move(slot_of(cluster_key(key)), second)
    with without_its_replica(cluster, second):
        assert found.over_one(replicas_that_have_it) == 0
    found.close()
