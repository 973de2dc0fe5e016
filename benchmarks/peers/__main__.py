"""`python -m benchmarks.peers`: install the peers, measure all, write docs/explanation/benchmark-*.md."""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import Probe, commit
from benchmarks.peers import picture, report
from benchmarks.peers.environments import Environments, default_folder
from benchmarks.peers.figures import Figures
from benchmarks.peers.killing import Killed
from benchmarks.peers.redis_cluster import redis_cluster
from benchmarks.peers.redis_server import redis_server
from benchmarks.peers.rounds import Found, Plan, available, hand_work_over, kill_workers, take_turns
from benchmarks.peers.systems import SYSTEMS, Place, System
from benchmarks.peers.turns import Bench, Sample

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "explanation" / "benchmark-figures.md"
RATIOS = ROOT / "docs" / "explanation" / "benchmark-ratios.md"
PICTURE = ROOT / "docs" / "explanation" / "benchmarks.svg"
RESULTS = Path(__file__).parent / "results.json"
_PINGS = 2000


def main() -> None:
    """Measure; with --again only write the document from the figures of the last measurement."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    options = read_options()
    if options.again:
        document: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
        write(document["heading"], document["note"], _read_results(document["found"]), _chosen(document["systems"]))
        return
    began, systems, result = time.monotonic(), _chosen(options.systems), Found()
    with tempfile.TemporaryDirectory(prefix="dcf-peers-") as folder:
        place = Place(Environments(options.cache), Path(folder))
        waiting = Plan(systems=systems, rounds=0, repeats=0, until=0, say=say)
        usable = available(waiting, place, result)
        plan = Plan(
            systems=usable,
            rounds=options.rounds,
            repeats=options.repeats,
            until=time.monotonic() + 60 * options.minutes,
            say=say,
        )
        with ExitStack() as started:
            url = started.enter_context(redis_server(place.folder / "redis"))
            ping = _ping_us(Probe(url))
            if any(system.on_cluster for system in usable):
                cluster = started.enter_context(redis_cluster(place.folder / "cluster"))
            else:
                cluster = ""
            bench = Bench(url, place, cluster)
            if "kill" not in options.without:
                kill_workers(place, plan, usable, result)
            if "hand-over" not in options.without:
                hand_work_over(bench, plan, usable, result)
            take_turns(bench, plan, usable, result)
            heading, note = _heading(result, ping, url), _note()
    say(f"measured in {time.monotonic() - began:.0f} s")
    document = {
        "heading": heading,
        "note": note,
        "systems": [system.name for system in systems],
        "found": asdict(result),
    }
    if options.keep:
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        write(heading, note, result, systems)
    print(report.tables(heading, result, systems))


def read_options() -> argparse.Namespace:
    """Read the command line."""
    names = [system.name for system in SYSTEMS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=main.__doc__)
    parser.add_argument("--systems", nargs="+", choices=names, default=names, help="which; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="most rounds (default 3)")
    parser.add_argument("--repeats", type=int, default=1, help="how often a turn carries out each shape (default 1)")
    parser.add_argument("--minutes", type=float, default=8, help="no round begins that would end later (default 8)")
    parser.add_argument("--without", nargs="*", choices=["kill", "hand-over"], default=[], help="parts to leave out")
    parser.add_argument("--cache", type=Path, default=default_folder(), help="where the peers are installed")
    parser.add_argument("--dry", dest="keep", action="store_false", help="print the tables, write no file")
    parser.add_argument("--again", action="store_true", help="write the document again from the last figures")
    return parser.parse_args()


def write(heading: str, note: str, result: Found, systems: list[System]) -> None:
    """Write the tables and the picture."""
    report.write(FIGURES, report.tables(heading, result, systems))
    report.write(RATIOS, report.ratios(heading, result, systems))
    PICTURE.write_text(picture.draw(Figures(result.rounds), systems, note), "utf-8")


def say(sentence: str) -> None:
    """Tell how far it is."""
    print(sentence, flush=True)


def _chosen(names: list[str]) -> list[System]:
    return [system for system in SYSTEMS if system.name in names]


def _read_results(stored: dict[str, Any]) -> Found:
    rounds = [[Sample(**sample) for sample in samples] for samples in stored["rounds"]]
    return Found(**{**stored, "rounds": rounds, "killed": [Killed(**item) for item in stored["killed"]]})


def _heading(result: Found, ping_us: float, url: str) -> str:
    versions = ", ".join(f"{system.title} {system.version}" for system in SYSTEMS if not system.name.startswith("dcf"))
    load = ", ".join(f"{item:.1f}" for item in result.load)
    return (
        f"{_today()}, dcf {SYSTEMS[0].version} ({commit()}), {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, Node {_first_line(['node', '--version'])}, "
        f"Redis {Probe(url).version()} with AOF every second; {versions}. "
        f"Rounds: {len(result.rounds)}; load of the machine when each began: {load}. "
        f"A PING of redis-py took {ping_us:.0f} µs."
    )


def _note() -> str:
    return f"{_today()}, dcf {commit()}, {os.cpu_count()} cores. From the submission of a run to its end."


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _first_line(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def _ping_us(probe: Probe) -> float:
    return 1e6 * sorted(probe.ping() for _ in range(_PINGS))[_PINGS // 2]


if __name__ == "__main__":
    main()
