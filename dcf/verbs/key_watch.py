"""Ends long polls and event streams of a key once that key is revoked or has expired.

Other calls end in a moment anyway. A call that changes something must not be broken off, since its caller would not
learn its outcome.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from dcf.core.access.model import Caller
from dcf.errors import Unauthorized
from dcf.store.access.api_keys import AccessKeys
from dcf.values.records import record

Answer = TypeVar("Answer")

EVERY_S: Final = 1.0


@dataclass(slots=True, eq=False)
class _Watched:
    """A waiting call: on behalf of which caller, and why the wait was ended, if it was."""

    name: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    failure: Exception | None = None

    def end(self, why: Exception) -> None:
        """Break the wait off."""
        self.failure = why
        self.scope.cancel()


@record(frozen=True, slots=True)
class KeyWatch:
    """Looks at intervals whether the keys of waiting calls are still valid: one task for all, in few round trips."""

    keys: AccessKeys
    every_s: float = field(default_factory=lambda: EVERY_S)
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(2))
    _waiting: set[_Watched] = field(default_factory=set)

    async def keep(self) -> None:
        """Look without end."""
        while True:
            await anyio.sleep(self.every_s)
            await self._look()

    async def during(self, caller: Caller, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what the work answers; break it off and raise Unauthorized when the key is no longer valid."""
        watched = _Watched(caller.name)
        self._waiting.add(watched)
        try:
            with watched.scope:
                answer = await work()
        finally:
            self._waiting.discard(watched)
        if watched.failure is not None:
            raise watched.failure.with_traceback(None)  # the same error may end many waits
        if not await anyio.to_thread.run_sync(self.keys.holds, caller, limiter=self.threads):
            raise _ended()
        return answer

    async def _look(self) -> None:
        names = {watched.name for watched in self._waiting}
        if not names:
            return
        try:
            still_held = await anyio.to_thread.run_sync(self.keys.which_hold, names, limiter=self.threads)
        except Exception as error:  # noqa: BLE001 - told to those who wait: whether they may is not known
            for watched in set(self._waiting):
                watched.end(error)
            return
        for watched in set(self._waiting):
            if watched.name in names and watched.name not in still_held:
                watched.end(_ended())


def _ended() -> Unauthorized:
    return Unauthorized("The API key of this call was revoked or has expired.")
