"""Puts the parts together for one process, and takes them apart again. Knows every layer, decides nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from dcf.adapters.files import ItemFiles
from dcf.adapters.mailbox import Mailbox
from dcf.control_plane import ControlPlane
from dcf.notifications import Notifications
from dcf.settings import Settings
from dcf.store import embedded
from dcf.store.connection import Connections, open_async_client, open_pool
from dcf.store.history import History
from dcf.store.inbox import Inbox, InboxReader
from dcf.store.index import RunIndex
from dcf.store.inspection import ServerFacts, inspect_server
from dcf.store.outbox import Outbox
from dcf.store.runs import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything a tool or a command may use."""

    settings: Settings
    control_plane: ControlPlane
    notifications: Notifications
    history: History
    inbox: Inbox
    reader: InboxReader
    server: ServerFacts
    redis_url: str


@contextmanager
def open_application(settings: Settings) -> Iterator[Application]:
    """Connect to the configured Redis, or start and share the embedded one while the context lasts."""
    if settings.redis_url is not None:
        url = settings.redis_url.get_secret_value()
        yield from _connected(settings, url, Connections(open_pool(url)))
        return
    with embedded.start(settings.data_dir, appendfsync=settings.appendfsync) as server:
        yield from _connected(settings, server.url, Connections(open_pool(server.url), server.revive))


def _connected(settings: Settings, url: str, connections: Connections) -> Iterator[Application]:
    try:
        facts = inspect_server(connections)
        items = ItemFiles(roots=settings.items_dirs, max_bytes=settings.items_max_bytes)
        store = RunStore(connections, wait_replicas=settings.wait_replicas)
        plane = ControlPlane(store, RunIndex(connections), items)
        inbox = Inbox(connections)
        yield Application(
            settings=settings,
            control_plane=plane,
            notifications=Notifications(plane, Outbox(connections), Mailbox(inbox)),
            history=History(connections),
            inbox=inbox,
            reader=InboxReader(partial(open_async_client, url)),
            server=facts,
            redis_url=url,
        )
    finally:
        connections.close()
