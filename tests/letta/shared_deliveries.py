"""`Deliveries` in Redis, as several processes share them: what the store has to offer to the adapter.

A turn is a key with the holder's token that expires by itself; giving it back compares the token, so that a holder
who was late does not end somebody else's turn.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import redis

TURN_MS = 90_000
"""Longer than the adapter's timeouts allow a delivery to take (two reads, each repeated once, and a write: 75 s)."""
REMEMBERED_S = 24 * 3600

_GIVE_BACK = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class SharedDeliveries:
    def __init__(self, client: redis.Redis, *, turn_ms: int = TURN_MS) -> None:
        self._client = client
        self._turn_ms = turn_ms

    @contextmanager
    def turn(self, agent_id: str) -> Iterator[bool]:
        key, token = f"cp:turn:{agent_id}", secrets.token_hex(16)
        mine = bool(self._client.set(key, token, nx=True, px=self._turn_ms))
        try:
            yield mine
        finally:
            if mine:
                self._client.eval(_GIVE_BACK, 1, key, token)

    def find(self, agent_id: str, event_id: str) -> str | None:
        found = self._client.get(f"cp:sent:{agent_id}:{event_id}")
        return found.decode() if isinstance(found, bytes) else None

    def remember(self, agent_id: str, event_id: str, run_id: str) -> None:
        self._client.set(f"cp:sent:{agent_id}:{event_id}", run_id, ex=REMEMBERED_S)
