"""The kinds of faults of disks: power losses that take back what was written, and logs that they tear."""

import os
import random
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from lab.crews import Crew
from lab.extras import Bench, Errands
from lab.kept_definitions import KeptDefinitions
from lab.kind import Kind, freeze_worker, kill_worker
from lab.torn_logs import TornLogs

_UNSAFE_S: Final = 2.0
"""The loss that `everysec` permits (docs/decisions/storage/durability.md): two seconds of acknowledged writes."""

_POSTPONED_S: Final = 2.0
"""How much later than its answers Redis may write its log, while the sync before lasts: where the disk is busy."""


class Disks(Kind):
    """Power losses with `everysec`: of what Redis logged in the last two seconds, any part is gone."""

    name = "disks"
    pause_s = (0.5, 1.5)
    honest = True
    sweeps = True  # a loss may take back the last packet of a deletion: the sweep takes the run off the lists then

    def open(self) -> None:
        """Start a Redis, and note how long its log is."""
        super().open()
        self.sizes: deque[tuple[float, int]] = deque(maxlen=1000)
        self.ending = threading.Event()
        watcher = threading.Thread(target=self._watch)
        watcher.start()
        self.stack.callback(watcher.join)
        self.stack.callback(self.ending.set)

    def options(self) -> tuple[str, ...]:
        """Log every write, and sync once a second."""
        return ("--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")

    def begin(self) -> None:
        """Begin with a log that a power loss can cut anywhere in the batch."""
        super().begin()
        time.sleep(2.1)

    def _watch(self) -> None:
        while not self.ending.wait(0.02):
            with suppress(OSError, ValueError):
                self.sizes.append((time.monotonic(), self.redis.log().stat().st_size))

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill it, and cut its log somewhere in what was written in the last two seconds."""
        self.redis.kill()
        now = time.monotonic()
        log = self.redis.log()
        whole = log.stat().st_size
        safe = max((size for at, size in self.sizes if at <= now - _UNSAFE_S), default=whole)
        left = luck.randint(min(safe, whole), whole)
        os.truncate(log, left)
        self.redis.repair()
        self.losses.append((now - _UNSAFE_S - _POSTPONED_S - 0.1, now + 0.01))
        self.sizes.clear()
        self.sizes.append((now - _UNSAFE_S, left))  # what is left was read back, so it is on the disk
        self.redis.start()
        return f"cut {whole - left} bytes off the log"


class LostDefinitions(Disks):
    """Power losses take back definitions that servers remember to have kept."""

    name = "lost-definitions"
    pause_s = (1.5, 2.5)

    def __init__(self, home: Path, *, acl: bool = False, http: bool = False) -> None:
        super().__init__(home, acl=acl, http=True)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Have a definition kept for each seed."""
        return KeptDefinitions(bench)


class TornLogKind(Kind):
    """Runs whose workers are killed, and runs with a plain Redis each, whose log is torn and not repaired."""

    name = "torn-logs"
    pause_s = (0.3, 1.0)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Tear a log for each seed."""
        return TornLogs(bench)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a worker."""
        return luck.choice((freeze_worker, kill_worker))(luck, crew)
