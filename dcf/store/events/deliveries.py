"""Per-agent delivery lock (`cp:idx:turn:<agent>`), and the events that were sent, shared by all delivering processes.

The lock is a key with the holder's token and an expiry. Releasing it compares the token, so that a late holder does not
release another's lock. A lock lost early costs at most a duplicate event, which agents tolerate.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys

TURN_MS: Final = 90_000
"""Expiry of the lock: longer than a delivery to the slowest platform can take (Letta: 75 s)."""

_REMEMBERED_S: Final = 24 * 3600
_TAKE: Final = """
if redis.call('PTTL', KEYS[1]) > ARGV[2] + 1000 then
  redis.call('DEL', KEYS[1])  -- it was taken before the server's clock stepped back
end
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
"""
_GIVE_BACK: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class SharedDeliveries:
    """Delivery locks and sent events in Redis."""

    def __init__(self, connections: Connections, *, turn_ms: int = TURN_MS) -> None:
        self._connections = connections
        self._turn_ms = turn_ms

    @contextmanager
    def turn(self, agent_id: str) -> Iterator[bool]:
        """Try to take the agent's delivery lock, without waiting. Yield whether it was taken; release it at the end."""
        key, token = keys.turn(agent_id), secrets.token_hex(16)
        (taken,) = self._connections.send(("EVAL", _TAKE, 1, key, token, self._turn_ms))
        mine = taken is not None
        try:
            yield mine
        finally:
            if mine:
                self._connections.send(("EVAL", _GIVE_BACK, 1, key, token))

    def find(self, agent_id: str, event_id: str) -> str | None:
        """Return the id of the run that the event started, if it was sent in the last day."""
        (delivery,) = self._connections.send(("GET", keys.sent(agent_id, event_id)))
        return None if delivery is None else delivery.decode()

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Record that the event started this run."""
        self._connections.send(("SET", keys.sent(agent_id, event_id), run_id, "EX", _REMEMBERED_S))
