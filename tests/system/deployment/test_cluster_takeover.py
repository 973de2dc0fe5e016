"""A Redis Cluster whose primaries are all lost with their region: a person gives their places to the replicas."""

from collections.abc import Sequence
from pathlib import Path

import redis

from tests.support.redis.cluster import ADMIN, Cluster, Node, redis_cluster
from tests.support.waiting import wait_until


def ports(nodes: Sequence[Node]) -> set[int]:
    return {node.port for node in nodes}


def connected(cluster: Cluster, node: Node) -> redis.RedisCluster:
    return redis.RedisCluster(
        "127.0.0.1", node.port, decode_responses=True, username=ADMIN, password=cluster.passwords[ADMIN]
    )


def test_replicas_take_over_without_a_vote_and_have_what_was_confirmed(tmp_path: Path) -> None:
    written = {f"cp:wf:{{run-{number}}}:meta": str(number) for number in range(30)}
    with redis_cluster(tmp_path) as cluster:
        primaries, replicas = cluster.nodes[:3], cluster.nodes[3:]
        with connected(cluster, primaries[0]) as client:
            for key, value in written.items():
                client.set(key, value)
            for primary in primaries:
                assert client.wait(1, 60_000, target_nodes=client.get_node("127.0.0.1", primary.port)) == 1
        for primary in primaries:
            primary.kill()
        for replica in replicas:
            replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
        wait_until(lambda: cluster.is_whole() and ports(cluster.primaries()) == ports(replicas))
        with connected(cluster, replicas[0]) as client:
            assert {key: client.get(key) for key in written} == written

        old = primaries[0]
        old.start()
        wait_until(lambda: old.ask("ROLE")[0] == "slave")
