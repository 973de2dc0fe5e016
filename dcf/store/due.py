"""The index of when the clock must look at each live run. A look costs what is due, not what is alive.

An entry may be early, never late or missing. Every transaction that sets an earlier time writes it just before its
commit. Only the clock sets a later time, in a transaction that fails if the run changed. It also writes the run's
`looked` key, which all transactions of the run watch: one that wrote its time before, and has not committed yet, runs
again and writes it anew.
"""

from collections.abc import Sequence
from typing import Final

from dcf.store import keys
from dcf.store.connection import Command, Connection, Connections, checked, exchange
from dcf.store.keys import RunKeys
from dcf.store.outbox import attention_commands, read_attention

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

    def add(self, workflow_ids: Sequence[str], at: int) -> None:
        """Add the runs that are missing, for runs that an older version created."""
        for start in range(0, len(workflow_ids), _PAGE):
            page = workflow_ids[start : start + _PAGE]
            self._connections.send(*(("ZADD", keys.due(name), "NX", at, name) for name in page))


def _settle(connection: Connection, run: RunKeys) -> None:
    watch: Command = ("WATCH", run.meta, run.timers, run.outbox)
    listed: Command = ("ZSCORE", keys.LIVE, run.workflow_id)
    _, is_live, *replies = (checked(reply) for reply in exchange(connection, [watch, listed, *attention_commands(run)]))
    seen, index = read_attention(replies), keys.due(run.workflow_id)
    if seen.next_due is not None:
        commands: list[Command] = [("ZADD", index, seen.next_due, run.workflow_id)]
    elif is_live is None:
        commands = [("ZREM", index, run.workflow_id)]
    else:  # it is over since the clock looked: look again to take it off the live list
        commands = [("ZADD", index, seen.now, run.workflow_id)]
    if seen.exists:
        commands.append(("SET", run.looked, "1", "KEEPTTL"))
    for reply in exchange(connection, [("MULTI",), *commands, ("EXEC",)]):
        checked(reply)
