"""Runs on a cluster whose slots move and whose nodes die, with a real cluster of six nodes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.crc import key_slot

from dcf.errors import DcfError, StoreUnavailable, UnknownRun
from dcf.features.health.facts import Expected
from dcf.features.health.operations import Health
from dcf.features.health.storage import VitalSigns
from dcf.store.cluster.url import open_cluster
from dcf.store.connection.opening import connect
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from tests.support.redis.cluster import Cluster, Node, redis_cluster
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

NAMES = tuple(f"S{number}" for number in range(8))
PATIENCE_S = 90.0


@pytest.fixture(scope="module")
def cluster(short_directory: Path) -> Iterator[Cluster]:
    """A cluster of its own, since its nodes are killed."""
    with redis_cluster(short_directory / "moving") as cluster:
        yield cluster


@pytest.fixture
def world(cluster: Cluster) -> Iterator[World]:
    wait_until(cluster.is_whole, PATIENCE_S)
    connections = connect(cluster.url)
    yield World(connections=connections, deadline_s=PATIENCE_S)
    connections.close()


def slot(run: str) -> int:
    return key_slot(run.encode())


def other_than(cluster: Cluster, owner: Node) -> Node:
    return next(node for node in cluster.primaries() if node is not owner)


def test_a_run_is_worked_on_while_its_slot_moves_to_and_fro_key_by_key(cluster: Cluster, world: World) -> None:
    run = world.create(chain(*NAMES), agents=dict.fromkeys(NAMES, "ann"))
    is_over = threading.Event()

    def move() -> None:
        while not is_over.is_set():
            cluster.move(slot(run), other_than(cluster, cluster.owner(slot(run))), at_once=1)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for name in NAMES:
            world.do(run, name, "ann")
    finally:
        is_over.set()
        mover.join()
    world.finalize(run)
    assert world.run_status(run) == "succeeded"
    assert world.event_types(run).count("StateSucceeded") == len(NAMES)
    assert {world.doc(run, name).attempts for name in NAMES} == {1}


@contextmanager
def half_moved(cluster: Cluster, moving: int) -> Iterator[None]:
    """Have some keys of a slot at one node and the others at another, until the block ends."""
    source = cluster.owner(moving)
    target = other_than(cluster, source)
    target.ask("CLUSTER", "SETSLOT", moving, "IMPORTING", source.node_id)
    source.ask("CLUSTER", "SETSLOT", moving, "MIGRATING", target.node_id)
    first, *_ = source.ask("CLUSTER", "GETKEYSINSLOT", moving, 1)
    login = ("AUTH2", "admin", cluster.passwords["admin"])
    source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, *login, "KEYS", first)
    try:
        yield
    finally:
        cluster.move(moving, target)


def test_what_is_half_moved_is_neither_taken_for_absent_nor_written(cluster: Cluster, world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "ann", "B": "ann"})
    token = world.acquire(run, "A", "ann")
    hasty = World(connections=world.connections, deadline_s=0.3)
    with half_moved(cluster, slot(run)):
        with pytest.raises(DcfError) as raised:
            hasty.complete(run, "A", token)
        assert not isinstance(raised.value, UnknownRun)
    assert world.doc(run, "A").status == "running"
    world.complete(run, "A", token)
    world.do(run, "B", "ann")
    assert world.run_status(run) == "succeeded"


def test_a_primary_that_is_killed_is_replaced_and_what_was_answered_is_there(cluster: Cluster) -> None:
    wait_until(cluster.is_whole, PATIENCE_S)
    connections = connect(cluster.url)
    world = World(connections=connections, deadline_s=PATIENCE_S, wait_replicas=1)
    runs = [world.create(chain("A", "B"), agents={"A": "ann", "B": "ann"}) for _ in range(6)]
    tokens = {run: world.acquire(run, "A", "ann") for run in runs}
    killed = cluster.owner(slot(runs[0]))
    killed.kill()
    wait_until(cluster.is_whole, PATIENCE_S)
    unconfirmed = World(connections=connections, deadline_s=PATIENCE_S)
    for run in runs:
        unconfirmed.complete(run, "A", tokens[run])
        unconfirmed.do(run, "B", "ann")
    cluster.restart(killed)
    connections.close()


def test_connections_to_a_node_that_serves_no_slots_any_more_are_closed(cluster: Cluster) -> None:
    wait_until(cluster.is_whole, PATIENCE_S)
    node, connections = cluster.primaries()[0], open_cluster(cluster.url)

    def of_dcf() -> set[str]:
        clients = str(node.ask("CLIENT", "LIST")).splitlines()
        return {client.partition(" ")[0] for client in clients if " user=dcf " in client}

    others = of_dcf()
    connections.send(*(("GET", RunKeys(f"of-{number}").barrier) for number in range(50)))
    assert of_dcf() - others
    cluster.fail_over(cluster.replica_of(node))
    wait_until(cluster.is_in_step, PATIENCE_S)

    def are_closed() -> bool:
        connections.open_waiting(keys.RUNS)  # asks which nodes there are
        return not of_dcf() - others

    wait_until(are_closed, PATIENCE_S)
    connections.close()


def test_a_health_report_names_the_primary_that_is_gone(cluster: Cluster, world: World) -> None:
    node = cluster.primaries()[0]
    replica = cluster.replica_of(node)
    replica.ask("CONFIG", "SET", "cluster-replica-no-failover", "yes")
    health = Health(VitalSigns(world.connections), Expected(fsync=None, wait_replicas=0, pulse_interval_s=1.0))
    node.kill()
    (only,) = health.report().findings
    assert (
        only.sentence == f"Node 127.0.0.1:{node.port} of the cluster: Redis cannot be reached: no server listens there."
    )
    replica.ask("CONFIG", "SET", "cluster-replica-no-failover", "no")
    cluster.restart(node)
    assert health.report().is_ready


def test_nobody_answers_is_told_when_all_nodes_of_the_url_are_gone() -> None:
    connections = connect("redis+cluster://user:secret@127.0.0.1:9,127.0.0.1:10")
    with pytest.raises(StoreUnavailable) as raised:
        connections.send(("GET", "cp:idx:probe"))
    assert "the cluster of 127.0.0.1:9, 127.0.0.1:10" in str(raised.value.place)
    assert "secret" not in f"{raised.value} {raised.value.place} {raised.value.hint}"
