"""The nodes of a Redis Cluster, and open connections to them. redis-py knows which serves which slot.

Only that knowledge is used: it learns the slots from any node that answers, and follows MOVED. Connections are made
with the same options as those to a single server. It sends nothing else.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import redis
import redis.asyncio
from redis.cluster import ClusterNode, NodesManager
from redis.exceptions import MovedError, RedisClusterException, SlotNotCoveredError
from redis.maint_notifications import MaintNotificationsConfig

from dcf.store.cluster.keys import slot_of
from dcf.store.cluster.stages import Node
from dcf.store.connection import faults
from dcf.store.connection.connections import Connection, Pool, as_it_is

_LEARNED_AGAIN_S: Final = 0.05
"""Seconds before which the slots are not asked for again, however many threads lost a node."""

_BARRIER: Final = "cp:idx:barrier"
_MOST_TAGS: Final = 100_000
"""Hash tags that are tried until one is found of a slot that a node has: about as many as there are nodes."""

_ASK_TIMEOUT_S: Final = 1.0

_NO_SLOTS: Final = IndexError
"""The error of redis-py if no node that it asked serves any slot (8.1)."""


_NO_MAINTENANCE: Final = MaintNotificationsConfig(enabled=False)
"""Keeps redis-py from asking for notes of a service's maintenance, which `deploy/redis/users.acl` does not allow."""


class ClusterNodes:
    """The nodes of one cluster. `hosts` are some of its nodes; the others are learned from them.

    `login` are options of redis-py's cluster client, which learns them. Connections have `pool_options`, and
    asynchronous ones `waiting_options`. `around` may put something around the pool of each node.
    """

    def __init__(
        self,
        hosts: Sequence[tuple[str, int]],
        login: Mapping[str, Any],
        pool_options: Mapping[str, Any],
        waiting_options: Mapping[str, Any],
        around: Callable[[Pool], Pool] = as_it_is,
    ) -> None:
        self.place = "the cluster of " + ", ".join(f"{host}:{port}" for host, port in hosts)
        self._hosts = hosts
        self._login = dict(login)
        self._pool_options = dict(pool_options)
        self._waiting_options = dict(waiting_options)
        self._around = around
        self._lock = threading.Lock()
        self._tags: dict[Node, int] = {}
        self._cluster: NodesManager | None = None
        self._learned_at = 0.0
        self._pools: dict[Node, Pool] = {}
        self._idle: defaultdict[Node, list[Connection]] = defaultdict(list)

    def serving(self, slot: int) -> Node:
        """Return the primary that serves a slot."""
        try:
            node: ClusterNode = self._known().get_node_from_slot(slot)
        except SlotNotCoveredError:
            raise faults.PassingError("CLUSTERDOWN") from None
        return str(node.name)

    def primaries(self) -> list[Node]:
        """Return the nodes that serve slots, in a fixed order."""
        nodes = self._known().get_nodes_by_server_type("primary")
        if not nodes:
            raise faults.PassingError("CLUSTERDOWN")
        return sorted(str(node.name) for node in nodes)

    def moved(self, error: MovedError) -> None:
        """Note that a slot is served by another node now."""
        self._known().move_slot(error)

    def learn(self) -> None:
        """Ask which node serves which slot, unless it was asked a moment ago. If none answers, all stays as it was.

        Idle connections to nodes that serve none any more are closed.
        """
        with self._lock:
            if self._cluster is None or time.monotonic() < self._learned_at + _LEARNED_AGAIN_S:
                return
            with suppress(RedisClusterException, redis.RedisError, OSError, _NO_SLOTS):
                # The URL's hosts too, since none of those that it knew may be left.
                self._cluster.initialize(additional_startup_nodes_info=[*self._hosts])
                self.drop_idle(but=self.primaries())
            self._learned_at = time.monotonic()

    def barrier(self, node: Node) -> str:
        """Return a key that a node has, for the small write before WAIT. Raise PassingError as `key_like` does."""
        return self.key_like(_BARRIER, node)

    def key_like(self, key: str, node: Node) -> str:
        """Return a variant of this key in a slot of a node.

        Raise PassingError for a node that serves no slot: its last slot has moved away.
        """
        latest = self._tags.get(node, 0)
        for tag in range(latest, latest + _MOST_TAGS):
            if self.serving(slot_of(str(tag))) == node:
                self._tags[node] = tag
                return f"{key}:{{{tag}}}"
            if tag == latest and node not in self.primaries():
                break
        raise faults.PassingError("CLUSTERDOWN")

    def change_tag(self, node: Node) -> None:
        """Use another tag for keys of a node from now on: the slot of this one may be moving."""
        self._tags[node] = self._tags.get(node, 0) + 1

    def take(self, node: Node) -> Connection:
        """Return an idle connection to a node, or open one."""
        try:
            return self._idle[node].pop()
        except IndexError:
            return self._opened(node)

    def open_waiting(self, node: Node) -> redis.asyncio.Redis:
        """Open an asynchronous client of a node, for waiting only."""
        return _client(node, self._waiting_options)

    def open_listening(self, node: Node) -> redis.asyncio.Redis:
        """Open an asynchronous client of a node, whose connections may be pushed messages between replies (RESP3)."""
        options: dict[str, Any] = {"protocol": 3, "maint_notifications_config": _NO_MAINTENANCE}
        return _client(node, self._waiting_options | options)

    def give_back(self, node: Node, connection: Connection) -> None:
        """Keep a connection for the next caller."""
        self._idle[node].append(connection)

    def discard(self, node: Node, connection: Connection) -> None:
        """Close a broken connection."""
        connection.disconnect()
        self._pools[node].release(connection)

    def drop_idle(self, but: Collection[Node] = ()) -> None:
        """Close all idle connections, except those to some nodes."""
        for node, idle in list(self._idle.items()):
            if node in but:
                continue
            with suppress(IndexError):  # other threads may empty it at the same time
                while True:
                    self.discard(node, idle.pop())

    def close(self) -> None:
        """Close every connection."""
        self._idle.clear()
        for pool in self._pools.values():
            pool.disconnect()
        with self._lock:
            cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def _opened(self, node: Node) -> Connection:
        pool = self._pools.get(node)
        if pool is None:
            host, _, port = node.rpartition(":")
            made: Pool = redis.ConnectionPool(host=host, port=int(port), **self._pool_options)
            pool = self._pools.setdefault(node, self._around(made))
        try:
            fresh: Connection = pool.get_connection()
        except redis.ResponseError as error:
            raise faults.handshake_error(error) from None
        return fresh

    def _known(self) -> NodesManager:
        cluster = self._cluster
        if cluster is not None:
            return cluster
        with self._lock:
            if self._cluster is None:
                self._cluster = self._learned()
                self._learned_at = time.monotonic()
            return self._cluster

    def _learned(self) -> NodesManager:
        make: Any = ClusterNode  # redis-py leaves both untyped
        manage: Any = NodesManager  # the part of its cluster client that learns; the whole also sends COMMAND
        try:
            manager: NodesManager = manage(
                startup_nodes=[make(host, port) for host, port in self._hosts],
                require_full_coverage=False,
                protocol=2,
                socket_timeout=_ASK_TIMEOUT_S,
                socket_connect_timeout=_ASK_TIMEOUT_S,
                **self._login,
            )
        except _NO_SLOTS:
            raise faults.PassingError("CLUSTERDOWN") from None
        except RedisClusterException as error:
            cause = error.__cause__
        else:
            return manager
        # Not raised while the other is handled: that would hide why no node could be reached.
        if isinstance(cause, redis.ConnectionError):
            raise cause
        refused = None if cause is None else cause.__context__
        raise faults.reply_error(refused) if isinstance(refused, redis.ResponseError) else redis.ConnectionError()


def _client(node: Node, options: Mapping[str, Any]) -> redis.asyncio.Redis:
    host, _, port = node.rpartition(":")
    return redis.asyncio.Redis(host=host, port=int(port), **options)
