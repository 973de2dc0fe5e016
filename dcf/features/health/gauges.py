"""Reads from Redis the gauges of all processes together, for Prometheus: a few indexes, and the oldest due entries.

Two round trips, whose size does not depend on the number of runs, and now and then three more for open states. Never
writes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from dcf.core.documents.model import RunStatus
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.counts import OpenStateCounts
from dcf.store.lists.shards import in_every_shard
from dcf.values.instants import SECOND
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

MOST_OWING: Final = 25
"""Runs of each list of due times whose outbox is looked at: those due first, as runs that owe something are."""


@record(frozen=True, slots=True, kw_only=True)
class Gauges:
    """Runs by status, and how many are stuck, held and live; the agents seen.

    Seconds: how late the clock is, how long ago it looked, how old the oldest notification owed is.

    `open_states` are those of some live runs.
    """

    runs: dict[str, int]
    stuck: int
    on_hold: int
    live: int
    agents: int
    clock_late_s: float
    clock_looked_s: float | None
    outbox_age_s: float
    open_states: Mapping[str, int]


class GaugeReader:
    """Reads the gauges."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._open_states = OpenStateCounts(connections)

    def read(self) -> Gauges:
        """Return them as they are now. Raise StoreUnavailable if Redis cannot be reached."""
        shards = self._connections.shards
        counted = (keys.STUCK, keys.HELD, keys.LIVE, *(keys.runs_by("status", status) for status in RunStatus))
        sizes: list[Command] = [("ZCARD", key) for index in counted for key in in_every_shard(index, shards)]
        due: list[Command] = [("ZRANGE", key, 0, MOST_OWING - 1, "WITHSCORES") for key in keys.every_due()]
        replies = self._connections.send(
            ("TIME",), ("GET", keys.SERVER_TIME), ("ZCARD", keys.SEEN), *sizes, *due,
        )  # fmt: skip
        clock, looked_at, agents, *rest = replies
        now, lists = micros(clock), rest[len(sizes) :]
        stuck, on_hold, live, *by_status = (sum(rest[first : first + shards]) for first in range(0, len(sizes), shards))
        first = [float(entries[1]) for entries in lists if entries]
        named = [name.decode() for entries in lists for name in entries[::2]]
        return Gauges(
            runs=dict(zip((status.value for status in RunStatus), by_status, strict=True)),
            stuck=stuck,
            on_hold=on_hold,
            live=live,
            agents=agents,
            clock_late_s=max(0.0, now - min(first, default=now)) / SECOND,
            clock_looked_s=None if looked_at is None else max(0, now - int(looked_at)) / SECOND,
            outbox_age_s=self._outbox_age_s(named, now),
            open_states=self._open_states.counts(),
        )

    def _outbox_age_s(self, workflow_ids: list[str], now: int) -> float:
        """Return how long the oldest notification of these runs has been owed."""
        if not workflow_ids:
            return 0.0
        commands: list[Command] = [("XRANGE", RunKeys(name).outbox, "-", "+", "COUNT", 1) for name in workflow_ids]
        oldest = [
            int(entries[0][0].partition(b"-")[0]) * 1000 for entries in self._connections.send(*commands) if entries
        ]
        return max(0, now - min(oldest, default=now)) / SECOND
