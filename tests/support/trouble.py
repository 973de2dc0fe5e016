"""Trouble between a run and its workers: calls made twice, holders that vanish, killed processes."""

import itertools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

import pytest

from dcf.core.documents.answers import NothingReady
from dcf.store.transaction import attempts
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from tests.support.world import World

Answer = TypeVar("Answer")


class Killed(Exception):
    """The process that made the call is gone; what it committed before stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """How often each kind of trouble comes, as a share of the calls."""

    repeated: float = 0.0
    vanished: float = 0.0
    killed: float = 0.0


CALM = Trouble()


@dataclass(slots=True)
class Killer:
    """Counts every commit of a store, and kills there once it knows which."""

    remaining: int | None = None

    def __call__(self) -> None:
        if self.remaining is None:
            return
        if self.remaining == 0:
            self.remaining = None
            raise Killed
        self.remaining -= 1

    @contextmanager
    def before_commit(self, number: int) -> Iterator[None]:
        """Kill before this commit of the block, if it makes as many; 0 is the first."""
        self.remaining = number
        try:
            yield
        finally:
            self.remaining = None


def deadline_after(tries: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return a `deadline_s` that ends a transaction after this number of tries, however long each takes."""
    clock = SimpleNamespace(monotonic=itertools.count().__next__, sleep=time.sleep)
    monkeypatch.setattr(attempts, "time", clock)
    return tries - 0.5


def dies(world: "World", number: int, call: Callable[[], object]) -> bool:
    """Make a call in a process that dies before its commit of this number; whether it came so far."""
    assert isinstance(world.before_commit, Killer)
    try:
        with world.before_commit.before_commit(number):
            call()
    except Killed:
        return True
    return False


@dataclass(slots=True)
class Meanwhile:
    """Stands before every commit of a process; before that of this number another process does something."""

    others: Callable[[], object]
    remaining: int = 0
    happened: bool = False

    def __call__(self) -> None:
        if self.happened:
            return
        if self.remaining == 0:
            self.happened = True
            self.others()
        self.remaining -= 1


@dataclass(slots=True, kw_only=True)
class Fate:
    """Draws from a seed what becomes of each call."""

    luck: random.Random
    trouble: Trouble
    killer: Killer | None = None
    deaths: int = field(default=0)

    def strikes(self, share: float) -> bool:
        return share > 0 and self.luck.random() < share

    def call(self, function: Callable[[], Answer]) -> Answer | None:
        """Make a call, which may be killed on the way (None) or be made twice, with the same reply."""
        if self.killer is not None and self.strikes(self.trouble.killed):
            try:
                with self.killer.before_commit(self.luck.choice((0, 1, 1, 2))):
                    return function()
            except Killed:
                self.deaths += 1
                return None
        answer = function()
        if self.strikes(self.trouble.repeated) and not waits_for_time(answer):
            again = function()
            first, second = told(answer), told(again)
            assert first == second, f"the same request got two different replies: {first}, {second}"
        return answer


def waits_for_time(answer: object) -> bool:
    """A lease may end, or a retry be due, between two calls."""
    if isinstance(answer, Refusal):
        return answer.code in {"lease_held", "not_ready"}
    return isinstance(answer, NothingReady)


def told(answer: object) -> object:
    """The common part of two replies to the same request."""
    names = ("code", "state", "given", "status", "run_status", "next_states", "output_written")
    claimed = getattr(answer, "claimed", None)
    common = {name: getattr(answer, name) for name in names if hasattr(answer, name)}
    return type(answer), common | ({} if claimed is None else {"claimed": (claimed.state, claimed.doc.lease.token)})
