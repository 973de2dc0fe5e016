"""Makes the clock of a server's host wrong: Python imports this before everything else, if it is on the path."""

import datetime as dt
import os
import time

_AHEAD = int(os.environ["LAB_AHEAD_S"])
_seconds, _nanoseconds = time.time, time.time_ns

time.time = lambda: _seconds() + _AHEAD
time.time_ns = lambda: _nanoseconds() + _AHEAD * 1_000_000_000


class _Wrong(dt.datetime):
    """A datetime whose `now` is that of the wrong clock."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> "_Wrong":
        return cls.fromtimestamp(time.time(), tz)


dt.datetime = _Wrong  # type: ignore[misc]
