"""The latest time of the server that any clock has seen, so that a step backwards is noticed.

Somebody may set the machine's time, or a failover may lead to a machine whose clock is behind.
"""

from typing import Final

from dcf.store import keys
from dcf.store.connection import Connections
from dcf.values.instants import SECOND

_SLACK: Final = SECOND


class ServerTime:
    """What clocks have seen of the server's time; any number of them may look."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def has_stepped_back(self) -> bool:
        """Tell whether it is earlier now than somebody has seen; else note how late it is."""
        clock, seen = self._connections.send(("TIME",), ("GET", keys.SERVER_TIME))
        now = _micros(clock)
        if seen is not None and int(seen) > now + _SLACK:
            return True
        self._connections.send(("SET", keys.SERVER_TIME, now))
        return False

    def begin_anew(self) -> None:
        """Forget what was seen: all that was set by it has been brought back."""
        (clock,) = self._connections.send(("TIME",))
        self._connections.send(("SET", keys.SERVER_TIME, _micros(clock)))


def _micros(clock: list[bytes]) -> int:
    return int(clock[0]) * SECOND + int(clock[1])
