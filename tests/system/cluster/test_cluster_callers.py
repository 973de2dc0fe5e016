"""A caller of a cluster's connections leaves a clean one to the next, and gets an error where there is no cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.cluster import ClusterNode

from dcf.errors import InvalidArgument, StoreUnavailable, StoreUnsuitable
from dcf.features.diagnosis.storage import RunSignsReader
from dcf.features.health.facts import Expected
from dcf.features.health.findings import Topic
from dcf.features.health.operations import Health
from dcf.features.health.storage import VitalSigns
from dcf.store.cluster.connections import ClusterConnections
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.cluster.url import open_cluster
from dcf.store.connection.connections import Connections, exchange
from dcf.store.connection.faults import PassingError
from dcf.store.connection.inspection import inspect_server
from dcf.store.connection.opening import connect
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.attempts import Overtaken, commit, watch_if
from dcf.store.transaction.guards import Unchanged
from tests.support.redis.cluster import Cluster
from tests.support.redis.servers import free_port, redis_server
from tests.support.waiting import wait_until

RUN = RunKeys("of-callers")


@pytest.fixture
def connections_of_one(cluster: Cluster) -> Iterator[ClusterConnections]:
    """Connections that only one caller at a time uses, so that each has those of the one before."""
    cluster_connections = open_cluster(cluster.url)
    yield cluster_connections
    cluster_connections.close()


def test_what_a_caller_watched_in_vain_does_not_fail_the_next_one(connections_of_one: Connections) -> None:
    with connections_of_one.one() as connection, pytest.raises(Overtaken):
        watch_if(connection, Unchanged(replies={("GET", RUN.barrier): b"never"}))
    with connections_of_one.one() as connection:
        exchange(connection, [("SET", RUN.barrier, "changed")])
        commit(connection, [("SET", RUN.secret, "written")])
    assert connections_of_one.send(("GET", RUN.secret)) == [b"written"]


def test_where_nobody_listens_this_is_said_and_why() -> None:
    with pytest.raises(StoreUnavailable, match="no server listens there"):
        inspect_server(open_cluster(f"redis+cluster://127.0.0.1:{free_port()}"))


def test_of_a_node_without_slots_it_is_said_that_it_serves_nothing(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as port:
        empty = open_cluster(f"redis+cluster://127.0.0.1:{port}")
        with pytest.raises(StoreUnavailable, match="CLUSTERDOWN"):
            inspect_server(empty)
        with pytest.raises(StoreUnavailable, match="CLUSTERDOWN"):
            empty.send(("TIME",))


def test_while_a_slot_is_not_served_the_form_of_documents_is_unavailable(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as port:
        with redis.Redis(port=port) as node:
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16382)
        incomplete = open_cluster(f"redis+cluster://127.0.0.1:{port}")
        with pytest.raises(StoreUnavailable, match="CLUSTERDOWN"):
            assert incomplete.form


def test_a_server_that_is_no_cluster_is_named_so_and_how_its_url_begins(tmp_path: Path) -> None:
    with redis_server(tmp_path) as port:
        alone = open_cluster(f"redis+cluster://127.0.0.1:{port}")
        for call in (lambda: inspect_server(alone), lambda: alone.send(("TIME",))):
            with pytest.raises(StoreUnsuitable, match="is not a cluster") as raised:
                call()
            assert "redis://" in raised.value.hint


def test_a_node_of_a_cluster_is_named_so_at_the_start_and_how_its_url_begins(cluster: Cluster) -> None:
    node = connect(f"redis://dcf:{cluster.passwords['dcf']}@127.0.0.1:{cluster.nodes[0].port}")
    with pytest.raises(StoreUnsuitable, match="is a node of a cluster") as raised:
        inspect_server(node)
    assert "redis+cluster://" in raised.value.hint
    node.close()


def test_where_it_was_not_seen_at_the_start_its_refusals_say_so(cluster: Cluster) -> None:
    node = connect(f"redis://dcf:{cluster.passwords['dcf']}@127.0.0.1:{cluster.nodes[0].port}")
    with pytest.raises(StoreUnsuitable, match="is a node of a cluster") as several:
        node.send(("EXISTS", RUN.secret, RUN.meta))
    with pytest.raises(StoreUnavailable, match="MOVED") as elsewhere:
        node.send(*(("EXISTS", RunKeys(f"of-{number}").meta) for number in range(50)))
    for details in (several, elsewhere):
        assert "redis+cluster://" in details.value.hint
    node.close()


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        open_cluster("redis+cluster://[::1")


def test_a_node_without_slots_is_not_searched_for_a_key_to_confirm_writes_with(cluster: Cluster) -> None:
    nodes = open_cluster(cluster.url)._nodes
    searched = slot_of.cache_info()
    with pytest.raises(PassingError):
        nodes.barrier("127.0.0.1:9")
    cache_info = slot_of.cache_info()
    assert cache_info.hits + cache_info.misses == searched.hits + searched.misses + 1
    nodes.close()


def test_when_all_known_nodes_are_gone_those_of_the_url_are_asked(connections_of_one: ClusterConnections) -> None:
    connections_of_one.send(("SET", RUN.secret, "there"))
    known = connections_of_one._nodes._known()
    removed: Any = ClusterNode
    known.startup_nodes, known.slots_cache = {"gone": removed("127.0.0.1", free_port())}, {}

    def is_found() -> bool:
        try:
            return connections_of_one.send(("GET", RUN.secret)) == [b"there"]
        except StoreUnavailable:
            return False

    wait_until(is_found)


def test_a_health_report_writes_at_each_primary_and_names_the_one_that_refuses(
    cluster: Cluster, connections_of_one: ClusterConnections
) -> None:
    health = Health(VitalSigns(connections_of_one), Expected(fsync=None, wait_replicas=0, pulse_interval_s=1.0))
    for node in cluster.primaries():
        assert health.report().is_ready
        node.ask("CONFIG", "SET", "maxmemory", 1)
        try:
            (writes,) = (finding for finding in health.report().findings if finding.topic is Topic.WRITES)
        finally:
            node.ask("CONFIG", "SET", "maxmemory", 0)
        assert writes.sentence.startswith(
            f"Node 127.0.0.1:{node.port} of the cluster: Redis refuses writes: its memory"
        )


def test_a_health_report_has_the_figures_of_each_primary_and_names_the_odd_one(
    cluster: Cluster, connections_of_one: ClusterConnections
) -> None:
    health = Health(VitalSigns(connections_of_one), Expected(fsync=None, wait_replicas=0, pulse_interval_s=1.0))
    node = cluster.primaries()[1]
    node.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        report = health.report()
    finally:
        node.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    (memory,) = (finding for finding in report.findings if finding.topic is Topic.MEMORY)
    assert memory.sentence.startswith(f"Node 127.0.0.1:{node.port} of the cluster: maxmemory-policy is allkeys-lru")
    nodes = report.as_json()["nodes"]
    policies = {node["node"]: node["memory"]["policy"] for node in nodes}
    assert policies.pop(f"127.0.0.1:{node.port}") == "allkeys-lru"
    assert list(policies.values()) == ["noeviction"] * (len(cluster.primaries()) - 1)
    used = [node["memory"]["used"] for node in nodes]
    assert used == sorted(used, reverse=True)
    assert report.as_json()["memory"] == nodes[0]["memory"]


def test_what_is_read_to_explain_a_run_tells_of_the_node_that_has_the_run(
    cluster: Cluster, connections_of_one: ClusterConnections
) -> None:
    own = cluster.owner(slot_of(cluster_key(RUN.meta)))
    signs = RunSignsReader(connections_of_one)
    for node in cluster.primaries():
        node.ask("CONFIG", "SET", "maxmemory", 1)
        try:
            refusal = signs.run(RUN.workflow_id).refusal
        finally:
            node.ask("CONFIG", "SET", "maxmemory", 0)
        assert (refusal is not None) == (node is own)
