"""A Redis Cluster on loopback, each node as `redis_server` makes one: primaries alone, or each with a replica."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import redis

from benchmarks.measuring import Counters, Probe
from benchmarks.peers.redis_server import free_port, server_process

PRIMARIES: Final = 3
_SLOTS: Final = 16384
_BUS: Final = 10_000
"""The nodes talk to each other on a port so much higher, which must be below 65,536."""
_PATIENCE_S: Final = 30.0
_POLL_S: Final = 0.05
_OPTIONS: Final = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0")


@contextmanager
def redis_cluster(folder: Path, *, primaries: int = PRIMARIES, has_replicas: bool = False) -> Iterator[str]:
    """Start a cluster and yield its URL, which names the primaries; end it afterwards."""
    ports = [_port_with_bus() for _ in range(primaries * (2 if has_replicas else 1))]
    with ExitStack() as started:
        for port in ports:
            started.enter_context(server_process(folder / str(port), port, *_OPTIONS))
        nodes = [started.enter_context(redis.Redis(port=port, decode_responses=True)) for port in ports]
        _introduce(nodes, ports, primaries)
        yield "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports[:primaries])


class ClusterProbe(Probe):
    """Reads the counters of all primaries of a cluster that `redis_cluster` started, added up."""

    def __init__(self, url: str) -> None:
        self.urls = [f"redis://{place}" for place in url.partition("://")[2].split(",")]
        self.nodes = [Probe(url) for url in self.urls]
        self.ping, self.version = self.nodes[0].ping, self.nodes[0].version  # type: ignore[method-assign]

    def empty(self) -> None:
        """Delete every key and script."""
        for node in self.nodes:
            node.empty()

    def counters(self) -> Counters:
        """Read the counters."""
        result = [node.counters() for node in self.nodes]
        return Counters(reads=sum(item.reads for item in result), commands=sum(item.commands for item in result))

    def used_memory(self) -> int:
        """Return the bytes that the primaries have allocated."""
        return sum(node.used_memory() for node in self.nodes)

    def cpu(self) -> float:
        """Seconds of CPU that the primaries have used."""
        return sum(node.cpu() for node in self.nodes)

    def traffic(self) -> int:
        """Return the bytes that the primaries have read and written."""
        return sum(node.traffic() for node in self.nodes)


def is_cluster(url: str) -> bool:
    """Return whether this is the URL of a cluster."""
    return url.startswith("redis+cluster://")


def probe_of(url: str) -> Probe:
    """Return what reads the counters of a server or of a cluster."""
    return ClusterProbe(url) if is_cluster(url) else Probe(url)


def _introduce(nodes: Sequence[Any], ports: Sequence[int], primaries: int) -> None:
    share = -(-_SLOTS // primaries)
    for number, node in enumerate(nodes):
        node.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        if number < primaries:
            last = min(_SLOTS, (number + 1) * share) - 1
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
        if number:
            node.execute_command("CLUSTER", "MEET", "127.0.0.1", ports[0])
    _wait_until(lambda: all(len(node.cluster("NODES")) == len(nodes) for node in nodes))
    for primary, replica in zip(nodes, nodes[primaries:], strict=False):
        _wait_until(lambda primary=primary, replica=replica: _replicates(replica, primary))  # type: ignore[misc]
    _wait_until(lambda: all(_is_well(node) for node in nodes))


def _replicates(replica: Any, primary: Any) -> bool:
    try:
        replica.execute_command("CLUSTER", "REPLICATE", primary.execute_command("CLUSTER", "MYID"))
    except redis.ResponseError:  # it does not know that one yet
        return False
    return True


def _is_well(node: Any) -> bool:
    role = node.info("replication")
    is_in_step: bool = role["role"] == "master" or role["master_link_status"] == "up"
    return is_in_step and node.cluster("INFO").get("cluster_state") == "ok"


def _port_with_bus() -> int:
    while (port := free_port()) + _BUS >= 1 << 16:
        pass
    return port


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"The cluster is not whole after {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)
