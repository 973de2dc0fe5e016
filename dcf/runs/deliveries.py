"""Delivers what runs owe beside the clock: a platform that is slow or away may keep nobody waiting but its own agents.

A few threads are enough, since whoever waits for a platform that does not answer is soon refused by its breaker. What
is not delivered when the process ends stays owed, and another process delivers it.
"""

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from dcf.errors import DcfError

_log = logging.getLogger(__name__)

THREADS: Final = 4
"""Deliveries to one platform at the same time."""

_GRACE_S: Final = 3.0
"""How long the end of the process waits for deliveries that are under way."""


class DeliveryThreads:
    """Calls `deliver` with the runs that owe something: on threads of its own, or at once where there are none.

    `deliver` returns how many notifications it dealt with. A run that is waiting or under way is not taken twice.
    """

    def __init__(self, deliver: Callable[[str], int], threads: int = THREADS) -> None:
        self._deliver = deliver
        self._most = threads
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._pending: set[str] = set()
        self._done = 0
        self._closed = False

    def hand_over(self, workflow_id: str) -> int:
        """Have a run's notifications delivered; return how many were, 0 where that is left to a thread."""
        if not self._most:
            return self._deliver(workflow_id)
        with self._changed:
            if workflow_id in self._pending or self._closed:
                return 0
            self._pending.add(workflow_id)
            if len(self._threads) < min(self._most, len(self._pending)):
                self._threads.append(threading.Thread(target=self._work, name="dcf-delivery", daemon=True))
                self._threads[-1].start()
        self._queue.put(workflow_id)
        return 0

    def wait(self, timeout_s: float) -> int:
        """Wait until all that was handed over is done, or for so long; return how many notifications were dealt with.

        Each of them is counted once.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._pending, timeout_s)
            done, self._done = self._done, 0
        return done

    def close(self) -> None:
        """Take nothing more, and give what is under way a moment to end; then the process ends without it."""
        with self._changed:
            self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        until = time.monotonic() + _GRACE_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while (workflow_id := self._queue.get()) is not None:
            done = 0 if self._closed else self._try_to_deliver(workflow_id)
            with self._changed:
                self._done += done
                self._pending.discard(workflow_id)
                self._changed.notify_all()

    def _try_to_deliver(self, workflow_id: str) -> int:
        try:
            return self._deliver(workflow_id)
        except DcfError as error:
            if not self._closed:
                _log.warning("delivery: run %s: %s: %s", workflow_id, error.code, error.message)
        except Exception:  # noqa: BLE001 - a defect met in one run must not end the deliveries of the others
            if not self._closed:  # else what it works with was taken away under it
                _log.exception("delivery: run %s", workflow_id)
        return 0
