"""Opens the connections to the Redis Cluster of a URL: redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT.

Some of the nodes are enough, since they tell of the others. A cluster has one database, so the URL names none.
"""

from typing import Any, Final
from urllib.parse import urlsplit

import redis

from dcf.errors import InvalidArgument
from dcf.store.cluster import ClusterConnections
from dcf.store.cluster_nodes import ClusterNodes
from dcf.store.connection import host_port, pool_options, unquoted
from dcf.store.packets import IN_PACKETS

_PORT: Final = 6379
_SCHEMES: Final = {"redis+cluster": False, "rediss+cluster": True}


def is_of_cluster(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return url.partition("://")[0] in _SCHEMES


def open_cluster(url: str) -> ClusterConnections:
    """Return connections to a cluster. Nothing is opened before it is needed. Raise InvalidArgument."""
    parts = urlsplit(url)
    try:
        hosts = [host_port(host, _PORT) for host in parts.netloc.rpartition("@")[2].split(",") if host]
    except ValueError:
        hosts = []
    if not hosts or parts.path.strip("/") not in {"", "0"} or parts.query:
        raise InvalidArgument(
            "REDIS_URL is not the URL of a Redis Cluster.",
            "Write redis+cluster://HOST:PORT,HOST:PORT, with rediss+cluster:// for TLS; a cluster has no databases.",
        )
    login: dict[str, Any] = {"username": unquoted(parts.username), "password": unquoted(parts.password)}
    secure: dict[str, Any] = {"connection_class": redis.SSLConnection} if _SCHEMES[parts.scheme] else {}
    return ClusterConnections(
        ClusterNodes(
            hosts,
            login | ({"ssl": True} if secure else {}),
            pool_options() | IN_PACKETS | login | secure,
        )
    )
