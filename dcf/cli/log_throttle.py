"""Keeps a server's log small when somebody makes it write the same line over and over.

Lines count as the same if one place in the code writes them, whatever they say: what they say can come from a caller.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 1000


@dataclass(slots=True)
class _Lines:
    since: float
    written: int = 0
    left_out: int = 0


class LogThrottle(logging.Filter):
    """Lets `burst` lines of each place pass in `window_s` seconds, and says with the next one how many it left out."""

    def __init__(self, burst: int = 5, window_s: float = 10.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._burst = burst
        self._window_s = window_s
        self._monotonic = monotonic
        self._places: dict[tuple[str, str, int], _Lines] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for a line too many; cut a long one, and add how many were left out before it."""
        with self._lock:
            before = self._admit((record.name, record.pathname, record.lineno))
        if before is None:
            return False
        text = record.getMessage()
        cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        if before or cut is not text:
            record.msg, record.args = f"{cut} ({before} more like this were left out)" if before else cut, ()
        return True

    def _admit(self, key: tuple[str, str, int]) -> int | None:
        """Return how many lines were left out before this one; None if it is left out too."""
        now = self._monotonic()
        place = self._places.get(key)
        left_out = 0
        if place is None or now - place.since >= self._window_s:
            left_out = 0 if place is None else place.left_out
            place = self._places[key] = _Lines(since=now)
        if place.written >= self._burst:
            place.left_out += 1
            return None
        place.written += 1
        return left_out


def throttle_logs() -> None:
    """Throttle what this process logs, of dcf and of uvicorn; call it when both have set their logging up."""
    throttle = LogThrottle()
    for logger in (logging.getLogger(), logging.getLogger("uvicorn"), logging.getLogger("uvicorn.access")):
        for handler in logger.handlers:
            handler.addFilter(throttle)
