"""`python -m benchmarks.cluster`: dcf on a Redis Cluster and on one server, and the load that larger clusters carry.

All on loopback, with the cores there are: workers, one server, a cluster of three primaries, and one whose primaries
have replicas. They take turns, so that other load meets all alike; read ratios. The costs of a step by family of keys
are measured on the cluster, and what larger ones carry is calculated from them (`shards`).
"""

import argparse
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from benchmarks import cluster_tables, workloads
from benchmarks.cluster_costs import STEPS_OF_RUN, Cost, claims, cost_of, hand_overs, looks, steps
from benchmarks.cluster_load import PLACES, Turn, at_places, take_turns
from benchmarks.measuring import commit
from benchmarks.peers.redis_cluster import ClusterProbe, redis_cluster
from dcf.application.application import Application, open_application
from dcf.settings.process import Settings

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "explanation" / "scaling-figures.md"
BEGIN: Final = "<!-- figures: written by python -m benchmarks.cluster -->"
END: Final = "<!-- end of figures -->"
_CLAIMS: Final = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost of each kind of work by family, the bytes that a live run keeps, and the version of Redis."""

    costs: Mapping[str, Mapping[str, Cost]]
    bytes_of_run: float
    redis: str


def measure_costs(folder: Path, rounds: int, runs: int) -> Measured:
    """Measure on a cluster of three, with a number of runs for the count of commands and of rounds for CPU."""
    with redis_cluster(folder) as url, open_application(Settings(redis_url=SecretStr(url))) as app:
        probe = ClusterProbe(url)

        def settled() -> None:
            for _ in range(3):
                app.clock.pulse()

        def ready() -> None:
            settled()
            for _ in range(_CLAIMS):
                workloads.create(app.control_plane, workloads.chain(1))

        steps(STEPS_OF_RUN, 1)(app)
        request: dict[str, tuple[Callable[[Application], int], Callable[[], None]]] = {
            cluster_tables.CLAIMED: (steps(STEPS_OF_RUN, runs), settled),
            cluster_tables.HANDED: (hand_overs(STEPS_OF_RUN, runs), settled),
            cluster_tables.SOUGHT: (claims(_CLAIMS), ready),
            cluster_tables.LOOK: (looks(_CLAIMS), settled),
        }
        costs = {name: cost_of(app, probe, work, rounds, prepare) for name, (work, prepare) in request.items()}
        return Measured(costs, _bytes_of_run(app, probe, 10 * runs), probe.version())


def _bytes_of_run(app: Application, probe: ClusterProbe, count: int) -> float:
    """Return the bytes of memory of a run half of whose steps are done."""
    before = probe.used_memory()
    for _ in range(count):
        run = workloads.create(app.control_plane, workloads.chain(STEPS_OF_RUN))
        claim = workloads.claim(app.control_plane, run)
        for _ in range(STEPS_OF_RUN // 2):
            claimed = workloads.complete(app.control_plane, run, claim, {"way": 7}, claim_next=True).claimed
            assert claimed is not None, "only half of the run is done"
            claim = claimed
    return (probe.used_memory() - before) / count


def measure_throughput(
    folder: Path, *, rounds: int, workers: int, length: int, places: Iterable[str] = PLACES
) -> list[list[Turn]]:
    """Return the turns of each round: of each place, a chain and a dag."""
    shapes = {"chain": workloads.chain(length), "dag": workloads.parallel_diamonds(max(1, length // 22), 20, 10)}
    with at_places(folder, workers, places) as result:
        return [list(take_turns(result, shapes)) for _ in range(rounds)]


def heading(version: str, load: Sequence[float]) -> str:
    """Return when, with what and where it was measured."""
    loads = ", ".join(f"{item:.1f}" for item in load)
    return (
        f"{datetime.now(UTC).date().isoformat()}, dcf {commit()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, Redis {version} with AOF every second; "
        f"load of the machine before and after: {loads}."
    )


def report(*, rounds: int, workers: int, length: int, runs: int, live: int) -> Iterator[str]:
    """Measure, and yield the lines of the document."""
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="dcf-cluster-") as folder:
        turns = measure_throughput(Path(folder), rounds=rounds, workers=workers, length=length)
        measured = measure_costs(Path(folder) / "costs", rounds, runs)
    load.append(os.getloadavg()[0])
    yield from (heading(measured.redis, load), "")
    yield from cluster_tables.throughput(turns, workers)
    yield from cluster_tables.costs(measured.costs)
    yield from cluster_tables.sizes(measured.costs, measured.bytes_of_run, live)


def write(document: Path, lines: Sequence[str], begin: str = BEGIN) -> None:
    """Put the lines between the marks of a document."""
    before, _, rest = document.read_text("utf-8").partition(begin)
    after = rest.partition(END)[2]
    document.write_text("\n".join([f"{before}{begin}", "", *lines, "", f"{END}{after}"]), "utf-8")


def read_options() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often each place has its turn (default 7)")
    parser.add_argument("--workers", type=int, default=4, help="processes that work at the same time (default 4)")
    parser.add_argument("--length", type=int, default=200, help="steps of a chain (default 200)")
    parser.add_argument("--runs", type=int, default=10, help="runs whose commands are counted (default 10)")
    parser.add_argument("--live", type=int, default=100_000, help="runs of the calculation (default 100,000)")
    parser.add_argument("--dry", action="store_true", help="print the tables, write no file")
    return parser.parse_args()


def main() -> None:
    """Measure and write docs/explanation/scaling-figures.md."""
    namespace = read_options()
    lines = list(
        report(
            rounds=namespace.rounds,
            workers=namespace.workers,
            length=namespace.length,
            runs=namespace.runs,
            live=namespace.live,
        )
    )
    print("\n".join(lines))
    if not namespace.dry:
        write(DOCUMENT, lines)


if __name__ == "__main__":
    main()
