"""Ends what waits on behalf of a key once that key is revoked or has expired: long polls and event streams.

Other calls end by themselves in a moment, and one that changes something must not be broken off, since its caller
would not learn what it did.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from dcf.core.access import Caller
from dcf.errors import Unauthorized
from dcf.store.access_keys import AccessKeys

Answer = TypeVar("Answer")

EVERY_S: Final = 1.0
_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class KeyWatch:
    """Looks at intervals whether the keys of those who wait still hold: once for all who wait with one key."""

    keys: AccessKeys
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(2))
    _seen: dict[str, float] = field(default_factory=dict)

    async def during(self, caller: Caller, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what the work answers; break it off and raise Unauthorized when the key does not hold any more."""
        answers: list[Answer] = []
        failures: list[Exception] = []
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                try:
                    await self._wait_until_gone(caller)
                    failures.append(_ended())
                except Exception as error:  # noqa: BLE001 - raised below, outside the task group
                    failures.append(error)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                answers.append(await work())
            except Exception as error:  # noqa: BLE001 - raised below, outside the task group
                failures.append(error)
            tasks.cancel_scope.cancel()
        if failures:
            raise failures[0]
        if not await self._holds(caller):
            raise _ended()
        return answers[0]

    async def _wait_until_gone(self, caller: Caller) -> None:
        while True:
            await anyio.sleep(EVERY_S)
            if not await self._held_lately(caller):
                return

    async def _held_lately(self, caller: Caller) -> bool:
        if time.monotonic() - self._seen.get(caller.name, -EVERY_S) < EVERY_S:
            return True
        return await self._holds(caller)

    async def _holds(self, caller: Caller) -> bool:
        if not await anyio.to_thread.run_sync(self.keys.holds, caller, limiter=self.threads):
            return False
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[caller.name] = time.monotonic()
        return True


def _ended() -> Unauthorized:
    return Unauthorized("The API key of this call was revoked or has expired.")
