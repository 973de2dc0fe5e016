"""Whose turn it is to write to an agent, and which events it was sent, shared by all processes that deliver.

A turn is a key with the holder's token that expires by itself; giving it back compares the token, so that a holder
who was late does not end somebody else's. A lost turn costs at most an event sent twice, which agents bear.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dcf.store import keys
from dcf.store.connection import Connections

TURN_MS: Final = 90_000
"""Longer than a delivery may take by the timeouts of the slowest platform (Letta: 75 s)."""

_REMEMBERED_S: Final = 24 * 3600
_TAKE: Final = """
if redis.call('PTTL', KEYS[1]) > ARGV[2] + 1000 then
  redis.call('DEL', KEYS[1])  -- it was taken before the server's clock stepped back
end
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
"""
_GIVE_BACK: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class SharedDeliveries:
    """Turns and sent events in Redis."""

    def __init__(self, connections: Connections, *, turn_ms: int = TURN_MS) -> None:
        self._connections = connections
        self._turn_ms = turn_ms

    @contextmanager
    def turn(self, agent_id: str) -> Iterator[bool]:
        """Take the turn at once or not at all; the block is told which, and gives it back."""
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
        (found,) = self._connections.send(("GET", keys.sent(agent_id, event_id)))
        return None if found is None else found.decode()

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        """Note that the event started this run."""
        self._connections.send(("SET", keys.sent(agent_id, event_id), run_id, "EX", _REMEMBERED_S))
