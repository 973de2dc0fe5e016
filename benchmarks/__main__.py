"""`python -m benchmarks`: measure, print the table, write it and the figures beside this file."""

import argparse
import json
import platform
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks import workloads
from benchmarks.measuring import Probe, compare
from dcf.application import Application, open_application
from dcf.control_plane import ControlPlane
from dcf.core.answers import Leased
from dcf.core.lease import Acquire, Release, Renew
from dcf.settings import Settings

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. `bound` is the most it may be; None: for information."""

    what: str
    figure: float
    unit: str
    bound: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return self.bound is None or self.figure <= self.bound


class Held:
    """A state that is leased again and again."""

    def __init__(self, plane: ControlPlane, document: dict[str, Any]) -> None:
        self._plane = plane
        self.run = workloads.create(plane, document)
        self.lease = workloads.claim(plane, self.run)
        self.is_held = True

    def free(self) -> None:
        """Make sure that the state is not leased."""
        if self.is_held:
            self.release()

    def hold(self) -> None:
        """Make sure that the state is leased."""
        if not self.is_held:
            self.claim()

    def step(self) -> None:
        """Go on to the next state."""
        answer = workloads.complete(self._plane, self.run, self.lease, {"way": 7}, claim_next=True)
        assert answer.claimed is not None, "the workload is longer than the measurement"
        self.lease = answer.claimed

    def acquire(self) -> None:
        """Lease the state."""
        request = Acquire(state=self.lease.state, owner=workloads.AGENT, token=secrets.token_hex(16), ttl_s=300)
        answer = self._plane.acquire(self.run, request)
        assert isinstance(answer, Leased), answer
        self.lease, self.is_held = answer, True

    def claim(self) -> None:
        """Lease whatever is ready."""
        self.lease, self.is_held = workloads.claim(self._plane, self.run), True

    def renew(self) -> None:
        """Keep the lease."""
        self._plane.renew(self.run, Renew(state=self.lease.state, token=self.lease.doc.lease.token or ""))

    def release(self) -> None:
        """Give the state back."""
        self._plane.release(self.run, Release(state=self.lease.state, token=self.lease.doc.lease.token))
        self.is_held = False

    def complete(self) -> None:
        """Complete the state with an output."""
        workloads.complete(self._plane, self.run, self.lease, {"way": 7}, claim_next=False)
        self.is_held = False


def nothing() -> None:
    """No preparation."""


def measure_operations(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Each verb: round trips and commands as the server counts them, and its time in PINGs."""
    plane = app.control_plane
    one, wide = _at_join(plane, 1), _at_join(plane, 200)
    walk = Held(plane, workloads.chain(3 * rounds + 20))
    rows: list[Row] = []

    def verb(name: str, work: Callable[[], object], prepare: Callable[[], object], bound: float | None = None) -> float:
        # Once uncounted: the first completion in a process loads the definition, which is kept from then on.
        prepare()
        work()
        prepare()
        spent = probe.spent(work)
        timing = compare(probe, work, prepare, rounds)
        rows.append(Row(what=name, figure=round(timing.ratio, 2), unit="PING", bound=bound))
        rows.append(Row(what=name, figure=spent.reads, unit="round trips", bound=2))
        rows.append(Row(what=name, figure=spent.commands, unit="commands"))
        return timing.ratio

    narrow = verb("acquire, 1 upstream", one.acquire, one.free, 4)
    broad = verb("acquire, 200 upstreams", wide.acquire, wide.free, 4)
    rows.append(Row(what="acquire, 200 : 1 upstreams", figure=round(broad / narrow, 2), unit="ratio", bound=1.3))
    verb("renew", one.renew, one.hold)
    verb("release", one.release, one.hold)
    verb("claim", one.claim, one.free)
    verb("complete + claim next", walk.step, nothing, 5)
    verb("update + output (complete)", walk.complete, walk.hold)
    return rows


def _at_join(plane: ControlPlane, upstreams: int) -> Held:
    held = Held(plane, workloads.join(upstreams))
    while held.lease.state != "End":
        held.step()
    return held


def measure_graphs(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Whole runs by one worker: PINGs, commands and bytes for each step, at 50 states and at 1,000."""
    rows = [
        *_graph(app, probe, "chain", workloads.chain(50), workloads.chain(1000), rounds),
        *_graph(app, probe, "diamonds", workloads.diamonds(2, 20, 6), workloads.diamonds(45, 20, 10), rounds),
    ]
    steps, per_step, _ = _run(app, probe, workloads.loop(), lambda step: {"again": step < 999})
    rows.append(Row(what=f"loop of {steps} steps", figure=round(per_step, 2), unit="PING/step", bound=12))
    return rows


def _graph(
    app: Application, probe: Probe, name: str, small: dict[str, Any], large: dict[str, Any], rounds: int
) -> list[Row]:
    size = sum(state["Type"] == "Task" for state in large["asl"]["States"].values())
    smalls, larges = [], []
    for _ in range(rounds):
        smalls += [_run(app, probe, small, _way)[1] for _ in range(8)]
        larges.append(_run(app, probe, large, _way)[1])
    few, many = statistics.median(smalls), statistics.median(larges)
    steps, commands, memory = _cost(app, probe, large)
    return [
        Row(what=f"{name}, {size} tasks ({steps} executed)", figure=round(many, 2), unit="PING/step", bound=12),
        Row(what=f"{name}, 1000 : 50", figure=round(many / few, 2), unit="ratio", bound=1.3),
        Row(what=f"{name}, {size} tasks", figure=round(commands, 1), unit="commands/step", bound=15),
        Row(what=f"{name}, {size} tasks", figure=round(memory), unit="bytes/state", bound=2048),
    ]


def _way(_: int) -> dict[str, int]:
    return {"way": 7}


def _run(
    app: Application, probe: Probe, document: dict[str, Any], output: Callable[[int], Any]
) -> tuple[int, float, float]:
    """Count steps, PINGs per step and seconds per PING; PINGs are timed between the steps, and taken off."""
    workflow_id = workloads.create(app.control_plane, document)
    pings: list[float] = []

    def between(step: int) -> Any:
        if step % 5 == 0:
            pings.append(probe.ping())
        return output(step)

    before = time.perf_counter()
    steps = workloads.carry_out(app.control_plane, workflow_id, between)
    spent = time.perf_counter() - before - sum(pings)
    ping = statistics.median(pings)
    return steps, spent / steps / ping, ping


def _cost(app: Application, probe: Probe, document: dict[str, Any]) -> tuple[int, float, float]:
    steps = 0
    runs: list[str] = []

    def create() -> None:
        runs.append(workloads.create(app.control_plane, document))

    def work() -> None:
        nonlocal steps
        steps = workloads.carry_out(app.control_plane, runs[0], _way)

    made, spent = probe.spent(create), probe.spent(work)
    return steps, spent.commands / steps, (made.memory + spent.memory) / len(document["asl"]["States"])


def measure(fsync: Literal["everysec", "always"], rounds: int) -> list[Row]:
    """All figures on a fresh embedded server."""
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), appendfsync=fsync, redis_url=None)) as app,
    ):
        probe = Probe(app.redis_url)
        for _ in range(2000):
            probe.ping()
        rows = measure_operations(app, probe, rounds)
        return rows + measure_graphs(app, probe, max(3, rounds // 100))


def table(rows: list[Row]) -> str:
    """Write the figures as a Markdown table."""
    lines = ["| what | figure | unit | bound | holds |", "|---|---:|---|---:|---|"]
    for row in rows:
        bound = "" if row.bound is None else f"{row.bound:g}"
        holds = "" if row.bound is None else ("yes" if row.holds else "**no**")
        lines.append(f"| {row.what} | {row.figure:g} | {row.unit} | {bound} | {holds} |")
    return "\n".join(lines)


def main() -> None:
    """Measure with the embedded server's default durability, and for information with `appendfsync always`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="how often each operation is timed")
    parser.add_argument("--fsync", choices=["everysec", "always"], default="everysec")
    options = parser.parse_args()
    rows = measure(options.fsync, options.rounds)
    text = table(rows)
    print(text)
    RESULTS.mkdir(exist_ok=True)
    heading = f"# appendfsync {options.fsync}, {options.rounds} rounds, Python {platform.python_version()}\n\n"
    (RESULTS / f"{options.fsync}.md").write_text(f"{heading}{text}\n", "utf-8")
    figures = [asdict(row) | {"holds": row.holds} for row in rows]
    (RESULTS / f"{options.fsync}.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
