"""Removes all keys of a run, then its entries in the indexes across runs.

The order makes a crash harmless: the states first, then the list of states, meta last of the run's keys, and the index
entries after it. Until meta is gone, the timer loop finds the run by its mark and continues; afterwards a sweep finds
the entries that name nothing. On a cluster the lists are on other nodes, one of which may not answer. So entries that
only meta names are removed before it as well. Safe to repeat. This module must not decide:
`core/lifecycle/retention.py` does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from dcf.core.access.model import KEY_CALLER
from dcf.core.listing.runs import agents_ever
from dcf.features.artifacts.keys import UPLOADS, upload_entry
from dcf.features.artifacts.model import read_upload
from dcf.features.people.keys import asked_in
from dcf.features.retention.expiring import Expiring, forgotten
from dcf.store.access.quotas import forget_run
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.extensions import every_key, keys_of_parts
from dcf.store.keys import table as keys
from dcf.store.keys.kinds import KEY_KINDS
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask
from dcf.store.lists.index import STATUS_LISTS, UNLIST, lists_of
from dcf.store.lists.shards import in_shard, shard_of
from dcf.store.transaction.usage_sums import OWED
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load

_PAGE: Final = 500
_AT_ONCE: Final = 30
"""Commands of one round trip; each has at most `_PAGE` keys."""

_BEING_CREATED: Final = 60 * SECOND
"""An entry younger than this may be of a run that is being created under the same id."""


class Deletion:
    """Removes runs from one Redis. `expiring` are those that Redis itself removes after a time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.expiring = Expiring(connections)

    def remove(
        self,
        workflow_id: str,
        states: Iterable[str],
        scopes: Iterable[str],
        branches: Iterable[str],
        meta: Mapping[str, Json],
    ) -> None:
        """Remove the run with these states, scopes and branches. `meta` says what it is listed under."""
        run = RunKeys(workflow_id)
        keys = [key for key in every_key(run, states, scopes, branches) if key != run.meta]
        own, inside = _parted(run, keys)
        commands: list[Command] = [*self._uploads_unlisted(run)]
        commands += [("DEL", *page) for page in _pages(inside)]
        commands.append(("DEL", *own))
        if self._connections.shards > 1:
            commands += self._unlisting_by_meta(workflow_id, meta)
        commands += [("ZREM", OWED, workflow_id), ("DEL", run.meta)]
        # A delivery that was under way may have written into the history once more.
        commands += [("DEL", run.events, run.told, run.outbox), *self._unlisted(workflow_id, meta)]
        for start in range(0, len(commands), _AT_ONCE):
            ask(self._connections, *commands[start : start + _AT_ONCE])

    def forget(self, workflow_id: str) -> None:
        """Take a run that is gone off the lists that every run is on, unless it is being created again."""
        (now,) = self._connections.send(("TIME",))
        before = int(now[0]) * SECOND - _BEING_CREATED
        shard = shard_of(workflow_id, self._connections.shards)
        lists = (in_shard(index, shard) for index in (keys.RUNS, keys.LIVE, keys.STUCK, keys.HELD, *STATUS_LISTS))
        indexes = (*lists, keys.due(workflow_id))
        self._connections.send(*(("EVAL", UNLIST, 1, index, workflow_id, before) for index in indexes))

    def _uploads_unlisted(self, run: RunKeys) -> Iterator[Command]:
        """Yield what takes the uploads of a run off their index, before the run no longer tells which these are."""
        (records,) = self._connections.send(("HVALS", run.of("uploads")))
        uploads = [read_upload(load(record)) for record in records]
        entries = [upload_entry(run.workflow_id, upload.artifact_id, upload.upload_id) for upload in uploads]
        if entries:
            yield ("ZREM", UPLOADS, *entries)

    def _unlisted(self, workflow_id: str, meta: Mapping[str, Json]) -> Iterator[Command]:
        shard = shard_of(workflow_id, self._connections.shards)
        yield ("ZREM", in_shard(keys.LIVE, shard), workflow_id)
        yield from self._unlisting_by_meta(workflow_id, meta)
        yield ("ZREM", keys.due(workflow_id), workflow_id)
        yield ("DEL", keys.workers(workflow_id), asked_in(workflow_id))
        yield forgotten(workflow_id, meta, shard)
        creator = meta.get("created_by")
        if isinstance(creator, str) and creator.startswith(KEY_CALLER):
            yield forget_run(creator.removeprefix(KEY_CALLER), workflow_id)

    def _unlisting_by_meta(self, workflow_id: str, meta: Mapping[str, Json]) -> Iterator[Command]:
        """Yield the commands that take a run off the lists in its meta. The list of live runs is not one of them."""
        shard = shard_of(workflow_id, self._connections.shards)
        for index in lists_of(meta, shard):
            if index != in_shard(keys.LIVE, shard):
                yield ("ZREM", index, workflow_id)
        for agent in agents_ever(meta):
            yield ("ZREM", keys.assigned(agent), workflow_id)


def _parted(run: RunKeys, result: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the keys that the run has once, and those of its states; the former tell which of the latter there are."""
    once = {run.of(kind) for kind, how in KEY_KINDS.items() if "run" in how.per}.union(keys_of_parts(run))
    return [key for key in result if key in once], [key for key in result if key not in once]


def _pages(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _PAGE):
        yield names[start : start + _PAGE]
