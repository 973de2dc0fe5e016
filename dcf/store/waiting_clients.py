"""Opens asynchronous clients, to wait with: of the one server, or of the node of a cluster that has a key.

They are for waiting only. All else goes over `Connections`.
"""

from functools import partial

import redis.asyncio

from dcf.store.cluster import ClusterConnections
from dcf.store.cluster_tails import ClusterTails
from dcf.store.connection import Connections, open_async_client
from dcf.store.tails import AnyTails, Heard, Lost, Tails


class WaitingClients:
    """Asynchronous clients of the Redis that has this URL, and to which there are these connections."""

    def __init__(self, connections: Connections, url: str) -> None:
        self._connections = connections
        self.url = url

    def open(self, key: str) -> redis.asyncio.Redis:
        """Open a client of the server that has a key. A cluster is asked which that is, so call it in a thread."""
        if isinstance(self._connections, ClusterConnections):
            return self._connections.open_waiting(key)
        return open_async_client(self.url)

    def tails(self, heard: Heard, lost: Lost) -> AnyTails:
        """Return what follows the histories of runs in the event loop that it is used in."""
        if isinstance(self._connections, ClusterConnections):
            return ClusterTails(self._connections.open_waiting, heard, lost)
        return Tails(partial(open_async_client, self.url), heard, lost)
