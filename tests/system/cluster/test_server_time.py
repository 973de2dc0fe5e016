"""A clock of a cluster's node that steps back is noticed."""

from contextlib import closing
from pathlib import Path
from typing import Any

from dcf.store.cluster.connections import SHARDS
from dcf.store.connection.connections import Pool
from dcf.store.connection.opening import connect
from dcf.store.connection.server_time import ServerTime
from dcf.store.keys import table as keys
from dcf.store.lists.shards import in_every_shard
from lab.server_time import SharedTime, TimedPool
from tests.support.redis.cluster import Cluster


def test_on_a_cluster_a_step_back_of_any_node_is_told(cluster: Cluster, tmp_path: Path) -> None:
    first, others = SharedTime(tmp_path / "one"), SharedTime(tmp_path / "others")
    port = cluster.primaries()[-1].port

    def around(pool: Any) -> Pool:
        return TimedPool(pool, first if pool.connection_kwargs["port"] == port else others)

    with closing(connect(cluster.url, around=around)) as connections:
        forget = [("DEL", key) for key in (keys.SERVER_TIME, *in_every_shard(keys.SERVER_TIME, SHARDS))]
        connections.send(*forget)
        time = ServerTime(connections)
        assert not time.read().has_stepped_back
        first.step(-600)
        assert time.read().has_stepped_back
        time.accept_reading()
        assert not time.read().has_stepped_back
        connections.send(*forget)
