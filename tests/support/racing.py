"""Several threads that begin one call at the same moment, or a thread that keeps disturbing another."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


def race(count: int, do: Callable[[int], Result]) -> list[Result]:
    """Run `do(0..count-1)` at once; their results in order. The first exception is raised."""
    start = threading.Barrier(count)

    def run(number: int) -> Result:
        start.wait(60)
        return do(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@contextmanager
def repeating(do: Callable[[], None]) -> Iterator[None]:
    """Do it again and again in another thread while the block lasts."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            do()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
