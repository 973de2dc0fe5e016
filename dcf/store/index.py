"""The lists that span runs: which runs there are, and which of them may still need the clock.

No part of a run's transaction: it enters the run just before it commits (`writing`), and a stale entry is harmless.
"""

from typing import Final

from dcf.store import keys
from dcf.store.connection import Command, Connection, Connections, checked, exchange
from dcf.store.keys import RunKeys
from dcf.store.outbox import attention_commands, read_attention
from dcf.values.instants import SECOND

_BEING_CREATED: Final = 60 * SECOND
"""A listed run without documents is being created, unless it was listed longer ago than this."""

UNLIST: Final = """
local listed = redis.call('ZSCORE', KEYS[1], ARGV[1])
if listed and tonumber(listed) < tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
"""
"""Takes a name off a list, if it was last entered before this."""


class RunIndex:
    """Runs by creation time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def newest(self, limit: int) -> list[str]:
        """Ids of the newest runs, newest first."""
        (found,) = self._connections.send(("ZREVRANGE", keys.RUNS, 0, limit - 1))
        return [name.decode() for name in found]

    def live(self) -> list[str]:
        """Ids of runs that may still need the clock or have notifications owed, oldest first."""
        (found,) = self._connections.send(("ZRANGE", keys.LIVE, 0, -1))
        return [name.decode() for name in found]

    def retire(self, workflow_id: str, *, is_final: bool | None = None) -> bool:
        """Take a run off the clock's list, if there is nothing left to do for it; tell whether it was.

        Looked at and taken off over one connection, so that what one server says never changes another's list; and
        only if it was not listed again since, nor finalized since the caller saw whether it is.
        """
        return self._connections.over_one(lambda connection: _retire(connection, RunKeys(workflow_id), is_final))


def _retire(connection: Connection, run: RunKeys, is_final: bool | None) -> bool:
    seen = read_attention([checked(reply) for reply in exchange(connection, attention_commands(run))])
    if seen.exists and not (seen.is_over and is_final in {None, seen.is_final}):
        return False
    listed_before = seen.now if seen.exists else seen.now - _BEING_CREATED
    unlist: Command = ("EVAL", UNLIST, 1, keys.LIVE, run.workflow_id, listed_before)
    (removed,) = exchange(connection, [unlist])
    return bool(checked(removed))
