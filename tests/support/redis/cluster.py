"""A Redis Cluster on loopback: three primaries with a replica each, whose slots move and whose nodes are killed."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import ClusterDownError

from dcf.store.cluster.connections import ClusterConnections
from dcf.store.cluster.keys import cluster_key
from dcf.store.cluster.url import open_cluster
from dcf.store.connection.commands import Command, Reply
from tests.support.redis.restricted import acl_file
from tests.support.redis.servers import MODULES, SERVER, free_port, listens
from tests.support.waiting import wait_until

SLOTS = 16384
ADMIN = "admin"
_MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class Host:
    """Where a node runs: its address, and the words before its command that bring it there."""

    address: str = "127.0.0.1"
    within: tuple[str, ...] = ()


HERE = Host()


@dataclass(slots=True)
class Node:
    """One server of the cluster."""

    port: int
    directory: Path
    password: str = field(repr=False)
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    node_id: str = ""
    host: Host = HERE

    @property
    def address(self) -> str:
        return self.host.address

    def start(self) -> None:
        self.directory.mkdir(exist_ok=True)
        port = ("--port", str(self.port), "--bind", self.address, "--dir", str(self.directory))
        cluster = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "1000",
            "--cluster-require-full-coverage",
            "no",
        )
        stored = ("--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0")
        command = [*self.host.within, SERVER, *port, *cluster, *stored, *MODULES, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.is_over() or listens(self.port, self.address))

    def is_over(self) -> bool:
        """True if the process has ended on its own: another took one of its ports first."""
        return self.process is None or self.process.poll() is not None

    def is_own(self) -> bool:
        """Whether it is this node that answers at its port."""
        try:
            answer = self.ask("INFO", "server")
        except redis.RedisError:
            return False
        return not self.is_over() and self.process is not None and answer["process_id"] == self.process.pid

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Freeze the node until the block ends."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGCONT)

    def ask(self, *command: str | int) -> Any:
        where: dict[str, Any] = {"host": self.address, "port": self.port, "username": ADMIN, "password": self.password}
        options: dict[str, Any] = {"protocol": 2, "decode_responses": True, "socket_timeout": 10}
        with redis.Redis(**where, **options) as client:
            return client.execute_command(*command)


@dataclass(slots=True)
class Cluster:
    """The nodes: the first three began as primaries, the others as their replicas in the same order."""

    nodes: list[Node]
    passwords: dict[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        """For dcf, as the user that a deployment gives it."""
        return self.url_of("dcf")

    @property
    def admin_url(self) -> str:
        """For the test."""
        return self.url_of(ADMIN)

    def url_of(self, user: str) -> str:
        hosts = ",".join(f"{node.address}:{node.port}" for node in self.nodes[:3])
        return f"redis+cluster://{user}:{self.passwords[user]}@{hosts}"

    def refusals(self) -> list[str]:
        """The commands that dcf tried and may not call."""
        result = [item for node in self.alive() for item in map(_pairs, node.ask("ACL", "LOG"))]
        return [f"{item['object']} ({item['context']})" for item in result if item["username"] == "dcf"]

    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.process is not None]

    def primaries(self) -> list[Node]:
        return [node for node in self.alive() if node.ask("ROLE")[0] == "master" and self._has_slots(node)]

    def owner(self, slot: int) -> Node:
        for first, last, *result in self._slots():
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == result[0][1])
        raise LookupError(slot)

    def replica_of(self, node: Node) -> Node:
        return next(item for item in self.alive() if item is not node and f"slave {node.node_id}" in _myself(item))

    def move(self, slot: int, to: Node, *, at_once: int = 10, pause_s: float = 0.0) -> None:
        """Move a slot and its keys to another primary, as resharding does: N keys at once, and then a pause."""
        source = self.owner(slot)
        if source is to:
            return
        self.begin_to_move(slot, to)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, at_once):
            self.migrate(keys, source, to)
            time.sleep(pause_s)
        assert source.ask("ROLE")[0] == "master", "a failover took the move's place: nobody knows of it"
        self.end_move(slot, source, to)

    def begin_to_move(self, slot: int, to: Node) -> None:
        source = self.owner(slot)
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.node_id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.node_id)

    def end_move(self, slot: int, source: Node, to: Node) -> None:
        to.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)
        source.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)
        for node in self.primaries():
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)

    def migrate(self, keys: Sequence[str], source: Node, to: Node) -> None:
        """Move keys. That some are at both nodes is an error, but for those whose move was not answered."""
        login = ("AUTH2", ADMIN, self.passwords[ADMIN], "KEYS", *keys)
        again: tuple[str, ...] = ()
        for _ in range(_MOST_TRIES):
            try:
                source.ask("MIGRATE", to.address, to.port, "", 0, 5000, *again, *login)
            except redis.ResponseError as error:
                if "IOERR" in str(error):
                    again = ("REPLACE",)
                elif not isinstance(error, ClusterDownError) and "CLUSTERDOWN" not in str(error):
                    raise
                wait_until(self.is_whole)
            else:
                return
        raise AssertionError("the keys cannot be moved")

    def fail_over(self, replica: Node) -> None:
        """Have a replica take its primary's place, in agreement with it."""
        replica.ask("CLUSTER", "FAILOVER")
        wait_until(lambda: replica.ask("ROLE")[0] == "master")

    def is_whole(self) -> bool:
        """Whether every slot is served by a primary that is alive, and every node that is alive says so."""
        try:
            return all(self._sees_all(node) for node in self.alive())
        except redis.RedisError:
            return False

    def _sees_all(self, node: Node) -> bool:
        if "cluster_state:ok" not in node.ask("CLUSTER", "INFO"):
            return False
        leading = {node.port for node in self.alive() if node.ask("ROLE")[0] == "master"}
        ranges: Sequence[Any] = node.ask("CLUSTER", "SLOTS")
        served: int = sum(last - first + 1 for first, last, result, *_ in ranges if result[1] in leading)
        return served == SLOTS

    def is_in_step(self) -> bool:
        """Whether every slot is served, and every replica has all that its primary has."""
        try:
            lagging = [node for node in self.alive() if not _has_all(node, self.nodes)]
            return self.is_whole() and not lagging and len(self.primaries()) * 2 == len(self.alive())
        except redis.RedisError:
            return False

    def restart(self, node: Node) -> None:
        node.start()
        wait_until(self.is_whole)

    def _slots(self) -> Sequence[Any]:
        reply: Sequence[Any] = self.alive()[0].ask("CLUSTER", "SLOTS")
        return reply

    def _has_slots(self, node: Node) -> bool:
        return any(result[0][1] == node.port for _, _, *result in self._slots())


class ClusterOnlooker(ClusterConnections):
    """The cluster as its administrator sees it, who may ask all nodes for their keys."""

    def send(self, *commands: Command) -> list[Reply]:
        if commands[0][0] != "KEYS":
            return super().send(*commands)
        placed = [("KEYS", cluster_key(str(pattern))) for _, pattern in commands]
        keys = [key for server in self.servers() for reply in server.send(*placed) for key in reply]
        return [[self.named(key).encode() for key in keys]]


def onlooker_of(cluster: Cluster) -> ClusterOnlooker:
    return ClusterOnlooker(open_cluster(cluster.admin_url)._nodes)


def _pairs(entry: Any) -> Mapping[str, Any]:
    return entry if isinstance(entry, dict) else dict(zip(entry[::2], entry[1::2], strict=True))


def _myself(node: Node) -> str:
    return next(line for line in str(node.ask("CLUSTER", "NODES")).splitlines() if "myself" in line)


@contextmanager
def redis_cluster(
    directory: Path, *options: str, size: int = 3, serving: int | None = None, hosts: Sequence[Host] = (HERE,)
) -> Iterator[Cluster]:
    """Run a cluster until the block ends: N primaries, and a replica of each, on these hosts in turn.

    The first `serving` primaries have slots, by default all. The users are those of a deployment
    (`deploy/redis/users.acl`). That dcf tried what they forbid is an error.
    """
    passwords = {user: secrets.token_hex(16) for user in ("dcf", "operator", ADMIN)}
    directory.mkdir(mode=0o700, exist_ok=True)
    login = ("--masteruser", ADMIN, "--masterauth", passwords[ADMIN])
    users = ("--aclfile", str(acl_file(directory, passwords)), "--acllog-max-len", "1000")
    value = (*login, *users, *options)
    folders = [directory / f"node-{number}" for number in range(2 * size)]
    nodes = [
        Node(free_port(), folder, passwords[ADMIN], value, host=host)
        for folder, host in zip(folders, cycle(hosts), strict=False)
    ]
    cluster = Cluster(nodes, passwords)
    try:
        for node in nodes:
            _start(node)
            node.node_id = node.ask("CLUSTER", "MYID")
        _introduce(nodes, size, serving or size)
        wait_until(lambda: cluster.is_whole() and all(_is_in_step(node) for node in nodes[size:]))
        yield cluster
        refused = cluster.refusals()
    finally:
        for node in nodes:
            node.kill()
    assert refused == [], f"deploy/redis/users.acl lets the user dcf do everything that dcf does, but not {refused}"


def _start(node: Node) -> None:
    """Start a node, at another port if somebody else takes this one first."""
    node.start()
    while not node.is_own():
        node.kill()
        node.port = free_port()
        node.start()


def _introduce(nodes: Sequence[Node], size: int, serving: int) -> None:
    for number, node in enumerate(nodes):
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        if number < serving:
            share = -(-SLOTS // serving)
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * share, min(SLOTS, (number + 1) * share) - 1)
    wait_until(partial(_know_each_other, nodes))
    for primary, replica in zip(nodes[:size], nodes[size:], strict=True):
        wait_until(partial(_replicates, replica, primary))


def _know_each_other(nodes: Sequence[Node]) -> bool:
    """Whether each node knows all others. Redis gives up a handshake that takes a second, as on a busy machine."""
    known = nodes[0].ask("CLUSTER", "NODES")
    for node in nodes[1:]:
        if node.node_id not in known:
            node.ask("CLUSTER", "MEET", nodes[0].address, nodes[0].port)
    return all(len(node.ask("CLUSTER", "NODES").splitlines()) == len(nodes) for node in nodes)


def _replicates(replica: Node, primary: Node) -> bool:
    try:
        replica.ask("CLUSTER", "REPLICATE", primary.node_id)
    except redis.ResponseError:  # it does not know that one yet
        return False
    return True


def _is_in_step(replica: Node) -> bool:
    kind, *role = replica.ask("ROLE")
    return kind == "slave" and "connected" in role


def _has_all(node: Node, nodes: Sequence[Node]) -> bool:
    """Whether a node is a primary, or a replica that has what its primary had when it was asked."""
    kind, *role = node.ask("ROLE")
    if kind == "master":
        return True
    primary = next(node for node in nodes if node.port == role[1])
    reached = primary.ask("ROLE")[1]
    return role[2] == "connected" and bool(node.ask("ROLE")[-1] >= reached)
