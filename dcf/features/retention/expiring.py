"""Takes runs off the lists when their keys have expired: until the next sweep counts would be wrong.

Redis expires the keys of a finalized run without a message. So `cp:idx:expiring`, a sorted set, has for each such run
the lists that it is on, by the server time at which its keys go. The processes of the timer loop look at entries that
are due. An entry is written before the expiry is set. It may be early, or of a run that is kept after all: what counts
is whether the run's meta is there. This module must not decide: `core/lifecycle/retention.py` does.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.listing.runs import agents_ever
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.index import UNLIST, lists_of
from dcf.store.lists.shards import every_shard, in_shard, place_of
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump, load

EXPIRING: Final = "cp:idx:expiring"

_PAGE: Final = 200
_GONE: Final = -2
"""Reply of PTTL for a key that is not there."""

_LISTED_BY: Final = (
    *("workflow_name", "workflow_version", "definition_sha256", "tags", "parent", "project", "for_anybody"),
)


class Expiring:
    """The runs of one Redis whose keys expire."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def note(self, workflow_id: str, meta: Mapping[str, Json], at: int) -> None:
        """Note that the keys of this run go at this server time, or earlier if that was noted."""
        index = place_of(EXPIRING, workflow_id, self._connections.shards)
        self._connections.send(("ZADD", index, "LT", at, _entry(workflow_id, meta)))

    def take_off(self) -> int:
        """Take runs off all lists whose keys are gone. Return how many."""
        shards = every_shard(self._connections.shards)
        commands: list[Command] = [("ZRANGE", in_shard(EXPIRING, shard), 0, 0, "WITHSCORES") for shard in shards]
        clock, *replies = self._connections.send(("TIME",), *commands)
        now = micros(clock)
        due = [shard for shard, first in zip(shards, replies, strict=True) if first and float(first[1]) <= now]
        return sum(self._take_off(shard, now) for shard in due)

    def _take_off(self, shard: str, now: int) -> int:
        """Do so for the runs of one shard that are due, a page at most."""
        index = in_shard(EXPIRING, shard)
        due: Command = ("ZRANGE", index, "-inf", now, "BYSCORE", "LIMIT", 0, _PAGE, "WITHSCORES")
        (pairs,) = self._connections.send(due)
        entries = {text: (load(text), int(float(at))) for text, at in zip(pairs[::2], pairs[1::2], strict=True)}
        left = self._connections.send(*(("PTTL", RunKeys(run).meta) for (run, _), _ in entries.values()))
        commands: list[Command] = []
        for (text, ((run, meta), at)), millis in zip(entries.items(), left, strict=True):
            if millis == _GONE:
                commands += _unlisted(run, meta, at, shard)
            commands.append(("ZADD", index, "XX", now + millis * 1000, text) if millis >= 0 else ("ZREM", index, text))
        for start in range(0, len(commands), _PAGE):
            self._connections.send(*commands[start : start + _PAGE])
        return left.count(_GONE)


def forgotten(workflow_id: str, meta: Mapping[str, Json], shard: str) -> Command:
    """Return the command that drops what was noted of a run: it is deleted."""
    return ("ZREM", in_shard(EXPIRING, shard), _entry(workflow_id, meta))


def _entry(workflow_id: str, meta: Mapping[str, Json]) -> str:
    listed_by = {name: meta[name] for name in _LISTED_BY if meta.get(name)}
    agents = agents_ever(meta)
    return dump([workflow_id, listed_by | ({"former_agents": list(agents)} if agents else {})])


def _unlisted(workflow_id: str, meta: Mapping[str, Json], at: int, shard: str) -> Iterator[Command]:
    """Yield the commands that take a run off all lists, unless another of its id was created since it expired."""
    for index in lists_of(meta, shard):
        yield ("EVAL", UNLIST, 1, index, workflow_id, at)
    for agent in agents_ever(meta):
        yield ("EVAL", UNLIST, 1, keys.assigned(agent), workflow_id, at // SECOND)
