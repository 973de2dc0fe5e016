"""Per-agent delivery lock, and the record of sent events, for deliveries to Letta.

Letta has neither: it runs several messages to one agent at the same time, and each loses the others' (measured: of 11
messages sent at once 3 stayed in the agent's context). So dcf takes the lock. This module has the protocol and an
in-process implementation; the one for several processes is in the store.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Deliveries(Protocol):
    """Delivery locks ("turns") and sent events, shared by all processes that deliver to the same agents.

    The lock is held for one look at the agent and one request that starts a run, not for the run; meanwhile no other
    process may deliver to this agent. A crashed holder must lose it: across processes the lock expires, later than the
    adapter's timeouts let a delivery take. Losing it early costs at most a duplicate message.
    """

    def turn(self, agent_id: str) -> AbstractContextManager[bool]:
        """Try to take the agent's lock, without waiting. Yield whether it was taken; release it at the end."""

    def find(self, agent_id: str, event_id: str) -> str | None:
        """Return the id of the run that the event started, if it was sent in the last day."""

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Record that the event started this run."""


class LocalDeliveries:
    """In-process implementation, for programs that are the only ones to deliver to their agents, and for tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: set[str] = set()
        self._sent: dict[tuple[str, str], str] = {}

    @contextmanager
    def turn(self, agent_id: str) -> Iterator[bool]:
        """Take the lock unless another thread has it."""
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
        """Return the id of the run that the event started, if it is known."""
        with self._lock:
            return self._sent.get((agent_id, event_id))

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Record the event, for the life of this process."""
        with self._lock:
            self._sent[agent_id, event_id] = run_id
