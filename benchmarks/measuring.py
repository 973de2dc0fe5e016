"""Timing against PING, and the server's own counters."""

import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import redis


def commit() -> str:
    """Return which commit of dcf this is."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(
            words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not in a repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What the server says it did: reads from sockets are client round trips, commands are commands."""

    reads: int
    commands: int


class Probe:
    """A redis-py client used for PING and for the server's counters, apart from the code under test."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)

    def empty(self) -> None:
        """Delete every key and script."""
        self._client.flushall()
        self._client.script_flush()

    def ping(self) -> float:
        """Seconds of one PING through redis-py."""
        before = time.perf_counter()
        self._client.ping()
        return time.perf_counter() - before

    def counters(self) -> Counters:
        """Read the server's counters."""
        stats = self._client.info("stats")
        return Counters(
            reads=stats["total_reads_processed"],
            commands=stats["total_commands_processed"],
        )

    def used_memory(self) -> int:
        """Return the bytes that the server has allocated."""
        return int(self._client.info("memory")["used_memory"])

    def cpu(self) -> float:
        """Seconds of CPU that the server has used."""
        used = self._client.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])

    def traffic(self) -> int:
        """Return the bytes that the server has read from connections and written to them."""
        stats = self._client.info("stats")
        return int(stats["total_net_input_bytes"]) + int(stats["total_net_output_bytes"])

    def memory(self, workflow_id: str) -> int:
        """Return the bytes of a run's keys and what is in them, as MEMORY USAGE counts them.

        The server's used memory would count the buffers of connections as well, and hash tables that double at times.
        The outbox is left out: its room depends on when its entries were acknowledged (978 or 3,838 bytes).
        """
        pipeline = self._client.pipeline(transaction=False)
        for key in self._client.scan_iter(match=f"?p:wf:{workflow_id}:*", count=1000):
            if not bytes(key).endswith(b":outbox"):
                pipeline.memory_usage(key, samples=0)
        return sum(ending for ending in pipeline.execute() if ending is not None)  # a claim's mark expires meanwhile

    def version(self) -> str:
        """Return the server's version."""
        return str(self._client.info("server")["redis_version"])

    def spent(self, work: Callable[[], object]) -> Counters:
        """Count what the work cost the server; the asking itself is taken off."""
        first = self.counters()
        own = self.counters()
        work()
        last = self.counters()
        return Counters(
            reads=last.reads - own.reads - (own.reads - first.reads),
            commands=last.commands - own.commands - (own.commands - first.commands),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Medians in seconds, taken alternately."""

    work: float
    ping: float

    @property
    def ratio(self) -> float:
        """How many PINGs the work takes."""
        return self.work / self.ping


def compare(probe: Probe, work: Callable[[], object], prepare: Callable[[], object], rounds: int) -> Timing:
    """Time the work and a PING alternately; `prepare` runs before each, untimed."""
    pings, works = [], []
    for _ in range(rounds):
        prepare()
        pings.append(probe.ping())
        before = time.perf_counter()
        work()
        works.append(time.perf_counter() - before)
    return Timing(work=statistics.median(works), ping=statistics.median(pings))
