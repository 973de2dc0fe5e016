"""Circuit breaker for an agent platform that does not answer, so that deliveries do not all wait for its timeout.

After a few failures in a row it lets one delivery through per pause, and the pauses grow until one succeeds. The other
notifications stay in the outbox. This module must not choose recipients.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from dcf.ports import Deliverer, Delivery, Undelivered
from dcf.values.json_text import Json
from dcf.values.records import record

_TOLERATED: Final = 3
"""Failures in a row after which the breaker opens."""

_FIRST_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 60.0
_SAYS_NOTHING: Final = frozenset({Undelivered.UNDER_WAY})
"""Outcomes that were decided without asking the platform; they say nothing about its health."""


@record(frozen=True, slots=True, kw_only=True)
class OpenBreaker:
    """A platform that does not answer: for how long, how many calls in a row, and the latest error in words."""

    for_s: float
    failures: int
    error: str


class Breaker:
    """Decides whether a platform may be called; `monotonic` is the clock, in seconds. Thread-safe."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._since = 0.0
        self._error = ""

    def admit(self) -> float:
        """Return 0.0 if the caller may call the platform, else the seconds after which to try again."""
        with self._lock:
            now = self._monotonic()
            if self._failures < _TOLERATED:
                return 0.0
            if self._until > now:
                return self._until - now
            self._until = now + self._pause_s()  # this caller tries; the others wait for its result
            return 0.0

    def note(self, *, answered: bool, error: str | None = None) -> None:
        """Record whether the platform answered a call that `admit` allowed, and if it did not, the error in words."""
        with self._lock:
            if not self._failures:
                self._since = self._monotonic()
            self._failures = 0 if answered else self._failures + 1
            self._error = error or ""
            if self._failures >= _TOLERATED:
                self._until = self._monotonic() + self._pause_s()

    def trouble(self) -> OpenBreaker | None:
        """Return since when the platform does not answer; None while calls are let through."""
        with self._lock:
            if self._failures < _TOLERATED:
                return None
            return OpenBreaker(
                for_s=self._monotonic() - self._since,
                failures=self._failures,
                error=self._error or "It did not answer.",
            )

    def _pause_s(self) -> float:
        doublings = min(self._failures - _TOLERATED, 10)
        return min(_FIRST_PAUSE_S * float(2**doublings), _LONGEST_PAUSE_S)


class GuardedDeliverer:
    """A platform behind a breaker."""

    def __init__(self, platform: Deliverer, breaker: Breaker) -> None:
        self._platform = platform
        self._breaker = breaker
        self.is_remote = platform.is_remote

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Deliver the event, unless the breaker is open."""
        pause_s = self._breaker.admit()
        if pause_s:
            return Delivery(
                failure=Undelivered.PLATFORM_UNAVAILABLE,
                error="The agent platform did not answer several times in a row and is left alone for a while.",
                retry_after_s=pause_s,
            )
        delivery = self._platform.deliver(agent_id, event_id, event)
        if delivery.failure not in _SAYS_NOTHING:
            answered = delivery.failure is not Undelivered.PLATFORM_UNAVAILABLE
            self._breaker.note(answered=answered, error=delivery.error)
        return delivery
