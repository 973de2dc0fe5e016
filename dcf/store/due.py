"""The index of when the clock must look at each live run. A look costs what is due, not what is alive.

An entry may be early, never late or missing. Every transaction that needs an earlier look enters its time just before
its commit. Only the clock sets a later time, in a transaction that fails if the run changed. It writes the time to meta
as well (`clock_due_at`). All transactions of a run watch meta, so one that entered its time before the clock did, and
has not committed yet, runs again. And one that needs no earlier look finds that in meta, and enters nothing.
"""

from collections.abc import Sequence
from typing import Final

from dcf.store import keys
from dcf.store.connection import Command, Connection, Connections, checked, exchange
from dcf.store.keys import RunKeys
from dcf.store.outbox import attention_commands, read_attention
from dcf.values.instants import to_text
from dcf.values.json_text import dump

_PAGE: Final = 500


class DueRuns:
    """Live runs by when the clock must look at them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def at(self, now: int) -> list[str]:
        """Return the ids of runs that the clock must look at by this server time."""
        asked: list[Command] = [("ZRANGE", shard, "-inf", now, "BYSCORE") for shard in keys.every_due()]
        return [name.decode() for found in self._connections.send(*asked) for name in found]

    def settle(self, workflow_id: str) -> None:
        """Set when the clock must look at the run next, or remove it; leave it due if it changes meanwhile."""
        self._connections.over_one(lambda connection: _settle(connection, RunKeys(workflow_id)))

    def bring_forward(self, workflow_ids: Sequence[str], at: int) -> None:
        """Make runs due at this time, unless they are due before. Runs of an older version are not in the index."""
        for start in range(0, len(workflow_ids), _PAGE):
            page = workflow_ids[start : start + _PAGE]
            self._connections.send(*(("ZADD", keys.due(name), "LT", at, name) for name in page))


def _settle(connection: Connection, run: RunKeys) -> None:
    watch: Command = ("WATCH", run.meta, run.timers, run.outbox)
    listed: Command = ("ZSCORE", keys.LIVE, run.workflow_id)
    _, is_live, *replies = (checked(reply) for reply in exchange(connection, [watch, listed, *attention_commands(run)]))
    seen, index = read_attention(replies), keys.due(run.workflow_id)
    # A run that is over but still listed was not when the clock looked: the next look takes it off the live list.
    at = seen.next_due or (None if is_live is None else seen.now)
    commands: list[Command] = [("ZREM", index, run.workflow_id) if at is None else ("ZADD", index, at, run.workflow_id)]
    if seen.exists:
        commands.append(("JSON.SET", run.meta, "$.clock_due_at", dump(None if at is None else to_text(at))))
    for reply in exchange(connection, [("MULTI",), *commands, ("EXEC",)]):
        checked(reply)
