"""The one event loop of a process on which its async task functions run; it begins with the first of them.

Heartbeats and log lines of its functions go through one further thread, in order. A server that does not answer then
blocks no other function.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeAlias

log = logging.getLogger(__name__)

Done: TypeAlias = Callable[[Any, BaseException | None], None]
"""Takes the value of a coroutine, or what it raised. It is called on the loop, so it must not wait."""


class TaskLoop:
    """Runs coroutines on a thread of its own."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sends: queue.SimpleQueue[tuple[Callable[[], None], Future[None]]] = queue.SimpleQueue()
        self._sender: threading.Thread | None = None

    def start(self, make: Callable[[], Coroutine[Any, Any, Any]], done: Done) -> Callable[[], None]:
        """Begin a coroutine, and return a function that cancels it. `done` is called with its outcome in any case."""
        loop = self._running()
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            tasks.append(loop.create_task(_carried_out(make, done)))

        def end() -> None:  # after `begin`; the task takes its first step before it is cancelled, so `done` is called
            loop.call_soon(tasks[0].cancel)

        def cancel() -> None:  # waits for nothing: a function may keep the loop to itself
            loop.call_soon_threadsafe(end)

        loop.call_soon_threadsafe(begin)
        return cancel

    def is_here(self) -> bool:
        """Return True if this is the thread of the loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def beside(self, call: Callable[[], None]) -> "Future[None]":
        """Make a call that may take long in the sender thread, after those before it."""
        made: Future[None] = Future()
        self._sends.put((call, made))
        with self._starting:
            if self._sender is None:
                self._sender = threading.Thread(target=self._send, name="dcf-beside-async", daemon=True)
                self._sender.start()
        return made

    def _send(self) -> None:
        while True:
            call, made = self._sends.get()
            try:
                call()
            except Exception:  # what comes after it is sent all the same
                log.exception("A call of an async function was not sent.")
            finally:
                made.set_result(None)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="dcf-async", daemon=True).start()
            return self._loop


async def _carried_out(make: Callable[[], Coroutine[Any, Any, Any]], done: Done) -> None:
    try:
        value = await make()
    except BaseException as error:  # noqa: BLE001 - also CancelledError and SystemExit: whoever waits is told
        done(None, error)
    else:
        done(value, None)


LOOP = TaskLoop()
"""The loop of this process."""
