"""Opens what a process waits with: asynchronous clients of the one server, or of the nodes of a cluster.

They are for waiting only. All else goes over `Connections`.
"""

from collections.abc import Collection
from functools import partial

from dcf.store.cluster.connections import ClusterConnections
from dcf.store.cluster.news import ClusterNews
from dcf.store.cluster.tails import ClusterTails
from dcf.store.connection.connections import Connections
from dcf.store.connection.pools import open_async_client
from dcf.store.events.news import AnyNews, News, NewsHeard, NewsLost
from dcf.store.events.tails import AnyTails, Heard, Lost, Tails


class WaitingClients:
    """Opens the clients that wait for events at the Redis with this URL."""

    def __init__(self, connections: Connections, url: str) -> None:
        self._connections = connections
        self.url = url

    def news(self, waiting: Collection[str], heard: NewsHeard, lost: NewsLost) -> AnyNews:
        """Return what follows the news of inboxes in the event loop that it is used in.

        `waiting` has the agents that are waited for at any moment.
        """
        if isinstance(self._connections, ClusterConnections):
            return ClusterNews(self._connections, waiting, heard, lost)
        return News(partial(open_async_client, self.url), heard, lost)

    def tails(self, heard: Heard, lost: Lost) -> AnyTails:
        """Return what follows the histories of runs in the event loop that it is used in."""
        if isinstance(self._connections, ClusterConnections):
            return ClusterTails(self._connections.open_waiting, heard, lost)
        return Tails(partial(open_async_client, self.url), heard, lost)
