"""`python -m benchmarks.growth`: the cost of dcf's operations with more and more ended and live runs on one Redis.

Two embedded servers: a small one stays as it is, another is filled step by step (`packed_runs`). Each operation is
timed on both in turns, so that what else the machine does slows both; read the ratios. Neither server writes files.
With `--cluster` they are two clusters of three primaries each.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from benchmarks.growth_cases import CASES, Case
from benchmarks.growth_site import Site
from benchmarks.packed_runs import free_gib
from benchmarks.peers.redis_cluster import redis_cluster
from benchmarks.startup import time_serving
from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.store.connection.opening import connect

_SMALLEST: Final = 500
_STEPS: Final = (1000, 100, 10, 1)
_PATIENCE_S: Final = 3.0
_ROUNDS: Final = 60
_LEAST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The cost of an operation with many runs: ms (lower quartile), commands, and the ratio of both."""

    ms: float
    commands: int
    ratio: float


def sizes(ended: int, live: int) -> list[tuple[int, int]]:
    """Return the steps: how many ended and live runs there are at each."""
    return sorted({(max(_SMALLEST, ended // part), max(_SMALLEST, live // part)) for part in _STEPS})


def measure(
    ended: int, live: int, *, on_cluster: bool = False, rounds: int = _ROUNDS, serve: bool = True
) -> Iterator[tuple[str, list[str]]]:
    """Yield lines of a table: a heading, then each operation with its figures at all steps."""
    steps = sizes(ended, live)
    figureses: dict[str, list[Figure]] = {case.name: [] for case in CASES}
    starts: list[float] = []
    with open_site(on_cluster=on_cluster) as small, open_site(on_cluster=on_cluster) as large:
        small.grow(*steps[0])
        for step in steps:
            _fill(large, *step)
            for case in CASES:
                figure = _compared(case, small, large, rounds)
                figureses[case.name].append(figure)
                say(f"  {case.name}: {figure.ms:.2f} ms, {figure.ratio:.2f} times")
            starts += [min(time_serving(large.app.redis_url) for _ in range(3))] if serve else []
        memory = large.memory
    yield "", [*(f"{ended:,} + {live:,}" for ended, live in steps), "ms at the largest", "commands"]
    for name, figures in figureses.items():
        largest, commands = f"{figures[-1].ms:.2f}", f"{figures[0].commands} → {figures[-1].commands}"
        yield name, [*(f"{figure.ratio:.2f}" for figure in figures), largest, commands]
    if starts:
        yield (
            "`dcf serve` until it listens",
            [*(f"{start / starts[0]:.2f}" for start in starts), f"{starts[-1] * 1000:.0f}", ""],
        )
    for subject, size in memory.items():
        yield f"bytes of {subject}: {size:.0f}", ["" for _ in (*steps, "ms", "commands")]


def _fill(site: Site, ended: int, live: int) -> None:
    """Fill one up to this number of runs, and say on standard error how long that took."""
    began = time.perf_counter()
    site.grow(ended, live)
    took, left = time.perf_counter() - began, free_gib()
    say(f"{ended:,} + {live:,} in {took:.0f} s; {left:.1f} GiB free; load {os.getloadavg()[0]:.1f}")


def say(subject: str) -> None:
    """Tell who waits how far this is."""
    sys.stderr.write(f"{subject}\n")
    sys.stderr.flush()


@contextmanager
def open_site(*, on_cluster: bool) -> Iterator[Site]:
    """Start a server or a cluster that writes no files, with dcf on it, for the duration of the `with` block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dcf-bench-")))
        url = SecretStr(stack.enter_context(redis_cluster(folder / "nodes"))) if on_cluster else None
        app = stack.enter_context(open_application(Settings(data_dir=folder, redis_url=url)))
        connections = stack.enter_context(closing(connect(app.redis_url)))
        for server in connections.servers():
            server.send(("CONFIG", "SET", "save", ""), ("CONFIG", "SET", "appendonly", "no"))
        yield Site(app, connections)


def _compared(case: Case, small: Site, large: Site, rounds: int) -> Figure:
    """Time an operation on both in turns."""
    for site in (small, large):
        case.prepare(site)
        case.work(site)
    case.prepare(large)
    commands = large.probe.spent(lambda: case.work(large)).commands
    times: dict[Site, list[float]] = {small: [], large: []}
    until = time.monotonic() + _PATIENCE_S
    while len(times[large]) < min(_LEAST, rounds) or (len(times[large]) < rounds and time.monotonic() < until):
        for site, taken in times.items():
            taken.append(_timed(case, site))
    few, many = (_lower_quartile(taken) for taken in times.values())
    return Figure(ms=many * 1000, commands=commands, ratio=many / few)


def _timed(case: Case, site: Site) -> float:
    case.prepare(site)
    began = time.perf_counter()
    case.work(site)
    return time.perf_counter() - began


def _lower_quartile(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=4)[0]


def table(lines: Iterator[tuple[str, list[str]]]) -> Iterator[str]:
    """Write the lines as a Markdown table."""
    for number, (name, cells) in enumerate(lines):
        yield f"| {' | '.join([name, *cells])} |"
        if number == 0:
            yield f"|---|{'---:|' * len(cells)}"


def main() -> None:
    """Print the cost of each operation with ended + live runs as a multiple of that on a small server."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--ended", type=int, default=1_000_000, help="most ended runs")
    parser.add_argument("--live", type=int, default=100_000, help="most live runs")
    parser.add_argument("--cluster", action="store_true", help="on clusters of three primaries")
    options = parser.parse_args()
    for line in table(measure(options.ended, options.live, on_cluster=options.cluster)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
