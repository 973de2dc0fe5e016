"""A primary that was paused, replaced by its replica, and continues with old data and with its connections."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from tests.support.redis.proxy import Proxy
from tests.support.redis.servers import listens, redis_server
from tests.support.waiting import wait_until
from tests.support.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """`waiting` is dcf with a connection to the old primary; `new` looks at the new one, whose replica is `spare`."""

    waiting: World
    old: World
    new: World
    spare: World
    proxy: Proxy
    socket_of_new: Path

    def pause(self) -> None:
        """Freeze the primary, and put its replica in its place."""
        os.kill(self._pid, signal.SIGSTOP)
        self.new.ask("REPLICAOF", "NO", "ONE")
        self.spare.ask("REPLICAOF", "127.0.0.1", self.new.ask("CONFIG", "GET", "port")[1])
        wait_until(lambda: is_linked(self.spare))
        self.proxy.lead_to(self.socket_of_new)

    def go_on(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    @property
    def _pid(self) -> int:
        return int((self.socket_of_new.parent / "old.pid").read_text())


@contextmanager
def replaceable(home: Path, logs: Path) -> Iterator[Replaced]:
    """Yield a primary whose replica can take its place. The sockets are in `home`."""
    home.mkdir()
    with ExitStack() as stack:
        old = ("--unixsocket", str(home / "old"), "--pidfile", str(home / "old.pid"))
        primary = stack.enter_context(redis_server(logs, *old))
        leader = ("--replicaof", "127.0.0.1", str(primary), "--unixsocket", str(home / "new"))
        stack.enter_context(redis_server(logs, *leader))
        spare = stack.enter_context(redis_server(logs))
        wait_until(lambda: listens(home / "new"))
        proxy = stack.enter_context(Proxy(home / "old", "default:any"))
        urls = (f"unix://{home / 'old'}", f"unix://{home / 'new'}", f"redis://127.0.0.1:{spare}", proxy.url)
        connections = [Connections(open_pool(url)) for url in urls]
        through = connections[-1]
        for connection in connections:
            stack.callback(connection.close)
        new = World(connections=connections[1])
        wait_until(lambda: is_linked(new))
        waiting = World(connections=through)
        waiting.plane = ControlPlane(RunStore(through, wait_replicas=1), RunIndex(through))
        yield Replaced(
            waiting=waiting,
            old=World(connections=connections[0]),
            new=new,
            spare=World(connections=connections[2]),
            proxy=proxy,
            socket_of_new=home / "new",
        )


def is_linked(replica: World) -> bool:
    return b"master_link_status:up" in replica.ask("INFO", "replication")
