"""The event loop of async task functions: what one function does to it keeps no other from being cancelled or sent."""

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any

import pytest

from dcf.worker.loop import TaskLoop

if TYPE_CHECKING:
    from concurrent.futures import Future

LONG = 60.0


def test_a_function_that_blocks_the_loop_delays_no_cancellation_of_the_next_one() -> None:
    loop, door = TaskLoop(), threading.Event()
    ends: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    begun, cancelled = threading.Event(), threading.Event()

    async def hog() -> None:
        begun.set()
        assert door.wait(LONG)

    async def work() -> None:
        await asyncio.sleep(LONG * 10)

    def cancel() -> None:
        loop.start(work, lambda _, error: ends.put(error))()
        cancelled.set()

    loop.start(hog, lambda _, error: None)
    assert begun.wait(LONG)
    threading.Thread(target=cancel, daemon=True).start()
    is_free = cancelled.wait(LONG / 2)
    door.set()
    assert is_free
    assert isinstance(ends.get(timeout=LONG), asyncio.CancelledError), "its end is told, though it hardly began"


def test_a_call_that_fails_beside_the_loop_keeps_none_after_it_from_being_made(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop, made = TaskLoop(), queue.SimpleQueue[Any]()

    def fail() -> None:
        raise ValueError("broken")

    async def work() -> "tuple[Future[None], Future[None]]":
        return loop.beside(fail), loop.beside(lambda: made.put("made"))

    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()
    loop.start(work, lambda value, _: ends.put(value))
    for future in ends.get(timeout=LONG):
        future.result(LONG)
    assert made.get(timeout=LONG) == "made"
    assert "broken" in caplog.text
