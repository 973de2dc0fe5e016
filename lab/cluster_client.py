"""Reads a cluster for the lab, by the keys that dcf makes for a single server.

It goes through redis-py's client for clusters, not through dcf's connections. Keys get their hash tags, and a list of
runs is read from all of its parts.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import redis
from redis.cluster import ClusterNode

from dcf.store.cluster.connections import SHARDS
from dcf.store.cluster.keys import cluster_key, plain_key
from dcf.store.keys.table import LIVE, RUNS
from dcf.store.lists.shards import in_every_shard
from tests.support.redis.cluster import ADMIN, Cluster


class ClusterClient:
    """A client of the whole cluster, as its administrator."""

    def __init__(self, cluster: Cluster) -> None:
        make: Any = redis.RedisCluster  # redis-py leaves it untyped
        nodes = [ClusterNode(node.address, node.port) for node in cluster.alive()]  # type: ignore[no-untyped-call]
        login = {"username": ADMIN, "password": cluster.passwords[ADMIN]}
        self._client: Any = make(startup_nodes=nodes, protocol=2, socket_timeout=5, **login)

    def execute_command(self, name: str, *words: Any) -> Any:
        """Send a command whose words that begin like keys are keys."""
        return self._client.execute_command(name, *(cluster_key(w) if w.startswith(_KEYS) else w for w in words))

    def scan_iter(self, match: str, count: int, _type: str | None = None) -> Iterator[bytes]:
        """Yield the keys of all nodes."""
        for key in self._client.scan_iter(match=cluster_key(match), count=count, _type=_type):
            yield plain_key(key.decode()).encode()

    def zrange(self, key: str, start: int, end: int) -> list[bytes]:
        """Return the entries of a list, of all its parts."""
        return [name for part in _parts(key) for name in self._client.zrange(part, start, end)]

    def zscore(self, key: str, name: str) -> float | None:
        """Return the score of an entry in any part of a list."""
        zscores = (self._client.zscore(part, name) for part in _parts(key))
        return next((score for score in zscores if score is not None), None)

    def flushall(self) -> None:
        """Delete everything."""
        self._client.flushall(target_nodes="primaries")

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        return lambda key, *more, **options: call(cluster_key(key), *more, **options)


_KEYS: Final = ("cp:", "dp:")


def _parts(key: str) -> Sequence[str]:
    """Return the keys of a list: of all its parts, if it is one of runs."""
    return in_every_shard(key, SHARDS) if key == LIVE or key.startswith(RUNS) else [cluster_key(key)]
