"""`python -m benchmarks.forms`: dcf with documents in RedisJSON and as JSON text, each on a server of its own.

Both are the embedded server, and take turns at the same runs, so that other load meets both alike. Read the ratios:
they are medians of the ratios within a round.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import workloads
from benchmarks.cluster import heading, write
from benchmarks.measuring import Probe
from benchmarks.runs import way
from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.store.forms.form import FORM_WORDS, FormName

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "explanation" / "benchmark-analysis.md"
BEGIN: Final = "<!-- figures: written by python -m benchmarks.forms -->"
FORMS: Final[tuple[FormName, FormName]] = ("json", "text")
_WARM: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Seconds of a run, processor time of the server and of this process, counts of the server, and bytes kept."""

    steps: int
    seconds: float
    server_cpu: float
    own_cpu: float
    commands: int
    reads: int
    bytes_of_state: float


_FIGURES: Final[Mapping[str, Callable[[Turn], float]]] = {
    "steps a second": lambda turn: turn.steps / turn.seconds,
    "processor time of the server, µs a step": lambda turn: turn.server_cpu / turn.steps * 1e6,
    "processor time of dcf, µs a step": lambda turn: turn.own_cpu / turn.steps * 1e6,
    "commands a step": lambda turn: turn.commands / turn.steps,
    "round trips a step": lambda turn: turn.reads / turn.steps,
    "bytes a state": lambda turn: turn.bytes_of_state,
}


def measure(
    folder: Path, shapes: Mapping[str, Mapping[str, Any]], rounds: int
) -> tuple[dict[str, dict[FormName, list[Turn]]], str]:
    """Return the turns of each shape and form, and the version of the server. Say on stderr which round this is."""
    turns: dict[str, dict[FormName, list[Turn]]] = {name: {form: [] for form in FORMS} for name in shapes}
    with ExitStack() as stack:
        places = {form: stack.enter_context(_opened(folder / form, form)) for form in FORMS}
        probes = {form: Probe(app.redis_url) for form, app in places.items()}
        for form, app in places.items():
            take_turn(app, probes[form], workloads.chain(_WARM))
        for number in range(rounds):
            sys.stderr.write(f"round {number + 1} of {rounds}\n")
            for name, shape in shapes.items():
                for form in FORMS if number % 2 else reversed(FORMS):
                    turns[name][form].append(take_turn(places[form], probes[form], shape))
        return turns, probes["text"].version()


def _opened(folder: Path, form: FormName) -> AbstractContextManager[Application]:
    return open_application(Settings(data_dir=folder, documents=form, redis_url=None))


def take_turn(app: Application, probe: Probe, shape: Mapping[str, Any]) -> Turn:
    """Carry out a run by one worker, and look at what it left."""
    took: list[float] = []
    run = workloads.create(app.control_plane, dict(shape))

    def work() -> None:
        began, own = time.perf_counter(), time.process_time()
        took.append(workloads.carry_out(app.control_plane, run, way))
        took.extend((time.process_time() - own, time.perf_counter() - began))

    before = probe.cpu()
    counters = probe.spent(work)
    server_cpu = probe.cpu() - before
    app.control_plane.pack(run)
    steps, own_cpu, seconds = took
    return Turn(
        steps=int(steps),
        seconds=seconds,
        server_cpu=server_cpu,
        own_cpu=own_cpu,
        commands=counters.commands,
        reads=counters.reads,
        bytes_of_state=probe.memory(run) / len(shape["asl"]["States"]),
    )


def table(turns: Mapping[str, Mapping[FormName, Sequence[Turn]]]) -> Iterator[str]:
    """Yield the table."""
    yield f"| | {' | '.join(f'documents {FORM_WORDS[form]}' for form in FORMS)} | text : RedisJSON |"
    yield "|---|---:|---:|---:|"
    for shape, by_form in turns.items():
        for name, figure in _FIGURES.items():
            json, text = (list(map(figure, by_form[form])) for form in FORMS)
            ratio = statistics.median(mine / other for mine, other in zip(text, json, strict=True))
            medians = " | ".join(_rounded(statistics.median(figures)) for figures in (json, text))
            yield f"| {shape}: {name} | {medians} | {ratio:.2f} |"


def _rounded(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}"


def report(shapes: Mapping[str, Mapping[str, Any]], rounds: int) -> Iterator[str]:
    """Measure, and yield the lines of the document."""
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="dcf-forms-") as folder:
        turns, version = measure(Path(folder), shapes, rounds)
    load.append(os.getloadavg()[0])
    yield from (f"{heading(version, load)} Medians of {rounds} rounds.", "")
    yield from table(turns)


def main() -> None:
    """Measure and write docs/explanation/benchmark-analysis.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each form has its turn (default 3)")
    parser.add_argument("--length", type=int, default=400, help="steps of the chain (default 400)")
    parser.add_argument("--dry", action="store_true", help="print the table, write no file")
    options = parser.parse_args()
    shapes = {
        f"chain of {options.length}": workloads.chain(options.length),
        "diamonds": workloads.diamonds(max(1, options.length // 22), 20, 6),
    }
    lines = list(report(shapes, options.rounds))
    print("\n".join(lines))
    if not options.dry:
        write(DOCUMENT, lines, BEGIN)


if __name__ == "__main__":
    main()
