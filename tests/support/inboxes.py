"""A reader of inboxes with connections of its own, as another process has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dcf.store.connection import Connections, open_async_client, open_pool
from dcf.store.inbox import Inbox
from dcf.store.inbox_waits import InboxReader


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[InboxReader]:
    """Wait for events in the Redis of a URL."""
    connections = Connections(open_pool(url))
    reader = InboxReader(Inbox(connections), lambda _: open_async_client(url))
    try:
        yield reader
    finally:
        await reader.close()
        connections.close()


def is_followed(onlooker: Connections) -> bool:
    """Whether any client of the server waits for news."""
    return bool(follower_ids(onlooker))


def follower_ids(onlooker: Connections) -> list[str]:
    """The clients of the server that wait for news."""
    (clients,) = onlooker.send(("CLIENT", "LIST"))
    lines = [dict(word.partition("=")[::2] for word in line.split()) for line in clients.decode().splitlines()]
    return [line["id"] for line in lines if line["cmd"].startswith("xread") and "b" in line["flags"]]
