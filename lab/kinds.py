"""The kinds of faults: for each the servers it needs, and what it does to them at a stroke."""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.crews import Crew
from lab.process import Place
from lab.redis_servers import LabRedis
from lab.server_time import SharedTime


class Kind(ABC):
    """Servers that live as long as the kind is tried. `strike` does one thing wrong, `heal` leaves everything well."""

    name: str
    pause_s: tuple[float, float] = (0.1, 0.5)
    honest: bool = False

    def __init__(self, home: Path) -> None:
        self.home = home
        self.stack = ExitStack()
        self.losses: list[tuple[float, float]] = []
        home.mkdir(parents=True, exist_ok=True)
        self.time_file = home / "time"
        self.time = SharedTime(self.time_file)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.close()

    def open(self) -> None:
        """Start the servers: one Redis that syncs each write, unless the kind needs others."""
        self.redis = self.stack.enter_context(LabRedis(self.home / "redis", *self.options()))

    def options(self) -> tuple[str, ...]:
        """Return the options of the Redis."""
        return ("--appendonly", "no")

    def place(self) -> Place:
        """Return where workers and clocks find dcf's Redis."""
        return Place(url=f"{self.redis.url}?socket_timeout=0.5", time_file=self.time_file)

    def client(self) -> Any:
        """Return a plain client of the Redis that counts."""
        return self.redis.client()

    @abstractmethod
    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Do one thing wrong; what it was."""

    def heal(self, crew: Crew) -> None:
        """Leave everything well, so that all runs can end."""
        for name in crew.names:
            crew.thaw(name)

    def begin(self) -> None:
        """Begin a batch with an empty Redis."""
        self.losses.clear()
        self.client().flushall()


def freeze_worker(luck: random.Random, crew: Crew) -> str:
    """Freeze a worker process for longer than most leases last, or for a moment."""
    name, length = _one(luck, crew, "worker"), luck.choice((0.05, 0.3, 0.9))
    crew.freeze(name)
    time.sleep(length)
    crew.thaw(name)
    return f"froze {name} for {length} s"


def kill_worker(luck: random.Random, crew: Crew) -> str:
    """Kill a worker process; another takes its place."""
    name = _one(luck, crew, "worker")
    crew.kill(name)
    return f"killed {name}"


def kill_clock(luck: random.Random, crew: Crew) -> str:
    """Kill a clock process; another takes its place."""
    name = _one(luck, crew, "clock")
    crew.kill(name)
    return f"killed {name}"


def _one(luck: random.Random, crew: Crew, prefix: str) -> str:
    return luck.choice([name for name in crew.names if name.startswith(prefix)])


class Workers(Kind):
    """Worker processes are killed and frozen."""

    name = "workers"

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a worker."""
        return luck.choice((freeze_worker, kill_worker, kill_worker))(luck, crew)


KINDS: Mapping[str, type[Kind]] = {kind.name: kind for kind in (Workers,)}
