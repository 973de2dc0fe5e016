"""Delivers notifications on threads of its own: neither a caller nor the timer loop waits for an agent platform.

A few threads are enough, since the circuit breaker soon refuses calls to a platform that does not answer. What is not
delivered when the process ends stays in the outbox, and another process delivers it.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from queue import SimpleQueue
from typing import Final, Protocol

from dcf.errors import DcfError, StoreUnavailable
from dcf.store.connection.reserve import freeing

_log = logging.getLogger(__name__)

THREADS: Final = 4
"""Deliveries to one platform at the same time."""

_GRACE_S: Final = 3.0
"""Seconds for which the end of the process waits for deliveries that are under way."""


class Further(Protocol):
    """Where deliveries are handed on, which is waited for and closed with the threads."""

    def wait(self, timeout_s: float) -> int:
        """Wait until everything is done, at most `timeout_s`. Return how many notifications were handled."""
        ...

    def close(self) -> None:
        """Take no more, and wait briefly."""
        ...


def _delivered(deliver: Callable[[str], int], workflow_id: str) -> int:
    """Deliver, also where Redis is full: what enters an inbox leaves the outbox, and ended runs wait for it."""
    try:
        return deliver(workflow_id)
    except StoreUnavailable as error:
        if not error.is_full:
            raise
        with freeing():
            return deliver(workflow_id)


class DeliveryThreads:
    """Calls `deliver` with runs that have undelivered notifications: on its threads, or at once if it has none.

    `deliver` returns how many notifications it handled. A queued run is not queued again. A run that is being delivered
    is delivered once more afterwards, since it may have new notifications by then. The history names the caller that
    handed the run over.
    """

    def __init__(self, deliver: Callable[[str], int], threads: int = THREADS, further: "Further | None" = None) -> None:
        """Deliver on `threads` threads; `further` is where deliveries may pass something on."""
        self._deliver = partial(_delivered, deliver)
        self._further = further
        self._most = threads
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[tuple[str, Context] | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._queued: set[str] = set()
        self._under_way: set[str] = set()
        self._again: dict[str, Context] = {}
        self._done = 0
        self._closed = False

    def hand_over(self, workflow_id: str) -> int:
        """Have a run's notifications delivered. Return how many were handled; 0 if a thread will do it."""
        if not self._most:
            return self._deliver(workflow_id)
        with self._changed:
            if workflow_id in self._under_way:
                self._again[workflow_id] = copy_context()
            elif workflow_id not in self._queued and not self._closed:
                self._enqueue(workflow_id, copy_context())
        return 0

    def wait(self, timeout_s: float) -> int:
        """Wait until everything handed over is done, at most `timeout_s`. Return how many notifications were handled.

        Each notification is counted in one call only.
        """
        until = time.monotonic() + timeout_s
        with self._changed:
            self._changed.wait_for(lambda: not self._queued and not self._under_way, timeout_s)
            done, self._done = self._done, 0
        return done + (0 if self._further is None else self._further.wait(max(0.0, until - time.monotonic())))

    def close(self) -> None:
        """Take no more runs, and wait briefly for deliveries under way; those that take longer are abandoned."""
        with self._changed:
            self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        until = time.monotonic() + _GRACE_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        if self._further is not None:
            self._further.close()

    def _enqueue(self, workflow_id: str, context: Context) -> None:
        self._queued.add(workflow_id)
        if len(self._threads) < min(self._most, len(self._queued) + len(self._under_way)):
            self._threads.append(threading.Thread(target=self._work, name="dcf-delivery", daemon=True))
            self._threads[-1].start()
        self._queue.put((workflow_id, context))

    def _work(self) -> None:
        while (queued := self._queue.get()) is not None:
            workflow_id, context = queued
            with self._changed:
                self._queued.discard(workflow_id)
                self._under_way.add(workflow_id)
            done = 0 if self._closed else context.run(self._try_to_deliver, workflow_id)
            with self._changed:
                self._done += done
                self._under_way.discard(workflow_id)
                again = self._again.pop(workflow_id, None)
                if again is not None:
                    self._enqueue(workflow_id, again)
                self._changed.notify_all()

    def _try_to_deliver(self, workflow_id: str) -> int:
        try:
            return self._deliver(workflow_id)
        except DcfError as error:
            if not self._closed:
                _log.warning("delivery: run %s: %s: %s", workflow_id, error.code, error.message)
        except Exception:  # noqa: BLE001 - a defect met in one run must not end the deliveries of the others
            if not self._closed:  # after closing, its connections may be closed too
                _log.exception("delivery: run %s", workflow_id)
        return 0
