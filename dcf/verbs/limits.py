"""Limits for each caller: its rates, as the look-up of its key has counted them, and its concurrent calls.

The rates of a key are counted in Redis, once for all servers (`store/access/api_keys.py`). Concurrent calls are counted
in this process, which they protect; so are the calls that Redis could not count. The local user has no limit: who
starts the server can also stop it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from dcf.core.access.model import Caller
from dcf.core.access.quotas import Account
from dcf.errors import RateLimited
from dcf.settings.process import Settings

_CALLERS = 10_000
"""Callers that are remembered; the one idle for longest is dropped and starts again with a full bucket."""

_BUSY_RETRY_S = 1.0

_THREADS = 16
"""Concurrent calls of one caller; its other calls wait for these, and other callers do not."""


@dataclass(slots=True)
class _Turns:
    tokens: float
    at: float
    running: int = 0
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))


@dataclass(slots=True)
class Meter:
    """A count of running calls for each caller, and a token bucket for the calls that Redis did not count."""

    rate_per_s: float
    burst: int
    concurrency: int
    monotonic: Callable[[], float] = time.monotonic
    _accounts: OrderedDict[str, _Turns] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def turn(self, caller: Caller) -> Iterator[anyio.CapacityLimiter | None]:
        """Count one call within the context; raise RateLimited when it is one too many.

        Yields the limiter of threads that the call may use, None for the shared one.
        """
        if caller.local:
            yield None
            return
        refuse_excess(caller)
        account = self._admit(caller.name, counts=caller.account is None or not caller.account.was_counted)
        try:
            yield account.threads
        finally:
            with self._lock:
                account.running -= 1

    def _admit(self, name: str, *, counts: bool) -> _Turns:
        with self._lock:
            now = self.monotonic()
            account = self._accounts.setdefault(name, _Turns(tokens=self.burst, at=now))
            self._accounts.move_to_end(name)
            account.tokens = min(self.burst, account.tokens + (now - account.at) * self.rate_per_s)
            account.at = now
            if account.running >= self.concurrency:
                raise RateLimited(f"More than {self.concurrency} calls at once.", retry_after_s=_BUSY_RETRY_S)
            if counts and account.tokens < 1:
                wait = round((1 - account.tokens) / self.rate_per_s, 3)
                raise RateLimited(f"More than {self.rate_per_s:g} calls a second.", retry_after_s=max(wait, 0.001))
            account.tokens -= 1 if counts else 0
            account.running += 1
            self._forget()
            return account

    def _forget(self) -> None:
        """Drop the account that was unused for longest, unless one of its calls is running."""
        if len(self._accounts) > _CALLERS:
            name, account = next(iter(self._accounts.items()))
            if account.running == 0:
                del self._accounts[name]


def refuse_excess(caller: Caller) -> None:
    """Raise RateLimited where the look-up of the caller's key found this call to be one too many."""
    account = caller.account
    if account is None or not account.over:
        return
    raise RateLimited(_told(account), retry_after_s=max(round(account.wait_s, 3), 0.001))


def _told(account: Account) -> str:
    quotas = account.quotas
    if account.over == "events":
        return f"More than {quotas.events_per_s:g} events of runs a second, over all servers."
    return f"More than {quotas.calls_per_s:g} calls a second, over all servers."


def meter_of(settings: Settings) -> Meter:
    """Return the meter for these settings."""
    return Meter(rate_per_s=settings.rate_per_s, burst=settings.rate_burst, concurrency=settings.max_concurrency)
