"""Opens the connections to the Redis Cluster of a URL: redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT.

Some of the nodes are enough, since they list the others. A cluster has one database, so the URL has no number. Its
query may say how to log in and what certificates to trust; the other options are those of dcf.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import redis

from dcf.errors import InvalidArgument
from dcf.store.cluster.connections import ClusterConnections
from dcf.store.cluster.nodes import ClusterNodes
from dcf.store.connection.connections import Pool, as_it_is
from dcf.store.connection.handshake import BEGUN
from dcf.store.connection.pools import pool_options, waiting_options
from dcf.store.connection.url import host_port, options_in, split_hosts, unquoted, url_errors, use_files

_PORT: Final = 6379
_SCHEMES: Final = {"redis+cluster": False, "rediss+cluster": True}
_LOGIN: Final = {"username", "password", "credential_provider"}


def is_of_cluster(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return url.partition("://")[0] in _SCHEMES


def open_cluster(url: str, *, wait_replicas: int = 0, around: Callable[[Pool], Pool] = as_it_is) -> ClusterConnections:
    """Return connections to a cluster. Nothing is opened before it is needed. Raise InvalidArgument.

    `wait_replicas` replicas must confirm each write. `around` may wrap the pool of each node.
    """
    with url_errors():
        parts, named = split_hosts(url)
    try:
        hosts = [host_port(host, _PORT) for host in named]
    except ValueError:
        hosts = []
    if not hosts or parts.path.strip("/") not in {"", "0"}:
        raise InvalidArgument(
            "REDIS_URL is not the URL of a Redis Cluster.",
            "Write redis+cluster://HOST:PORT,HOST:PORT, with rediss+cluster:// for TLS; a cluster has no databases.",
        )
    is_secure = _SCHEMES[parts.scheme]
    login: dict[str, Any] = {"username": unquoted(parts.username), "password": unquoted(parts.password)}
    login |= options_in(parts.query)
    use_files(login)
    with url_errors():
        _check(login, is_secure=is_secure)
    secure: dict[str, Any] = {"connection_class": redis.SSLConnection} if is_secure else {}
    encrypted = login | ({"ssl": True} if is_secure else {})
    waiting = waiting_options() | encrypted
    options = pool_options() | BEGUN | login | secure
    return ClusterConnections(ClusterNodes(hosts, encrypted, options, waiting, around), wait_replicas=wait_replicas)


def _check(login: Mapping[str, Any], *, is_secure: bool) -> None:
    """Raise TypeError or ValueError for an option that connections to nodes cannot have."""
    if not all(name in _LOGIN or name.startswith("ssl_") for name in login):
        raise ValueError
    kind = redis.SSLConnection if is_secure else redis.Connection
    kind(**login)
