"""A run whose slot is moving, with some of its keys at one node and the others at another."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from redis.exceptions import ExecAbortError

from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import ReadSet
from dcf.core.leasing.lease import Acquire
from dcf.errors import StoreUnavailable
from dcf.runs.control_plane import ControlPlane
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.connection.connections import Connections, exchange
from dcf.store.connection.faults import PassingError
from dcf.store.keys.parts import KeyText
from dcf.store.keys.table import RunKeys
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.attempts import Overtaken, commit
from dcf.store.transaction.runs import RunStore
from tests.support.redis.cluster import Cluster
from tests.support.workflows.machines import chain, workflow
from tests.support.world import World

_BUILT = "return redis.call('GET', ARGV[1] .. 'absent')"


@contextmanager
def half_moved(cluster: Cluster, *there: str) -> Iterator[None]:
    """These keys, all of one slot, are at the new node already, until the block ends; then the others follow."""
    moved = [cluster_key(key) for key in there]
    slot = slot_of(moved[0])
    source = cluster.owner(slot)
    target = next(node for node in cluster.primaries() if node is not source)
    cluster.begin_to_move(slot, target)
    cluster.migrate(moved, source, target)
    try:
        yield
    finally:
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            cluster.migrate(keys, source, target)
        cluster.end_move(slot, source, target)


@pytest.fixture
def world(cluster_connections: Connections) -> World:
    return World(connections=cluster_connections)


def test_its_documents_are_all_found(cluster: Cluster, world: World, cluster_connections: Connections) -> None:
    run = world.create(chain("a", "b"))
    store = RunStore(cluster_connections)
    whole = store.read(run, ReadSet(states=("a", "b"), whole_meta=True))
    with half_moved(cluster, RunKeys(run).state("a")):
        half = store.read(run, ReadSet(states=("a", "b"), whole_meta=True))
    assert (half.meta, half.states) == (whole.meta, whole.states)


def test_that_nothing_may_be_claimed_is_told_only_of_all_states(
    cluster: Cluster, world: World, cluster_connections: Connections
) -> None:
    branches = [{"StartAt": name, "States": {name: {"Type": "Task", "End": True}}} for name in ("Bobs", "Anns")]
    both = workflow({"Both": {"Type": "Parallel", "Branches": branches, "End": True}})
    run = world.create(both, agents={"Bobs": "bob"})
    hasty = ControlPlane(RunStore(cluster_connections, deadline_s=0.1), RunIndex(cluster_connections))
    of_bob, wish = (Acquire(state="", owner=name, token=f"of-{name}", ttl_s=60) for name in ("bob", "ann"))
    assert isinstance(world.plane.claim(run, of_bob), Leased)  # before the first claim, Redis refuses the script
    with half_moved(cluster, RunKeys(run).state("Both/1/Anns")), pytest.raises(StoreUnavailable):
        hasty.claim(run, wish)
    assert isinstance(world.plane.claim(run, wish), Leased)


def test_a_change_waits_until_it_has_moved(cluster: Cluster, world: World) -> None:
    run = world.create(chain("a", "b"))
    with ThreadPoolExecutor() as others:
        with half_moved(cluster, RunKeys(run).state("a")):
            taken = others.submit(world.try_acquire, run, "a")
        assert isinstance(taken.result(), Leased)


def test_a_transaction_writes_nothing_at_the_new_node(cluster: Cluster, cluster_connections: Connections) -> None:
    run = RunKeys("of-two-nodes")
    cluster_connections.send(("SET", run.barrier, "1"), ("SET", run.secret, "before"))
    with half_moved(cluster, run.barrier), cluster_connections.one() as connection:
        *_, done = exchange(
            connection, [("MULTI",), ("SET", run.barrier, "2"), ("SET", run.secret, "after"), ("EXEC",)]
        )
    assert isinstance(done, ExecAbortError)
    assert cluster_connections.send(("GET", run.barrier), ("GET", run.secret)) == [b"1", b"before"]


def test_a_script_that_misses_a_key_there_may_be_called_again(
    cluster: Cluster, cluster_connections: Connections
) -> None:
    run = RunKeys("of-a-script")
    beginning = KeyText(run.barrier.removesuffix("barrier"))
    cluster_connections.send(("SET", run.barrier, "1"), ("SET", run.secret, "1"))
    call = ("EVAL", _BUILT, 1, run.secret, beginning)
    with half_moved(cluster, run.barrier), pytest.raises(StoreUnavailable):
        cluster_connections.send(call)
    assert cluster_connections.send(call) == [None]


def test_nor_does_a_script_look_for_keys_where_they_have_not_come(
    cluster: Cluster, cluster_connections: Connections
) -> None:
    run = RunKeys("of-a-script-too")
    beginning = KeyText(run.barrier.removesuffix("barrier"))
    cluster_connections.send(("SET", run.barrier, "1"), ("SET", run.secret, "1"))
    call = ("EVAL", "return redis.call('GET', ARGV[1] .. 'barrier')", 1, run.secret, beginning)
    with half_moved(cluster, run.secret), pytest.raises(StoreUnavailable):
        cluster_connections.send(call)
    assert cluster_connections.send(call) == [b"1"]


def test_what_others_wrote_after_the_slot_moved_is_not_overwritten(
    cluster: Cluster, cluster_connections: Connections
) -> None:
    run = RunKeys("of-a-moved-slot")
    cluster_connections.send(("SET", run.secret, "before"))
    slot = slot_of(cluster_key(run.secret))
    source = cluster.owner(slot)
    with cluster_connections.one() as connection:
        assert exchange(connection, [("WATCH", run.secret), ("GET", run.secret)]) == [b"OK", b"before"]
        cluster.move(slot, next(node for node in cluster.primaries() if node is not source))
        cluster_connections.send(("SET", run.secret, "theirs"))
        with pytest.raises((PassingError, Overtaken)):
            commit(connection, [("SET", run.secret, "mine")])
    assert cluster_connections.send(("GET", run.secret)) == [b"theirs"]
