"""Lists the agents that wait for work that no agent is assigned to, so that a delivery can notify them at once.

An entry lasts as long as its wait, and is removed at its end; the entry of a process that died expires. There is a list
for each project, of callers that see this project alone, and one for callers that see all runs. An entry is a hint: the
lease decides what an agent may take.
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dcf.features.work.takers import Taker
from dcf.store.connection.connections import Connections
from dcf.values.instants import SECOND
from dcf.values.json_text import dump, load
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

TAKERS: Final = "cp:idx:takers"
"""Begins the keys of the lists: sorted sets, agents by when their waits end. They expire after the last wait."""

MOST_READ: Final = 256
"""Entries of a list that a delivery reads; of more, those whose waits end first."""

_MOST_NAMES: Final = 32
_MOST_NAME_CHARS: Final = 1024
"""An entry with more names has no names: its agent is notified of every state, and takes only its own."""

_LIFE_S: Final = 120
"""Longer than the longest wait."""

_SPARE_S: Final = 2.0
"""Seconds that an entry outlasts its wait: until the wait has ended, and has looked a last time."""

# KEYS: the list. ARGV: the entry, its life in microseconds, the life of the list in seconds.
_ENTER: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local over = redis.call('ZRANGE', KEYS[1], '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, 100)
if #over > 0 then
  redis.call('ZREM', KEYS[1], unpack(over))
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""


@record(frozen=True, slots=True, kw_only=True)
class TakerEntry:
    """The entry of one wait on its list."""

    key: str
    text: str


class Takers:
    """The lists of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def enter(self, taker: Taker, project: str | None, for_s: float) -> TakerEntry:
        """List an agent for `for_s` seconds: for runs of the project that it is bound to, or for all runs."""
        names = taker.states
        if names is not None and (len(names) > _MOST_NAMES or sum(map(len, names)) > _MOST_NAME_CHARS):
            names = None
        text = dump([taker.agent_id, None if names is None else list(names), secrets.token_hex(4)])
        entry = TakerEntry(key=_list_of(project), text=text)
        life = int((for_s + _SPARE_S) * SECOND)
        self._connections.send(("EVAL", _ENTER, 1, entry.key, entry.text, life, _LIFE_S))
        return entry

    def leave(self, entry: TakerEntry) -> None:
        """Remove the entry of a wait that has ended. Idempotent."""
        self._connections.send(("ZREM", entry.key, entry.text))

    def of(self, project: str | None, now: int) -> Sequence[Taker]:
        """Return who waits at this server time and may see a run of this project, in one packet."""
        lists = dict.fromkeys((_list_of(project), TAKERS))
        commands: list[Command] = [
            ("ZRANGE", key, f"({now}", "+inf", "BYSCORE", "LIMIT", 0, MOST_READ) for key in lists
        ]
        return [_read(text) for texts in self._connections.send(*commands) for text in texts]


def _list_of(project: str | None) -> str:
    """Return the key of the list of who sees the runs of a project alone, or all runs."""
    return TAKERS if project is None else f"{TAKERS}:of:{project}"


def _read(text: bytes) -> Taker:
    agent_id, names, _ = load(text)
    return Taker(agent_id=agent_id, states=None if names is None else tuple(names))
