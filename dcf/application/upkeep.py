"""The work of the timer loop besides checking runs: it updates books across runs, and caches of the process.

This work is not urgent, and any process may do it: each step may be repeated.
"""

from typing import Final

from dcf.features.usage.storage import UsageBooks
from dcf.features.work.limit_operations import WorkLimiting
from dcf.store.connection.connections import Connections
from dcf.values.instants import SECOND

_SETTLED_EVERY: Final = 30 * SECOND
"""How often usage is moved to the books that a process owed when it died."""


class Upkeep:
    """The books of usage, and the limits of work in progress."""

    def __init__(self, books: UsageBooks, limits: WorkLimiting | None) -> None:
        self._books = books
        self._limits = limits
        self._settled_at = 0

    def look(self, now: int) -> None:
        """Update the limits, and the books if that is due at this server time."""
        if self._limits is not None:
            self._limits.refresh()
        if now - self._settled_at > _SETTLED_EVERY:
            self._books.settle_owed(now)
            self._settled_at = now


def open_upkeep(connections: Connections, limits: WorkLimiting | None) -> Upkeep:
    """Return the upkeep of one Redis."""
    return Upkeep(UsageBooks(connections), limits)
