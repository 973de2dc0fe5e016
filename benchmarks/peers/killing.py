"""The outcome of steps, in progress and waiting, when their worker is killed (SIGKILL)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.peers.crew import Crew
from benchmarks.peers.programs.parts import Options
from benchmarks.peers.systems import System
from benchmarks.peers.turns import Bench, notes_of

STEPS: Final = 40
STEP_S: Final = 0.3
LEASE_S: Final = 5
PATIENCE_S: Final = 90.0
_BEGIN_S: Final = 30.0
_POLL_S: Final = 0.02
_AFTERWARDS_S: Final = 1.0
"""Seconds in which a step that is done once too often would still be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """A worker was killed with `in_hand` steps. `lost`: never done while one waited; `repeated`: done more than once.

    `delay_s`: from the kill until the last of those in hand was begun again; None if one never was.
    """

    system: str
    in_hand: int
    lost: int
    repeated: int
    delay_s: float | None
    waited_s: float


def kill_a_worker(bench: Bench, system: System) -> Killed:
    """Kill the only worker amid a Map, start another at once, and watch the steps until all are done."""
    log = bench.place.folder / f"kill-{system.name}-{time.monotonic_ns()}"
    concurrency = 10 if system.has_concurrency() else 1
    options = Options(
        redis_url=bench.url_of(system), concurrency=concurrency, log=str(log), step_s=STEP_S, lease_s=LEASE_S
    )
    with bench.crew(system, options) as crew:
        crew.send({"run": "kill", "shape": "map", "size": STEPS})
        expected = min(STEPS // 4, 3 * concurrency)
        _wait_until(lambda: len(notes_of(log)[1]) >= expected and len(_in_hand(log)) >= concurrency, _BEGIN_S)
        replacements = [worker.command for worker in crew.of("worker")]
        _kill_workers(crew)
        killed_ns, in_hand = time.monotonic_ns(), _in_hand(log)
        crew.start(replacements)
        _wait_until(lambda: len(notes_of(log)[1]) == STEPS, PATIENCE_S)
        time.sleep(_AFTERWARDS_S)
    begun, ended = notes_of(log)
    log.unlink()
    again = [next((when for when in begun[node] if when > killed_ns), None) for node in in_hand]
    return Killed(
        system=system.name,
        in_hand=len(in_hand),
        lost=STEPS - len(ended),
        repeated=sum(len(times) > 1 for times in ended.values()),
        delay_s=None if None in again or not again else (max(when for when in again if when) - killed_ns) / 1e9,
        waited_s=PATIENCE_S,
    )


def _kill_workers(crew: Crew) -> None:
    for worker in crew.of("worker"):
        worker.kill()
        crew.members.remove(worker)


def _in_hand(log: Path) -> set[int]:
    begun, ended = notes_of(log)
    return set(begun) - set(ended)


def _wait_until(true: Callable[[], bool], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and not true():
        time.sleep(_POLL_S)
