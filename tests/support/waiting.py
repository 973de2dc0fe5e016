"""Waiting for something to come true, without sleeping for a guessed time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 90.0
"""Seconds until a wait gives up. No step takes as long, so only a condition that stays false ends a wait this way."""


_SHORTEST_S = 0.002
_LONGEST_S = 0.1


def wait_until(predicate: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Ask again and again, with pauses three times as long as the last question took.

    A question may be a call of a server, or a process: without pauses it would take the time of what is waited for.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        asked_at = time.monotonic()
        if predicate():
            return
        now = time.monotonic()
        assert now < deadline, f"it did not come true within {timeout_s:g} seconds"
        time.sleep(min(_LONGEST_S, max(_SHORTEST_S, 3 * (now - asked_at))))


async def until(predicate: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """The same in a test that has an event loop, which continues meanwhile."""
    await asyncio.to_thread(wait_until, predicate, timeout_s)
