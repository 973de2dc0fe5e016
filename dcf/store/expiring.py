"""Takes runs off the lists when their keys have expired: until the next sweep counts would be wrong.

Redis expires the keys of a finalized run by itself and tells nobody. So `cp:idx:expiring`, a sorted set, has for each
such run what it is listed under, by the server time at which its keys go; the clock's processes look at those that are
due. An entry is written before the expiry is set and may be early, or of a run that is kept after all: what counts is
whether the run's meta is there. Decides nothing: `core/retention.py` does.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.catalog import agents_ever
from dcf.store import keys
from dcf.store.connection import Command, Connections
from dcf.store.documents import micros
from dcf.store.index import UNLIST, lists_of
from dcf.store.keys import RunKeys
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
        self._connections.send(("ZADD", EXPIRING, "LT", at, _entry(workflow_id, meta)))

    def take_off(self) -> int:
        """Take runs off all lists whose keys are gone. Return how many."""
        clock, first = self._connections.send(("TIME",), ("ZRANGE", EXPIRING, 0, 0, "WITHSCORES"))
        if not first or float(first[1]) > micros(clock):
            return 0
        due: Command = ("ZRANGE", EXPIRING, "-inf", micros(clock), "BYSCORE", "LIMIT", 0, _PAGE, "WITHSCORES")
        (found,) = self._connections.send(due)
        entries = {text: (load(text), int(float(at))) for text, at in zip(found[::2], found[1::2], strict=True)}
        left = self._connections.send(*(("PTTL", RunKeys(run).meta) for (run, _), _ in entries.values()))
        commands: list[Command] = []
        for (text, ((run, meta), at)), millis in zip(entries.items(), left, strict=True):
            if millis == _GONE:
                commands += _unlisted(run, meta, at)
            commands.append(
                ("ZADD", EXPIRING, "XX", micros(clock) + millis * 1000, text)
                if millis >= 0
                else ("ZREM", EXPIRING, text)
            )
        for start in range(0, len(commands), _PAGE):
            self._connections.send(*commands[start : start + _PAGE])
        return left.count(_GONE)


def forgotten(workflow_id: str, meta: Mapping[str, Json]) -> Command:
    """Return the command that drops what was noted of a run: it is deleted."""
    return ("ZREM", EXPIRING, _entry(workflow_id, meta))


def _entry(workflow_id: str, meta: Mapping[str, Json]) -> str:
    kept = {name: meta[name] for name in _LISTED_BY if meta.get(name)}
    agents = agents_ever(meta)
    return dump([workflow_id, kept | ({"former_agents": list(agents)} if agents else {})])


def _unlisted(workflow_id: str, meta: Mapping[str, Json], at: int) -> Iterator[Command]:
    """Yield the commands that take a run off all lists, unless another of its id was created since it expired."""
    for index in lists_of(meta):
        yield ("EVAL", UNLIST, 1, index, workflow_id, at)
    for agent in agents_ever(meta):
        yield ("EVAL", UNLIST, 1, keys.assigned(agent), workflow_id, at // SECOND)
