"""Several threads that begin the same thing at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def race(count: int, do: Callable[[int], Result]) -> list[Result]:
    """Run `do(0..count-1)` at once; their results in order. The first exception is raised."""
    start = threading.Barrier(count)

    def run(number: int) -> Result:
        start.wait(30)
        return do(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
