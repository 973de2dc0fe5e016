"""Waiting for something to come true, without sleeping for a guessed time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 90.0
"""Seconds until a wait gives up. Nothing takes so long, so only a condition that stays false ends a wait this way."""


def wait_until(predicate: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not predicate():
        assert time.monotonic() < deadline, f"it did not come true within {timeout_s:g} seconds"
        time.sleep(0.002)


async def until(predicate: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """The same in a test that has an event loop, which goes on meanwhile."""
    await asyncio.to_thread(wait_until, predicate, timeout_s)
