"""On a cluster too, an answer waits for replicas: those of each node that something was written to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dcf.errors import StoreUnavailable
from dcf.features.retention.storage import Deletion
from dcf.store.cluster import connections as waiting
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.connection.connections import Connection, Connections, exchange
from dcf.store.connection.faults import PassingError
from dcf.store.connection.opening import connect
from dcf.store.keys.table import RunKeys, assigned
from dcf.store.transaction import attempts
from tests.features.children.test_operations import begin, keep, only_child, starts
from tests.support.ahead import Ahead, let_pass
from tests.support.redis.cluster import Cluster, Node, redis_cluster
from tests.support.redis.documents import asking, write_document
from tests.support.waiting import wait_until
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import task
from tests.support.world import World


@pytest.fixture
def confirmed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    """Connections that wait for a replica of each node: long, but for those that a test stops."""
    monkeypatch.setattr(waiting, "_CONFIRM_MS", 4000)
    result = connect(cluster.url, wait_replicas=1)
    yield result
    result.close()


@contextmanager
def without_its_replica(cluster: Cluster, primary: Node) -> Iterator[None]:
    """The replica of a primary does nothing for a while, and is not waited for long."""
    with cluster.replica_of(primary).stopped(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "_CONFIRM_MS", 200)
        patch.setattr(attempts, "_WAIT_MS", 200)
        yield
    wait_until(cluster.is_in_step)


def a_run_of(cluster: Cluster, node: Node) -> RunKeys:
    """A run whose keys this node has."""
    runs = (RunKeys(f"of-{number}") for number in range(1000))
    return next(run for run in runs if cluster.owner(slot_of(cluster_key(run.meta))) is node)


def is_confirmed(confirmed: Connections, run: RunKeys) -> bool:
    """Whether a write was confirmed in time; a busy machine may take longer."""
    try:
        confirmed.send(("SET", run.barrier, "1"))
    except StoreUnavailable:
        return False
    return True


def test_what_no_replica_has_is_not_answered(cluster: Cluster, confirmed: Connections) -> None:
    first, second, _ = cluster.primaries()
    with without_its_replica(cluster, first):
        wait_until(lambda: is_confirmed(confirmed, a_run_of(cluster, second)))
        with pytest.raises(StoreUnavailable, match="NOREPLICAS"):
            confirmed.send(("SET", a_run_of(cluster, first).barrier, "1"))
        assert confirmed.send(("GET", a_run_of(cluster, first).barrier)) == [b"1"]


def test_a_run_is_not_changed_before_replicas_have_the_entries_of_lists(
    cluster: Cluster, confirmed: Connections
) -> None:
    first, second, _ = cluster.primaries()
    listed, changed = a_run_of(cluster, first).timers, a_run_of(cluster, second).secret
    with without_its_replica(cluster, first), pytest.raises(PassingError), confirmed.one() as connection:
        exchange(connection, [("ZADD", listed, 1, "a"), ("MULTI",), ("SET", changed, "1"), ("EXEC",)])
    assert confirmed.send(("GET", changed)) == [None]


def test_a_wait_goes_with_its_write_to_where_a_slot_has_moved(cluster: Cluster) -> None:
    result = connect(cluster.url)
    first, second, _ = cluster.primaries()
    key = a_run_of(cluster, first).barrier

    def replicas_that_have_it(connection: Connection) -> object:
        return exchange(connection, [("SET", key, "1"), ("WAIT", 1, 200)])[1]

    wait_until(lambda: result.over_one(replicas_that_have_it) == 1)
    cluster.move(slot_of(cluster_key(key)), second)
    with without_its_replica(cluster, second):
        assert result.over_one(replicas_that_have_it) == 0
    result.close()


def test_a_write_to_a_node_that_just_got_its_first_slot_waits_for_its_replica(
    short_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_CONFIRM_MS", 4000)
    with redis_cluster(short_directory / "growing", size=2, serving=1) as growing:
        full, empty, *_ = growing.nodes
        result, key = connect(growing.url, wait_replicas=1), RunKeys("of-a-new-node").barrier
        result.send(("SET", key, "before"))
        slot = slot_of(cluster_key(key))
        growing.begin_to_move(slot, empty)
        growing.migrate([cluster_key(key)], full, empty)
        result.send(("SET", key, "after"))
        monkeypatch.setattr(waiting, "_CONFIRM_MS", 200)
        with growing.replica_of(empty).stopped(), pytest.raises(StoreUnavailable, match="NOREPLICAS"):
            result.send(("SET", key, "never answered"))
        growing.end_move(slot, full, empty)
        assert result.send(("GET", key)) == [b"never answered"]
        result.close()


def test_a_run_is_there_until_it_is_off_the_lists_that_it_tells_of(cluster: Cluster, confirmed: Connections) -> None:
    elsewhere = cluster.owner(slot_of(cluster_key(assigned("ann"))))
    run = a_run_of(cluster, next(node for node in cluster.primaries() if node is not elsewhere))
    name = run.workflow_id
    document = {"status": "succeeded", "agents": {"a": ["ann"]}}
    write_document(asking(confirmed), run.meta, document)
    confirmed.send(("ZADD", assigned("ann"), 1, name))
    with without_its_replica(cluster, elsewhere), pytest.raises(StoreUnavailable):
        Deletion(confirmed).remove(name, (), (), (), document)
    assert confirmed.send(("EXISTS", run.meta)) == [1]
    Deletion(confirmed).remove(name, (), (), (), document)
    assert confirmed.send(("EXISTS", run.meta), ("ZSCORE", assigned("ann"), name)) == [0, None]


def test_a_parent_is_not_told_of_an_end_that_no_replica_has(
    cluster: Cluster, confirmed: Connections, cluster_connections: Connections
) -> None:
    unconfirmed = World(connections=cluster_connections, clock=Ahead())
    run, child = a_parent_elsewhere(cluster, unconfirmed)
    unconfirmed.do(child, "Do")
    let_pass(unconfirmed, 61)
    unconfirmed.plane.look(run, "Inner")
    hasty, details = (World(connections=confirmed, wait_replicas=1, deadline_s=long_s) for long_s in (0.5, 60))
    with without_its_replica(cluster, node_of(cluster, child)):
        hasty.notifications.deliver_all(run)
        assert details.doc(run, "Inner").waits_outside
    details.notifications.deliver_all(child)
    assert not details.doc(run, "Inner").waits_outside
    unconfirmed.close()


def a_parent_elsewhere(cluster: Cluster, world: World) -> tuple[str, str]:
    """A run that continues after its child, and that child on another node."""
    while True:
        run = begin(world, workflow({"Inner": starts(keep(world), Next="Last"), "Last": task()}))
        child = only_child(world, run)
        if node_of(cluster, run) is not node_of(cluster, child):
            return run, child


def node_of(cluster: Cluster, run: str) -> Node:
    return cluster.owner(slot_of(cluster_key(RunKeys(run).meta)))
