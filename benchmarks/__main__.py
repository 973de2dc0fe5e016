"""`python -m benchmarks`: measure, print the table, write it and the figures next to this file."""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks import workloads
from benchmarks.beginnings import measure_beginnings
from benchmarks.calls import measure_calls
from benchmarks.clock import measure_clock
from benchmarks.contention import measure_contention
from benchmarks.explaining import measure_explaining
from benchmarks.figures import Row, Timed
from benchmarks.journal import measure_journal
from benchmarks.language import measure_language
from benchmarks.measuring import Probe
from benchmarks.metering import measure_metering
from benchmarks.network import measure_network
from benchmarks.protocol import measure_protocol
from benchmarks.runs import Held, cost_of, run_of, way
from benchmarks.startup import measure_startup
from benchmarks.tracing import measure_tracing
from benchmarks.waiting import measure_waiting
from benchmarks.workforce import measure_workforce
from dcf.application.application import Application, open_application
from dcf.runs.control_plane import ControlPlane
from dcf.settings.process import Settings

_WAITING: Final = 1000
RESULTS = Path(__file__).parent / "results"


def nothing() -> None:
    """No preparation."""


def measure_operations(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Each verb: round trips and commands as the server counts them, and its time in PINGs."""
    plane = app.control_plane
    item, wide = _at_join(plane, 1), _at_join(plane, 200)
    walk = Held(plane, workloads.chain(3 * rounds + 20))
    timed = Timed(probe, rounds)
    narrow = timed.verb("acquire, 1 upstream", item.acquire, item.free, 4)
    broad = timed.verb("acquire, 200 upstreams", wide.acquire, wide.free, 4)
    timed.rows.append(Row(what="acquire, 200 : 1 upstreams", figure=round(broad / narrow, 2), unit="ratio", bound=1.3))
    timed.verb("renew", item.renew, item.hold)
    timed.verb("release", item.release, item.hold)
    timed.verb("claim", item.claim, item.free)
    timed.verb("complete + claim next", walk.step, nothing, 5)
    timed.verb("update + output (complete)", walk.complete, walk.hold)
    return timed.rows


def _at_join(plane: ControlPlane, upstreams: int) -> Held:
    holding = Held(plane, workloads.join(upstreams))
    while holding.lease.state != "End":
        holding.step()
    return holding


def measure_graphs(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Whole runs by one worker: PINGs, commands and bytes for each step, at 50 states and at 1,000."""
    rows = [
        *_graph(app, probe, "chain", workloads.chain(50), workloads.chain(1000), rounds),
        *_graph(app, probe, "diamonds", workloads.diamonds(2, 20, 6), workloads.diamonds(45, 20, 10), rounds),
    ]
    steps, per_step, _ = run_of(app, probe, workloads.loop(), lambda step: {"again": step < 999})
    rows.append(Row(what=f"loop of {steps} steps", figure=round(per_step, 2), unit="PING/step", bound=12))
    return rows


def _graph(
    app: Application, probe: Probe, name: str, small: dict[str, Any], large: dict[str, Any], rounds: int
) -> list[Row]:
    size = sum(state["Type"] == "Task" for state in large["asl"]["States"].values())
    smalls, larges = [], []
    for _ in range(rounds):
        smalls += [run_of(app, probe, small, way)[1] for _ in range(8)]
        larges.append(run_of(app, probe, large, way)[1])
    few, many = statistics.median(smalls), statistics.median(larges)
    steps, commands, memory = cost_of(app, probe, large)
    return [
        Row(what=f"{name}, {size} tasks ({steps} executed)", figure=round(many, 2), unit="PING/step", bound=12),
        Row(what=f"{name}, 1000 : 50", figure=round(many / few, 2), unit="ratio", bound=1.3),
        Row(what=f"{name}, {size} tasks", figure=round(commands, 1), unit="commands/step", bound=11),
        Row(what=f"{name}, {size} tasks", figure=round(memory), unit="bytes/state", bound=1210),
    ]


_PARTS: Final[Mapping[str, Callable[[Application, Probe, int], list[Row]]]] = {
    "operations": measure_operations,
    "graphs": lambda app, probe, rounds: measure_graphs(app, probe, max(3, rounds // 100)),
    "explaining": lambda app, probe, rounds: measure_explaining(app, probe, max(3, rounds // 10)),
    "calls": lambda app, _, __: measure_calls(app),
    "beginnings": lambda app, probe, _: measure_beginnings(app, probe),
    "language": measure_language,
    "journal": measure_journal,
    "workforce": lambda app, probe, rounds: measure_workforce(app, probe, max(3, rounds // 50)),
    "contention": lambda app, probe, _: measure_contention(app, probe),
    "metering": lambda app, _, __: measure_metering(app),
    "protocol": lambda app, _, __: measure_protocol(app),
    "network": lambda app, _, __: measure_network(app),
    "waiting": lambda app, _, __: measure_waiting(app, _WAITING),
    "clock": lambda app, probe, _: measure_clock(app, probe),
    "tracing": lambda app, _, __: measure_tracing(app),
    "startup": lambda _, __, rounds: measure_startup(max(3, rounds // 100)),
}
"""What is measured, in this order."""


def measure(fsync: Literal["everysec", "always"], rounds: int, parts: Sequence[str]) -> Iterator[Row]:
    """Yield the figures of these parts, on a fresh embedded server. Say on stderr what is measured now."""
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), appendfsync=fsync, redis_url=None)) as app,
    ):
        probe = Probe(app.redis_url)
        for _ in range(2000):
            probe.ping()
        for number, part in enumerate(parts, 1):
            print(f"{number}/{len(parts)} {part}", end="", flush=True, file=sys.stderr)
            began = time.monotonic()
            yield from _PARTS[part](app, probe, rounds)
            print(f": {time.monotonic() - began:.0f} s", file=sys.stderr)


def table(rows: list[Row]) -> str:
    """Write the figures as a Markdown table."""
    lines = ["| what | figure | unit | bound | holds |", "|---|---:|---|---:|---|"]
    for row in rows:
        holds = "" if not row.limit else ("yes" if row.holds else "**no**")
        lines.append(f"| {row.what} | {row.figure:g} | {row.unit} | {row.limit} | {holds} |")
    return "\n".join(lines)


def main() -> None:
    """Measure with the embedded server's default durability, and for information with `appendfsync always`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="how often each operation is timed")
    parser.add_argument("--fsync", choices=["everysec", "always"], default="everysec")
    parser.add_argument("--only", choices=_PARTS, nargs="+", help="measure these parts, and write no file")
    options = parser.parse_args()
    rows = list(measure(options.fsync, options.rounds, options.only or [*_PARTS]))
    text = table(rows)
    print(text)
    if options.only:
        return
    RESULTS.mkdir(exist_ok=True)
    heading = f"# appendfsync {options.fsync}, {options.rounds} rounds, Python {platform.python_version()}\n\n"
    (RESULTS / f"{options.fsync}.md").write_text(f"{heading}{text}\n", "utf-8")
    figures = [asdict(row) | {"holds": row.holds} for row in rows]
    (RESULTS / f"{options.fsync}.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
