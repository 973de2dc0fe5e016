"""Remembers which agents were seen when, and which agent platforms do not answer: for health reports only.

Nothing is decided by these records. They are written every few seconds at most, never by a call of a tool.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND
from dcf.values.json_text import dump

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

MOST_SEEN: Final = 1000
"""Agents that are remembered; the ones not seen for longest are forgotten first."""

_SEEN_LIFE_S: Final = 7 * 24 * 3600
TROUBLE_LIFE_S: Final = 120
"""Seconds for which it counts that a platform does not answer."""


class ActivityRecords:
    """The records in Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def saw(self, agent_ids: Collection[str]) -> None:
        """Record that these agents were seen now, in two packets however many they are."""
        clock, spare = self._connections.send(("TIME",), ("ZRANGE", keys.SEEN, 0, -MOST_SEEN - 1))
        now = micros(clock)
        entries = [part for agent_id in agent_ids for part in (now, agent_id)]
        forget: list[Command] = [("ZREM", keys.SEEN, *spare)] if spare else []
        self._connections.send(*forget, ("ZADD", keys.SEEN, *entries), ("EXPIRE", keys.SEEN, _SEEN_LIFE_S))

    def seen(self, most: int) -> list[str]:
        """Return the agents that were seen lately, the latest first."""
        (agents,) = self._connections.send(("ZREVRANGE", keys.SEEN, 0, most - 1))
        return [agent_id.decode() for agent_id in agents]

    def unseen(self, agent_ids: Sequence[str]) -> list[str]:
        """Return those of these agents that were not seen lately, in one packet."""
        replies = (
            self._connections.send(*(("ZSCORE", keys.SEEN, agent_id) for agent_id in agent_ids)) if agent_ids else []
        )
        return [agent_id for agent_id, at in zip(agent_ids, replies, strict=True) if at is None]

    def platform_fails(self, kind: str, *, for_s: float, failures: int, error: str) -> None:
        """Record that a platform has not answered for `for_s` seconds. The record expires after two minutes."""
        (clock,) = self._connections.send(("TIME",))
        now = micros(clock)
        trouble = {"kind": kind, "at": now, "since": now - int(for_s * SECOND), "failures": failures, "error": error}
        self._connections.send(
            ("HSET", keys.PLATFORMS, kind, dump(trouble)), ("EXPIRE", keys.PLATFORMS, TROUBLE_LIFE_S)
        )

    def platform_answers(self, kind: str) -> None:
        """Remove the record that it does not."""
        self._connections.send(("HDEL", keys.PLATFORMS, kind))
