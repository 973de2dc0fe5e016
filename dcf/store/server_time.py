"""Remembers the latest server time that any clock has seen, to detect that the server clock stepped back.

That happens if an operator sets the machine's time, or after a failover to a machine whose clock is behind.
"""

from typing import Final

from dcf.store import keys
from dcf.store.connection import Connections
from dcf.store.documents import micros
from dcf.values.instants import SECOND
from dcf.values.records import record

_SLACK: Final = SECOND


@record(frozen=True, slots=True, kw_only=True)
class ServerInstant:
    """The server time in microseconds; `has_stepped_back` if an earlier reading was later."""

    now: int
    has_stepped_back: bool = False


class ServerTime:
    """The latest server time that was seen. Any number of clocks may use it at once."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self) -> ServerInstant:
        """Return the server time, and record it unless it is earlier than one seen before."""
        clock, seen = self._connections.send(("TIME",), ("GET", keys.SERVER_TIME))
        now = micros(clock)
        if seen is not None and int(seen) > now + _SLACK:
            return ServerInstant(now=now, has_stepped_back=True)
        self._connections.send(("SET", keys.SERVER_TIME, now))
        return ServerInstant(now=now)

    def note(self, now: int) -> None:
        """Record a time by which something was written since the last reading, so that a step back from it shows."""
        self._connections.send(("SET", keys.SERVER_TIME, now))

    def begin_anew(self, now: int) -> None:
        """Forget the latest time, after all times that were set by it have been corrected to those of `now`.

        The time may have stepped back again while they were: then the next reading tells so.
        """
        self._connections.send(("SET", keys.SERVER_TIME, now))
