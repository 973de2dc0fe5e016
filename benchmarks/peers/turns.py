"""One turn of one system: its processes are started on an empty Redis, warmed up, measured and ended."""

import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from benchmarks.measuring import Counters, Probe
from benchmarks.peers.crew import Crew, TookTooLong
from benchmarks.peers.programs.parts import Options
from benchmarks.peers.programs.shapes import steps
from benchmarks.peers.redis_cluster import probe_of
from benchmarks.peers.systems import Place, System

Shape = Literal["chain", "dag", "map"]

RUN_S: Final = 20.0
"""Seconds that one run may take; what takes longer is reported as such."""
_WARM_UP: Final = 5
"""This part of the work is done once before."""
_HAND_OVERS: Final = 120
_FIRST: Final = 20
"""Hand-offs that are left out while caches fill."""
_SETTLE_S: Final = 0.3
"""Seconds in which what is left of one system's work ends before the next is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run. CPU is in seconds; `commands`, `reads` and `memory` are the Redis server's (nothing for Restate)."""

    system: str
    workers: int
    concurrency: int
    shape: str
    steps: int
    seconds: float
    submitting: float
    cpu_workers: float
    cpu_servers: float
    cpu_redis: float
    commands: int
    reads: int
    memory: int


@dataclass(frozen=True, slots=True)
class Bench:
    """The Redis that the systems share, the cluster for those that are measured on one, and where their files go."""

    redis_url: str
    place: Place
    cluster_url: str = ""

    def url_of(self, system: System) -> str:
        """Return the URL of the system's Redis."""
        return self.cluster_url if system.on_cluster else self.redis_url

    def probe(self, system: System) -> Probe:
        """Return a client that reads the counters of the system's Redis."""
        return probe_of(self.url_of(system))

    @contextmanager
    def crew(self, system: System, options: Options) -> Iterator[Crew]:
        """Start a system on an empty Redis; end it and everything it left."""
        self.probe(system).empty()
        folder = self.place.folder / f"{system.name}-{time.monotonic_ns()}"
        folder.mkdir(parents=True)
        try:
            commands = system.start(replace(self.place, folder=folder), options)
            with Crew(folder / "log") as crew:
                try:
                    crew.start(commands)
                    yield crew
                except (TookTooLong, BrokenPipeError) as error:
                    raise TookTooLong(f"{error} ({crew.last_words()})") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(_SETTLE_S)


def measure(bench: Bench, system: System, options: Options, shapes: Sequence[Shape], repeats: int) -> Iterator[Sample]:
    """Carry out each shape this number of times."""
    with bench.crew(system, options) as crew:
        _warm_up(crew, system, options, shapes)
        for number in range(repeats):
            for shape in shapes:
                yield _run(bench, crew, system, options, shape, number)


def _warm_up(crew: Crew, system: System, options: Options, shapes: Sequence[Shape]) -> None:
    """Carry out a smaller run of each shape, so that every worker has had work and what is compiled late is."""
    for shape in shapes:
        size = max(1, system.size(shape, options.workers) // _WARM_UP)
        crew.order({"run": f"warm-{shape}", "shape": shape, "size": size}, RUN_S)


def _run(bench: Bench, crew: Crew, system: System, options: Options, shape: Shape, number: int) -> Sample:
    size, probe = system.size(shape, options.workers), bench.probe(system)
    before, redis_before, own, used_memory = _cpu(crew), probe.cpu(), probe.counters(), probe.used_memory()
    answer = crew.order({"run": f"{shape}-{number}", "shape": shape, "size": size}, RUN_S)
    spent, after, used = probe.counters(), _cpu(crew), probe.cpu() - redis_before
    return Sample(
        system=system.name,
        workers=options.workers,
        concurrency=options.concurrency,
        shape=shape,
        steps=steps(shape, size),
        seconds=answer["seconds"],
        submitting=answer["submitting"],
        cpu_workers=after[0] - before[0],
        cpu_servers=after[1] - before[1],
        cpu_redis=used,
        memory=probe.used_memory() - used_memory,
        **_difference(own, spent),
    )


def _cpu(crew: Crew) -> tuple[float, float]:
    return crew.cpu_s("worker"), crew.cpu_s("server")


def _difference(before: Counters, after: Counters) -> dict[str, int]:
    names = ("commands", "reads")
    return {name: getattr(after, name) - getattr(before, name) for name in names}


def hand_over(bench: Bench, system: System) -> list[float]:
    """Return the milliseconds from a step's end in one worker to the start of the next one's in the other."""
    log = bench.place.folder / f"hand-over-{system.name}-{time.monotonic_ns()}"
    options = Options(redis_url=bench.url_of(system), workers=2, queues=2, log=str(log))
    with bench.crew(system, options) as crew:
        crew.order({"run": "hand-over", "shape": "chain", "size": _HAND_OVERS}, 2 * RUN_S)
    begun, ended = notes_of(log)
    log.unlink()
    return [
        (begun[node][0] - ended[node - 1][-1]) / 1e6
        for node in range(_FIRST, _HAND_OVERS)
        if node in begun and node - 1 in ended
    ]


def notes_of(log: Path) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return when each step began and ended, in nanoseconds; more than once if it was repeated."""
    begun: dict[int, list[int]] = {}
    ended: dict[int, list[int]] = {}
    for line in log.read_text("ascii").splitlines() if log.exists() else []:
        subject, node, when, _ = line.split()
        (begun if subject == "begin" else ended).setdefault(int(node), []).append(int(when))
    return begun, ended


def percentile(values: Sequence[float], part: int) -> float:
    """Return a percentile of at least two values."""
    return statistics.quantiles(values, n=100, method="inclusive")[part - 1]
