"""Remembers the latest server time that any clock has seen, to detect that the server clock stepped back.

That happens if an operator sets the machine's time, or after a failover to a machine whose clock is behind. On a
cluster each node has a clock of its own, so one time is remembered for each shard besides.
"""

from typing import Final

from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import table as keys
from dcf.store.lists.shards import in_every_shard
from dcf.values.instants import SECOND
from dcf.values.records import record

_SLACK: Final = SECOND


@record(frozen=True, slots=True, kw_only=True)
class ServerInstant:
    """The server time in microseconds; `has_stepped_back` if an earlier reading was later."""

    now: int
    has_stepped_back: bool = False


class ServerTime:
    """The latest server time that was seen. Any number of clocks may use it at once."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        shards = connections.shards
        self._keys = [keys.SERVER_TIME, *(in_every_shard(keys.SERVER_TIME, shards) if shards > 1 else ())]
        self._latest: list[int] = []

    def read(self) -> ServerInstant:
        """Return the server time, and record it unless it is earlier than one seen before."""
        replies = self._connections.send(*(command for key in self._keys for command in (("TIME",), ("GET", key))))
        self._latest = [micros(clock) for clock in replies[::2]]
        now, before = self._latest[0], [0 if seen is None else int(seen) for seen in replies[1::2]]
        if any(seen > own + _SLACK for seen, own in zip(before, self._latest, strict=True)):
            return ServerInstant(now=now, has_stepped_back=True)
        self._remember()
        return ServerInstant(now=now)

    def note(self, now: int) -> None:
        """Record a time by which something was written since the last reading, so that a step back from it shows."""
        self._connections.send(("SET", keys.SERVER_TIME, now))

    def accept_reading(self) -> None:
        """Accept the last reading as the latest time, after all times that lay ahead of it have been corrected.

        The time may have stepped back again during the correction: then the next reading reports it.
        """
        self._remember()

    def _remember(self) -> None:
        self._connections.send(*(("SET", key, own) for key, own in zip(self._keys, self._latest, strict=True)))
