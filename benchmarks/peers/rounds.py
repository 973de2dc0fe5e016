"""The rounds: every system has its turn, one after the other, and then again, so that other load meets all alike."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from benchmarks.peers.crew import TookTooLong
from benchmarks.peers.environments import NotInstalled
from benchmarks.peers.killing import Killed, kill_a_worker
from benchmarks.peers.programs.parts import Options
from benchmarks.peers.redis_cluster import redis_cluster
from benchmarks.peers.redis_server import redis_server
from benchmarks.peers.systems import Place, System
from benchmarks.peers.turns import Bench, Sample, Shape, hand_over, measure

_ALL: Final[tuple[Shape, ...]] = ("chain", "dag", "map")
_SIDE_BY_SIDE: Final[tuple[Shape, ...]] = ("dag", "map")
SETTINGS: Final = ((1, 1, _ALL), (1, 10, _ALL), (2, 1, _SIDE_BY_SIDE), (4, 1, _SIDE_BY_SIDE), (8, 1, _SIDE_BY_SIDE))
"""Workers, concurrency of each, and what they carry out; several workers gain nothing in a chain."""

NO_CONCURRENCY: Final = "a worker does one step at a time"

Say = Callable[[str], None]


@dataclass(slots=True)
class Found:
    """The measurements, and the reasons for those that are missing: `gaps` by system, workers and concurrency."""

    rounds: list[list[Sample]] = field(default_factory=list)
    hand_overs: dict[str, list[float]] = field(default_factory=dict)
    killed: list[Killed] = field(default_factory=list)
    gaps: dict[str, str] = field(default_factory=dict)
    load: list[float] = field(default_factory=list)

    def skip(self, system: System, subject: str, error: Exception | str) -> None:
        """Note why a system has no figure."""
        self.gaps[f"{system.name} {subject}"] = str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure, and until when (a time of `time.monotonic`)."""

    systems: Sequence[System]
    rounds: int
    repeats: int
    until: float
    say: Say


def available(plan: Plan, place: Place, result: Found) -> list[System]:
    """Return the systems that can be started here; installs what is missing."""
    usable = []
    for system in plan.systems:
        try:
            system.start(place, Options(redis_url="redis://127.0.0.1:1"))
        except NotInstalled as error:
            plan.say(f"{system.title}: left out, {error}")
            result.skip(system, "at all", error)
        else:
            usable.append(system)
    return usable


def take_turns(bench: Bench, plan: Plan, systems: Sequence[System], result: Found) -> None:
    """Measure round after round; no round begins that would probably not end in time."""
    longest = 0.0
    for number in range(plan.rounds):
        began = time.monotonic()
        if number and began + longest > plan.until:
            plan.say(f"no time for round {number + 1}")
            return
        result.load.append(os.getloadavg()[0])
        samples: list[Sample] = []
        result.rounds.append(samples)
        for workers, concurrency, shapes in SETTINGS:
            for system in systems:
                options = Options(redis_url=bench.url_of(system), workers=workers, concurrency=concurrency)
                _turn(bench, plan, system, options, shapes, result)
        longest = max(longest, time.monotonic() - began)


def _turn(bench: Bench, plan: Plan, system: System, options: Options, shapes: Sequence[Shape], result: Found) -> None:
    crew = "one worker" if options.workers == 1 else f"{options.workers} workers"
    text = f"with {crew} at concurrency {options.concurrency}"
    if f"{system.name} {text}" in result.gaps:
        return
    if options.concurrency > 1 and not system.has_concurrency():
        result.skip(system, text, NO_CONCURRENCY)
        return
    if time.monotonic() > plan.until:
        result.skip(system, text, "the time of the benchmark was over")
        return
    words = []
    try:
        for sample in measure(bench, system, options, shapes, plan.repeats):
            result.rounds[-1].append(sample)
            words.append(f"{sample.shape} {sample.steps / sample.seconds:,.0f}")
    except (TookTooLong, NotInstalled) as error:
        result.skip(system, text, error)
        words.append(str(error))
    plan.say(f"round {len(result.rounds)}, {system.title} {text}: {', '.join(words)}")


def hand_work_over(bench: Bench, plan: Plan, systems: Sequence[System], result: Found) -> None:
    """Measure in each round how long work takes from one worker to another."""
    for _ in range(plan.rounds):
        for system in systems:
            if time.monotonic() > plan.until or not system.wakes or f"{system.name} handing over" in result.gaps:
                continue
            try:
                result.hand_overs.setdefault(system.name, []).extend(hand_over(bench, system))
            except (TookTooLong, NotInstalled) as error:
                result.skip(system, "handing over", error)
    plan.say("hand-overs are measured")


def kill_workers(place: Place, plan: Plan, systems: Sequence[System], outcome: Found) -> None:
    """Kill a worker of each system, all at the same time, since they wait rather than work; each has its own Redis."""

    def kill(system: System) -> Killed | Exception:
        try:
            start = redis_cluster if system.on_cluster else redis_server
            with start(place.folder / f"redis-{system.name}") as url:
                return kill_a_worker(Bench(url, place, url), system)
        except (TookTooLong, NotInstalled) as error:
            return error

    with ThreadPoolExecutor(max_workers=len(systems)) as threads:
        for system, result in zip(systems, threads.map(kill, systems), strict=True):
            if isinstance(result, Exception):
                outcome.skip(system, "with a killed worker", result)
            else:
                outcome.killed.append(result)
    plan.say("workers were killed")
