"""A pool whose connections break now and then just when a transaction was applied, before its answer is read."""

import random
from collections.abc import Callable
from typing import Any, Final

import redis

from dcf.store.connection.connections import Pool
from tests.support.redis.between import PoolBetween, Replied, Sending

_APPLIES: Final = b"\r\nEXEC\r\n"


class LosingPool(PoolBetween):
    """Loses the answers to a given percentage of transactions."""

    def __init__(self, pool: Pool, percent: int) -> None:
        super().__init__(pool)
        self._percent = percent
        self._luck = random.Random()

    def between(self) -> tuple[Sending, Replied]:
        """Note which packet applies a transaction, and lose what Redis answered to some of them."""
        is_lost = False

        def noting(packet: bytes) -> bytes:
            nonlocal is_lost
            is_lost = _APPLIES in packet and self._luck.randrange(100) < self._percent
            return packet

        def losing(reply: Any) -> Any:
            if is_lost:
                raise redis.ConnectionError("the lab lost the answer")
            return reply

        return noting, losing


def losing(around: Callable[[Any], Pool], percent: int) -> Callable[[Any], Pool]:
    """Return what puts lost answers around a pool, outside of something else."""
    return lambda pool: LosingPool(around(pool), percent)
