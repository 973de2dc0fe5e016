"""A reader of inboxes with connections of its own, as another process has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dcf.store.connection.connections import Connections
from dcf.store.connection.opening import connect
from dcf.store.connection.waiting_clients import WaitingClients
from dcf.store.events.inbox import Inbox
from dcf.store.events.inbox_waits import InboxReader
from tests.support.redis.cluster import Node


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[InboxReader]:
    """Wait for events in the Redis of a URL."""
    connections = connect(url)
    reader = InboxReader(Inbox(connections), WaitingClients(connections, url).news)
    try:
        yield reader
    finally:
        await reader.close()
        connections.close()


def is_followed(onlooker: Connections) -> bool:
    """Whether any client of the server waits for news."""
    return bool(follower_ids(onlooker))


def listener_ids(node: Node) -> list[str]:
    """The clients of a node of a cluster that listen to channels."""
    return [line["id"] for line in _clients(str(node.ask("CLIENT", "LIST"))) if line["ssub"] != "0"]


def follower_ids(onlooker: Connections) -> list[str]:
    """The clients of the server that wait for news."""
    (clients,) = onlooker.send(("CLIENT", "LIST"))
    lines = _clients(clients.decode())
    return [line["id"] for line in lines if line["cmd"].startswith("xread") and "b" in line["flags"]]


def _clients(listed: str) -> list[dict[str, str]]:
    return [dict(word.partition("=")[::2] for word in line.split()) for line in listed.splitlines()]
