"""Opens the connections of one process: to the Redis of a URL, or to the embedded one, started or joined for it.

Apart from `application`, so that a command that only reads need not import what runs are made of.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dcf.store.cluster.url import is_of_cluster, open_cluster
from dcf.store.connection.connections import Connections, Pool, as_it_is, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.forms.record import WantedForm


def connect(
    url: str,
    *,
    wait_replicas: int = 0,
    around: Callable[[Pool], Pool] = as_it_is,
    documents: WantedForm = "auto",
) -> Connections:
    """Return connections to the Redis of a URL: one server, the primary that sentinels know, or a cluster.

    On a cluster, `wait_replicas` replicas must confirm writes to a node before dependent writes go to another node.
    `around` may wrap each pool. `documents` is the form in which an empty Redis is to keep documents.
    """
    is_one = not is_of_cluster(url)
    connections = (
        Connections(around(open_pool(url))) if is_one else open_cluster(url, wait_replicas=wait_replicas, around=around)
    )
    connections.wanted = documents
    return connections


@contextmanager
def opened(
    url: str | None,
    data_dir: Path,
    *,
    appendfsync: embedded.Appendfsync,
    maxmemory: int | None,
    wait_replicas: int = 0,
    documents: WantedForm = "auto",
) -> Iterator[tuple[str, Connections]]:
    """Connect for the duration of the `with` block; return the URL as well."""
    if url is not None:
        with closing(connect(url, wait_replicas=wait_replicas, documents=documents)) as connections:
            yield url, connections
        return
    with (
        embedded.start(data_dir, appendfsync=appendfsync, maxmemory=maxmemory) as server,
        closing(Connections(open_pool(server.url), server.revive)) as connections,
    ):
        connections.wanted = documents
        yield server.url, connections
