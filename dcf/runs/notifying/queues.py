"""Lanes: each remote platform has delivery threads of its own, so that a slow platform delays no other.

An entry that waited so long in its lane that another process may have taken it over is dropped here; it stays in the
outbox. The same applies to entries for which a lane has no room. This module must not choose recipients.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from dcf.runs.notifying.deliveries import THREADS, DeliveryThreads
from dcf.store.events.outbox import OutboxEntry

MOST_WAITING: Final = 40
"""Entries that wait in one lane of one process; further ones are left to other processes, and to later looks."""

WORTH_S: Final = 20.0
"""Seconds for which an entry may wait in a lane: less than the time after which another process takes it over."""

LaneOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the kinds of platform of those agents that are on a remote one."""

Settle: TypeAlias = Callable[[str, OutboxEntry], int]
"""Delivers one entry of a run and records the outcome; returns how many were handled."""


class Lane:
    """The entries that wait for one platform, and the threads that deliver them: for one run in their order."""

    def __init__(self, settle: Settle, threads: int, monotonic: Callable[[], float]) -> None:
        self._settle = settle
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[OutboxEntry, float]]] = {}
        self.threads = DeliveryThreads(self._drain, threads)

    def put(self, workflow_id: str, entries: Sequence[OutboxEntry]) -> tuple[int, Sequence[OutboxEntry]]:
        """Have the entries delivered. Return how many were handled at once, and those for which there is no room."""
        with self._lock:
            room = max(0, MOST_WAITING - sum(map(len, self._waiting.values())))
            mine = self._waiting.setdefault(workflow_id, [])
            known = {entry.entry_id for entry, _ in mine}
            fresh = [entry for entry in entries if entry.entry_id not in known]
            mine += [(entry, self._monotonic()) for entry in fresh[:room]]
        return self.threads.hand_over(workflow_id), fresh[room:]

    def _drain(self, workflow_id: str) -> int:
        done = 0
        while True:
            with self._lock:
                mine = self._waiting.get(workflow_id)
                if not mine:
                    self._waiting.pop(workflow_id, None)
                    return done
                entry, since = mine.pop(0)
            if self._monotonic() - since > WORTH_S:
                continue
            try:
                done += self._settle(workflow_id, entry)
            except Exception:
                with self._lock:
                    self._waiting.pop(workflow_id, None)  # they stay in the outbox, for another attempt
                raise


class Lanes:
    """The lanes of one process, by kind of platform. A lane begins when it is first needed."""

    def __init__(
        self, lane_of: LaneOf, threads: int = THREADS, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lane_of = lane_of
        self._threads = threads
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane] = {}
        self._is_closed = False

    def sort(self, agents: Sequence[str | None]) -> list[str | None]:
        """Return the lane of each agent; None for an agent that needs no lane."""
        kinds = self._lane_of([agent for agent in agents if agent is not None])
        return [None if agent is None else kinds.get(agent) for agent in agents]

    def put(
        self, kind: str, workflow_id: str, entries: Sequence[OutboxEntry], settle: Settle
    ) -> tuple[int, Sequence[OutboxEntry]]:
        """Have the entries delivered in the lane of this kind. Return how many were, and those without room."""
        with self._lock:
            lane = self._lanes.get(kind)
            if lane is None and self._is_closed:
                return 0, ()
            if lane is None:
                lane = self._lanes[kind] = Lane(settle, self._threads, self._monotonic)
        return lane.put(workflow_id, entries)

    def wait(self, timeout_s: float) -> int:
        """Wait until everything that was put in is done, at most `timeout_s`. Return how many were handled."""
        until = time.monotonic() + timeout_s
        return sum(lane.threads.wait(max(0.0, until - time.monotonic())) for lane in self._all())

    def close(self) -> None:
        """Accept no more entries, and wait briefly for present deliveries; waiting entries stay in the outbox."""
        self._is_closed = True
        for lane in self._all():
            lane.threads.close()

    def _all(self) -> Iterable[Lane]:
        with self._lock:
            return tuple(self._lanes.values())
