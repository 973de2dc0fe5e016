"""The lists that span runs: which runs there are, and which of them may still need the clock.

Outside every run's slot and transaction: an entry is written before what it points at, and a stale one is harmless.
"""

from dcf.store import keys
from dcf.store.connection import Connections
from dcf.values.instants import SECOND

_FORGOTTEN_AFTER = 60 * SECOND
"""A listed run without documents is being created, unless it was listed longer ago than this."""

_FORGET = """
local time = redis.call('TIME')
local listed = redis.call('ZSCORE', KEYS[1], ARGV[1])
if listed and time[1] * 1000000 + time[2] - listed > tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
"""


class RunIndex:
    """Runs by creation time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, workflow_id: str) -> None:
        """List a run that is about to be created; a known one keeps its place among the runs."""
        (clock,) = self._connections.send(("TIME",))
        at = int(clock[0]) * SECOND + int(clock[1])
        self._connections.send(("ZADD", keys.RUNS, "NX", at, workflow_id), ("ZADD", keys.LIVE, at, workflow_id))

    def watch(self, workflow_id: str) -> None:
        """List a run for the clock, which has something to do for it."""
        (clock,) = self._connections.send(("TIME",))
        self._connections.send(("ZADD", keys.LIVE, int(clock[0]) * SECOND + int(clock[1]), workflow_id))

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

    def forget(self, workflow_id: str) -> None:
        """There are no documents of this run: unlist it, unless it is just being created."""
        self._connections.send(("EVAL", _FORGET, 1, keys.LIVE, workflow_id, _FORGOTTEN_AFTER))
