"""The lists that span runs: which runs there are, and which of them may still need the clock.

Outside every run's slot and transaction: an entry is written before what it points at, and a stale one is harmless.
"""

from dcf.store import keys
from dcf.store.connection import Connections


class RunIndex:
    """Runs by creation time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, workflow_id: str) -> None:
        """List a run that is about to be created; a known one keeps its place."""
        (clock,) = self._connections.send(("TIME",))
        at = int(clock[0]) * 1_000_000 + int(clock[1])
        self._connections.send(("ZADD", keys.RUNS, "NX", at, workflow_id), ("ZADD", keys.LIVE, "NX", at, workflow_id))

    def newest(self, limit: int) -> list[str]:
        """Ids of the newest runs, newest first."""
        (found,) = self._connections.send(("ZREVRANGE", keys.RUNS, 0, limit - 1))
        return [name.decode() for name in found]

    def live(self) -> list[str]:
        """Ids of runs that may still need the clock or have notifications owed, oldest first."""
        (found,) = self._connections.send(("ZRANGE", keys.LIVE, 0, -1))
        return [name.decode() for name in found]

    def retire(self, workflow_id: str) -> None:
        """Nothing is left to do for this run."""
        self._connections.send(("ZREM", keys.LIVE, workflow_id))
