"""Waiting for something to come true, without sleeping for a guessed time."""

import time
from collections.abc import Callable


def wait_until(predicate: Callable[[], object], timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not predicate():
        assert time.monotonic() < deadline, f"it did not come true within {timeout_s:g} seconds"
        time.sleep(0.002)
