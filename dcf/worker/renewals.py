"""Renews the leases that a worker holds while its functions run, all of them on one thread. Decides nothing else."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dcf.errors import DcfError

if TYPE_CHECKING:
    from dcf.worker.calls import Work

log = logging.getLogger(__name__)

_IDLE_S: Final = 60.0
"""How long the thread stays without a lease to renew. A program may serve functions again and again."""


@dataclass(slots=True)
class _HeldLease:
    """A lease that is renewed: when it is next, how often, and what is called if it is lost.

    `soon_s` is set until it was renewed once, if it is short until then.
    """

    work: "Work"
    every_s: float
    soon_s: float | None
    lost: Callable[[str], None]
    due: float = 0.0

    def put_off(self) -> None:
        """Set when it is renewed next, from now on."""
        self.due = time.monotonic() + (self.every_s if self.soon_s is None else min(self.every_s, self.soon_s))


class Renewals:
    """Calls `renew` for each lease in hand every so many seconds. It returns why the lease is lost, or None."""

    def __init__(self, renew: Callable[["Work"], str | None], every_s: float, idle_s: float = _IDLE_S) -> None:
        self._renew = renew
        self._idle_s = idle_s
        self._every_s = every_s
        self._changed = threading.Condition()
        self._held: dict[str, _HeldLease] = {}
        self._next: float | None = None
        self._thread: threading.Thread | None = None

    def hold(self, work: "Work", lost: Callable[[str], None]) -> None:
        """Renew the lease from now on: three times before HeartbeatSeconds pass, if the state has them.

        So it is with the seconds within which the server wants a sign, until a renewal was one.
        """
        every_s = self._every_s if work.heartbeat_s is None else min(self._every_s, work.heartbeat_s / 3)
        lease = _HeldLease(work, every_s, None if work.sign_within_s is None else work.sign_within_s / 3, lost)
        lease.put_off()
        with self._changed:
            self._held[work.token] = lease
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dcf-renewals", daemon=True)
                self._thread.start()
            elif self._next is None or lease.due < self._next:  # otherwise it wakes before this one is due
                self._changed.notify()

    def let_go(self, work: "Work") -> None:
        """Renew the lease no more. A renewal that ends later does no harm."""
        with self._changed:
            self._held.pop(work.token, None)

    def _run(self) -> None:
        while due_leases := self._wait():
            for lease in due_leases:
                self._try(lease)

    def _wait(self) -> list[_HeldLease]:
        """Wait until leases are due, and return them. None are returned, and the thread ends, if none is held."""
        with self._changed:
            while True:
                now = time.monotonic()
                self._next = min((lease.due for lease in self._held.values()), default=None)
                if self._next is not None and self._next <= now:
                    break
                is_told = self._changed.wait(self._idle_s if self._next is None else self._next - now)
                if self._next is None and not is_told and not self._held:
                    self._thread = None
                    return []
            due_leases = [lease for lease in self._held.values() if lease.due <= now]
            for held_lease in due_leases:
                held_lease.put_off()
            return due_leases

    def _try(self, held_lease: _HeldLease) -> None:
        work = held_lease.work
        try:
            refusal = self._renew(work)
        except DcfError as error:
            log.warning("%s/%s: lease not renewed: %s", work.workflow_id, work.state, error.message)
            return
        except Exception:  # the other leases are renewed all the same
            log.exception("%s/%s: lease not renewed", work.workflow_id, work.state)
            return
        if refusal is None:
            held_lease.soon_s = None
            held_lease.put_off()
            return
        with self._changed:
            is_held = self._held.pop(work.token, None) is not None
        if is_held:
            log.warning("%s/%s: lease lost: %s", work.workflow_id, work.state, refusal)
            held_lease.lost(refusal)
