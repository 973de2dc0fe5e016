"""What deliveries to agents must remember between processes: whose turn it is to write, and what was sent.

Letta has neither: it runs several messages to one agent at the same time, and each forgets the others' (measured:
of 11 messages sent at once 3 stayed in the agent's context). So the turn is taken here. This module holds the
protocol and an in-process form of it; a form for several processes belongs to the store.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Deliveries(Protocol):
    """Turns and sent events, shared by every process that delivers to the same agents.

    A turn lasts for one look at the agent and one request that starts a run, not for the run; while it lasts nobody
    else may deliver to this agent. A holder that dies must lose it: a form across processes expires by itself, later
    than the adapter's timeouts allow a delivery to take. Losing a turn early costs at most a message sent twice.
    """

    def turn(self, agent_id: str) -> AbstractContextManager[bool]:
        """Take the turn at once or not at all; the block is told which, and gives it back."""
        ...

    def find(self, agent_id: str, event_id: str) -> str | None:
        """Return the id of the run that the event started, if it was sent in the last day."""
        ...

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Note that the event started this run."""
        ...


class LocalDeliveries:
    """What one process remembers, for programs that are alone with their agents, and for tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: set[str] = set()
        self._sent: dict[tuple[str, str], str] = {}

    @contextmanager
    def turn(self, agent_id: str) -> Iterator[bool]:
        """Take the turn unless another thread has it."""
        with self._lock:
            mine = agent_id not in self._taken
            self._taken.add(agent_id)
        try:
            yield mine
        finally:
            if mine:
                with self._lock:
                    self._taken.discard(agent_id)

    def find(self, agent_id: str, event_id: str) -> str | None:
        """Look the event up."""
        with self._lock:
            return self._sent.get((agent_id, event_id))

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Note the event, as long as this process lives."""
        with self._lock:
            self._sent[agent_id, event_id] = run_id
