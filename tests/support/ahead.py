"""Time that a test lets run ahead of the server's, so that no test waits for a lease, a retry or a Wait to end."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcf.core.leasing.attention import NEVER
from dcf.store.keys.parts import decode_state
from dcf.values.instants import SECOND, from_text

if TYPE_CHECKING:
    from tests.support.world import World

RUN = ""


@dataclass(slots=True)
class Ahead:
    """The server's time, in microseconds, and what the test let pass on top of it."""

    passed: int = 0

    def __call__(self, micros: int) -> int:
        return micros + self.passed

    def to(self, due: float, now: int) -> None:
        self.passed += max(0, int(due) - now)


def let_pass(world: "World", seconds: int) -> None:
    """Let so much time pass."""
    assert world.clock is not None, "this world has the server's time only"
    world.clock.passed += seconds * SECOND


def passed(world: "World") -> int:
    """How much time the test let pass so far, in microseconds: however long the machine takes, it stays the same."""
    assert world.clock is not None, "this world has the server's time only"
    return world.clock.passed


def now(world: "World") -> int:
    """The time that decisions see."""
    seconds, micros = world.ask("TIME")
    served = int(seconds) * 1_000_000 + int(micros)
    return served if world.clock is None else world.clock(served)


def timers(world: "World", run: str) -> dict[str, float]:
    """The timers of a run, the earliest first."""
    answer = world.ask("ZRANGE", world.store.keys(run).timers, 0, -1, "WITHSCORES")
    return {decode_state(part.decode()): float(at) for part, at in zip(answer[::2], answer[1::2], strict=True)}


def deadline(world: "World", run: str) -> float:
    """The time at which the machine's own TimeoutSeconds have passed."""
    return from_text(world.meta(run).get("deadline")) or NEVER


def due(world: "World", run: str) -> list[str]:
    """The states at which the timer loop must look now; RUN is the run itself."""
    at = now(world)
    over = [RUN] if deadline(world, run) <= at else []
    return over + [member for member, when in timers(world, run).items() if when <= at]


def until_next(world: "World", run: str) -> list[str]:
    """Let time run until the timer loop must look again; return at what, or nothing, if that never comes."""
    assert world.clock is not None, "this world has the server's time only"
    first = min(next(iter(timers(world, run).values()), NEVER), deadline(world, run))
    if first >= NEVER:
        return []
    world.clock.to(first, now(world))
    return due(world, run)


def look_at(world: "World", run: str, member: str) -> None:
    if member == RUN:
        world.plane.time_out(run)
    else:
        world.plane.look(run, member)


def look(world: "World", run: str, *, times: int = 1) -> None:
    """Let time run to the next look, and look, this number of times."""
    for _ in range(times):
        for member in until_next(world, run):
            look_at(world, run, member)
