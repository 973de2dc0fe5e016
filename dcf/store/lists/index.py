"""Indexes across runs: all runs, and the live ones, which may still need the clock.

They are not part of a run's transaction. The entry is written just before the commit (`writing`), so one may be stale.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import BY_ISSUE, Facet, agents_ever, facets_of
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.events.outbox import attention_commands, read_attention
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import in_every_shard, in_shard, oldest, oldest_commands, place_of
from dcf.values.instants import SECOND
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_PAGE: Final = 500
_BEING_CREATED: Final = 60 * SECOND
"""An entry younger than this may be of a run that is being created and has no documents yet."""

UNLIST: Final = """
local listed = redis.call('ZSCORE', KEYS[1], ARGV[1])
if listed and tonumber(listed) < tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
"""
"""Lua script that removes a name from an index if its entry is older than the given score."""

BLOCKED: Final = keys.runs_by(Facet.BLOCKED, BY_ISSUE)
STATUS_LISTS: Final = tuple(keys.runs_by(Facet.STATUS, status) for status in RunStatus)


def lists_of(meta: Mapping[str, Json], shard: str) -> tuple[str, ...]:
    """Return every list that a run with this meta document may be on, each once; that of all runs is the last."""
    faceted = [keys.runs_by(facet, value) for facet, value in facets_of(meta)]
    by_agent = [keys.runs_by(Facet.AGENT, agent) for agent in agents_ever(meta)]
    every = dict.fromkeys((*STATUS_LISTS, BLOCKED, *faceted, *by_agent, keys.STUCK, keys.HELD, keys.LIVE, keys.RUNS))
    return tuple(in_shard(index, shard) for index in every)


class RunIndex:
    """Runs by creation time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def live(self) -> list[str]:
        """Return the ids of runs that may still need the timer loop or have undelivered notifications, oldest first."""
        return oldest(self._connections.send(*oldest_commands(keys.LIVE, self._connections.shards)))

    def live_pages(self) -> Iterator[list[str]]:
        """Yield the same ids in pages, the newest first: if a run is taken off in between, no other run is skipped."""
        for live in in_every_shard(keys.LIVE, self._connections.shards):
            (size,) = self._connections.send(("ZCARD", live))
            for last in range(size - 1, -1, -_PAGE):
                (names_reply,) = self._connections.send(("ZRANGE", live, max(0, last - _PAGE + 1), last))
                yield [name.decode() for name in names_reply]

    def reset_times(self, workflow_ids: Sequence[str], at: int) -> None:
        """Set the times of listed runs to `at`, unless they are earlier: the clock may have stepped back before them.

        A run whose time lies ahead could not be retired until then, since it looks as if it was listed again just now.
        """
        for start in range(0, len(workflow_ids), _PAGE):
            page = workflow_ids[start : start + _PAGE]
            places = ((place_of(keys.LIVE, name, self._connections.shards), name) for name in page)
            self._connections.send(*(("ZADD", place, "XX", "LT", at, name) for place, name in places))

    def retire(self, workflow_id: str, *, is_final: bool | None = None) -> bool:
        """Remove a run from the live index, if nothing is left to do for it. Return True if it was removed.

        The check and the removal use one connection, so that both reach the same server. The run stays if it was listed
        again, or finalized, since the caller looked.
        """
        live, form = place_of(keys.LIVE, workflow_id, self._connections.shards), self._connections.form
        return self._connections.over_one(
            lambda connection: _retire(form, connection, RunKeys(workflow_id), live, is_final)
        )


def _retire(form: DocumentForm, connection: Connection, run: RunKeys, live: str, is_final: bool | None) -> bool:
    seen = read_attention(form, [checked(reply) for reply in exchange(connection, attention_commands(form, run))])
    if seen.exists and not (seen.is_over and is_final in {None, seen.is_final}):
        return False
    listed_before = seen.now if seen.exists else seen.now - _BEING_CREATED
    unlist: Command = ("EVAL", UNLIST, 1, live, run.workflow_id, listed_before)
    (removed,) = exchange(connection, [unlist])
    return bool(checked(removed))
