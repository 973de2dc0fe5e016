"""Remembers the latest server time that any clock has seen, to detect that the server clock stepped back.

That happens if an operator sets the machine's time, or after a failover to a machine whose clock is behind.
"""

from typing import Final

from dcf.store import keys
from dcf.store.connection import Connections
from dcf.store.documents import micros
from dcf.values.instants import SECOND

_SLACK: Final = SECOND


class ServerTime:
    """The latest server time that was seen. Any number of clocks may use it at once."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def has_stepped_back(self) -> bool:
        """Return True if the server time is earlier than one seen before; otherwise record it."""
        clock, seen = self._connections.send(("TIME",), ("GET", keys.SERVER_TIME))
        now = micros(clock)
        if seen is not None and int(seen) > now + _SLACK:
            return True
        self._connections.send(("SET", keys.SERVER_TIME, now))
        return False

    def begin_anew(self) -> None:
        """Forget the latest time, after all times that were set by it have been corrected."""
        (clock,) = self._connections.send(("TIME",))
        self._connections.send(("SET", keys.SERVER_TIME, micros(clock)))
