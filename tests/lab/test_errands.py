"""Errands end with their batch: those that look for something give up, and no other begins."""

import threading
from typing import Any, cast

from lab.extras import Bench, Errands
from tests.support.waiting import wait_until

AT_ONCE = 2


class Looking(Errands[int]):
    """Each looks for what never comes."""

    at_once = AT_ONCE

    def __init__(self, bench: Bench) -> None:
        self.looking: list[int] = []
        super().__init__(bench)

    def errand(self, seed: int) -> int:
        self.looking.append(seed)
        self.eventually(lambda: False, 3600)
        return seed


def test_errands_end_when_their_batch_does() -> None:
    ended = threading.Event()
    errands = Looking(Bench(dcf=cast("Any", None), kind=cast("Any", None), seeds=range(20), ended=ended))
    wait_until(lambda: len(errands.looking) == AT_ONCE)
    ended.set()
    assert errands.judge() == []
    assert len(errands.looking) == errands.done == AT_ONCE
