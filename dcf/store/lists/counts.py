"""Counts the open states of live runs, for Prometheus: leased, with an expired lease, parked, or free.

No index has them, since it would cost every step a command. So a bounded number of states is read, in two packets, and
the counts are used for a while. Never writes.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from dcf.core.documents.codec import read_state
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import table as keys
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import newest, newest_commands
from dcf.values.json_text import load

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

MOST_RUNS: Final = 200
MOST_STATES: Final = 25
"""States that are read of each run: those that the timer loop must check first."""
GOOD_FOR_S: Final = 30.0

LEASED: Final = "leased"
EXPIRED: Final = "expired"
PARKED: Final = "parked"
FREE: Final = "free"


class OpenStateCounts:
    """Counts the open states, and keeps the counts for `GOOD_FOR_S`."""

    def __init__(self, connections: Connections, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._connections = connections
        self._monotonic = monotonic
        self._found: tuple[float, Mapping[str, int]] | None = None

    def counts(self) -> Mapping[str, int]:
        """Return how many open states there are of each kind, in the live runs that were listed last."""
        now = self._monotonic()
        if self._found is None or now >= self._found[0] + GOOD_FOR_S:
            self._found = now, self._read()
        return self._found[1]

    def _read(self) -> dict[str, int]:
        counts = dict.fromkeys((LEASED, EXPIRED, PARKED, FREE), 0)
        listed = self._connections.send(*newest_commands(keys.LIVE, self._connections.shards, MOST_RUNS))
        runs = list(map(RunKeys, newest(listed, MOST_RUNS)))
        clock, *opened = self._connections.send(
            ("TIME",), *(("ZRANGE", run.timers, 0, MOST_STATES - 1) for run in runs)
        )
        form = self._connections.form
        commands: list[Command] = [
            form.read_many([run.state(decode_state(part.decode())) for part in parts])
            for run, parts in zip(runs, opened, strict=True)
            if parts
        ]
        replies = self._connections.ask(*commands) if commands else []
        for text in (text for reply in replies if isinstance(reply, list) for text in form.texts(reply)):
            kind = _kind(text, micros(clock))
            if kind is not None:
                counts[kind] += 1
        return counts


def _kind(text: bytes | None, now: int) -> str | None:
    """Return the kind of a state by its document; None if the state has ended or does not exist."""
    doc = None if text is None else read_state(load(text))
    if doc is None or doc.status.is_terminal:
        return None
    if doc.has_lost_lease(now):
        return EXPIRED
    if doc.lease.token is not None:
        return LEASED
    return FREE if doc.limit(now) is None else PARKED
