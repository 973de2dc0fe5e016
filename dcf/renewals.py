"""Renews the leases that a worker holds while its functions run, all of them on one thread. Decides nothing else."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dcf.errors import DcfError

if TYPE_CHECKING:
    from dcf.worker import Work

log = logging.getLogger(__name__)


class Renewals:
    """Calls `renew` for each lease in hand every so many seconds. It returns why the lease is lost, or None."""

    def __init__(self, renew: Callable[["Work"], str | None], every_s: float) -> None:
        self._renew = renew
        self._every_s = every_s
        self._changed = threading.Condition()
        self._due: dict[Work, float] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def holding(self, work: "Work") -> Iterator[None]:
        """Renew the lease during the block; a renewal that ends later does no harm."""
        with self._changed:
            self._due[work] = time.monotonic() + self._every_s
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dcf-renewals", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(work, None)

    def _run(self) -> None:
        while True:
            for work in self._wait():
                self._try(work)

    def _wait(self) -> list["Work"]:
        """Wait until leases are due, and return them. The others stay in order, since all are renewed alike.

        It never waits for longer than until the next one could be due, so nobody needs to wake it for a new lease: that
        would be a change of threads in each step.
        """
        with self._changed:
            while True:
                now, first = time.monotonic(), min(self._due.values(), default=None)
                if first is not None and first <= now:
                    break
                self._changed.wait(self._every_s if first is None else first - now)
            found = [work for work, due in self._due.items() if due <= now]
            self._due |= dict.fromkeys(found, now + self._every_s)
            return found

    def _try(self, work: "Work") -> None:
        try:
            refusal = self._renew(work)
        except DcfError as error:
            log.warning("%s/%s: lease not renewed: %s", work.workflow_id, work.state, error.message)
            return
        with self._changed:
            is_held = refusal is not None and self._due.pop(work, None) is not None
        if is_held:
            log.warning("%s/%s: lease lost: %s", work.workflow_id, work.state, refusal)
