"""Asks a question once for all who ask it at the same time.

For health checks: anybody may ask, as often as he likes, and each answer takes a look at Redis.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class SharedQuestion(Generic[Answer]):
    """A question without arguments. Who asks while it is being answered gets that answer."""

    def __init__(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[Answer] | None = None

    async def answer(self) -> Answer:
        """Return the answer; one who goes away takes it from nobody else."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._asked())
        return await asyncio.shield(self._asking)

    async def _asked(self) -> Answer:
        return await self._ask()
