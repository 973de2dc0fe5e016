"""An event loop for which time passes as fast as for the lab's Redis: what waits for a minute there waits for 3 s."""

import asyncio
import selectors
import time
from types import SimpleNamespace
from typing import Any

from dcf.hosting import reserving
from dcf.values.instants import SECOND
from lab.server_time import FACTOR, SharedTime
from lab.turn_notes import clock


class _FastSelector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> Any:
        """Wait for a part of what the loop wants to wait."""
        return super().select(None if timeout is None else timeout / FACTOR)


class FastLoop(asyncio.SelectorEventLoop):
    """The loop."""

    def __init__(self) -> None:
        super().__init__(_FastSelector())

    def time(self) -> float:
        """Return a time that passes fast."""
        return super().time() * FACTOR


def hurry(shared: SharedTime) -> None:
    """Let the host's reservations, in this process, read the same time."""
    fast = SimpleNamespace(monotonic=lambda: time.monotonic() * FACTOR, time=lambda: shared.of(clock()) / SECOND)
    vars(reserving)["time"] = fast
