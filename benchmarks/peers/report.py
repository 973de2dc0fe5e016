"""Writes the results as Markdown tables between two marks of a page in docs/explanation. The words around them stay."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.peers.figures import Case, Figures, cpu_of_all, rate_after_submission, whole_rate
from benchmarks.peers.killing import LEASE_S, STEP_S, STEPS, Killed
from benchmarks.peers.rounds import Found
from benchmarks.peers.systems import System
from benchmarks.peers.turns import Sample, percentile

BEGIN: Final = "<!-- figures: written by make bench-peers -->"
END: Final = "<!-- end of figures -->"

SHAPES: Final = {"chain": "chain", "dag": "dag", "map": "Map"}
_CASES: Final = [Case(shape, 1, concurrency) for shape in SHAPES for concurrency in (1, 10)]
_CROWDS: Final = (1, 2, 4, 8)
_LEFT_OUT: Final = (
    "The first table counts from the submission of a run to its end, this one from the return of the call that "
    "submits. RQ and Celery are left out of it: they work on a run while it is being submitted."
)
_COSTS: Final = (Case("chain"), Case("dag", 1, 10))


def write(document: Path, tables_text: str) -> None:
    """Put tables into a page."""
    before, _, rest = document.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n\n{tables_text}\n\n{END}{after}", "utf-8")


def tables(heading: str, result: Found, systems: Sequence[System]) -> str:
    """Return all results but the ratios."""
    figures, titles = Figures(result.rounds), {system.name: system.title for system in systems}
    systems = [system for system in systems if f"{system.name} at all" not in result.gaps]
    parts = [
        [heading],
        ["### Steps a second, one worker", "", *_rates(figures, systems)],
        ["### Several workers, steps a second", "", *_crowds(figures, systems)],
        ["### What a step costs", "", *_costs(figures, systems)],
        ["### From a step's end to the next worker's function", "", *_hand_overs(result, systems)],
        ["### A killed worker", "", *_killed(result, systems)],
        ["### Not measured", "", *_gaps(result, titles)],
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def ratios(heading: str, result: Found, systems: Sequence[System]) -> str:
    """Return dcf divided by each peer."""
    figures = Figures(result.rounds)
    systems = [system for system in systems if f"{system.name} at all" not in result.gaps]
    parts = [
        [heading],
        ["### dcf : peer, in the same rounds", "", *_ratios(figures, systems, whole_rate)],
        ["### dcf : peer, after the submission", "", *_ratios(figures, systems, rate_after_submission), "", _LEFT_OUT],
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _rates(figures: Figures, systems: Sequence[System]) -> Iterator[str]:
    titles = [f"{SHAPES[case.shape]}, {case.concurrency} at once" for case in _CASES]
    rows = [[system.title, *(_whole(figures.rate(system.name, case)) for case in _CASES)] for system in systems]
    yield from _table(["", *titles], rows)
    smaller = [
        f"{system.title}: {', '.join(_sizes(figures, system))}" for system in systems if any(_sizes(figures, system))
    ]
    if smaller:
        yield from ("", f"Smaller than 1,000 steps, since they take long. {'. '.join(smaller)}.")


def _sizes(figures: Figures, system: System) -> list[str]:
    result = ((SHAPES[shape], figures.of(system.name, Case(shape))) for shape in SHAPES)
    return [f"{title} of {samples[0].steps}" for title, samples in result if samples and samples[0].steps < 1000]


def _ratios(figures: Figures, systems: Sequence[System], rate: Callable[[Sample], float]) -> Iterator[str]:
    ours, peers = ([system for system in systems if system.name.startswith("dcf") is own] for own in (True, False))
    titles = [f"{SHAPES[case.shape]}, {case.concurrency} at once" for case in _CASES]
    rows = [
        [f"{own.title} : {peer.title}", *(_small(figures.ratio(own.name, peer.name, case, rate)) for case in _CASES)]
        for own in ours
        for peer in peers
        if rate is whole_rate or peer.submits_first
    ]
    yield from _table(["", *titles], rows)


def _crowds(figures: Figures, systems: Sequence[System]) -> Iterator[str]:
    titles = [f"{SHAPES[shape]}, {count}" for shape in ("dag", "map") for count in _CROWDS]
    rows = []
    for system in systems:
        row = [system.title]
        for shape in ("dag", "map"):
            row += [_whole(figures.rate(system.name, Case(shape, count))) for count in _CROWDS]
            row.append(_small(figures.gain(system.name, shape, _CROWDS[-1])))
        rows.append(row)
    gain = f"{_CROWDS[-1]} : 1"
    yield from _table(["workers", *titles[:4], gain, *titles[4:], gain], rows)


def _costs(figures: Figures, systems: Sequence[System]) -> Iterator[str]:
    request: list[tuple[str, Callable[[str, Case], str]]] = [
        ("CPU, ms", lambda name, case: _small(figures.per_step(name, case, cpu_of_all))),
        ("of Redis, ms", lambda name, case: _small(figures.per_step(name, case, lambda item: 1000 * item.cpu_redis))),
        ("commands", lambda name, case: _tenth(figures.per_step(name, case, lambda item: item.commands))),
        ("packets", lambda name, case: _tenth(figures.per_step(name, case, lambda item: item.reads))),
        ("bytes kept", lambda name, case: _whole(figures.per_step(name, case, lambda item: max(0, item.memory)))),
    ]
    titles = [f"{SHAPES[case.shape]}: {title}" for case in _COSTS for title, _ in request]
    rows = [[system.title, *(read(system.name, case) for case in _COSTS for _, read in request)] for system in systems]
    yield from _table(["", *titles], rows)
    yield ""
    yield (
        "CPU is that of workers and servers (`dcf serve`, restate-server), without the process that submits. The "
        "chain is that of one worker at concurrency 1, the dag at 10. Restate does not use Redis."
    )


def _hand_overs(result: Found, systems: Sequence[System]) -> Iterator[str]:
    rows = [
        [system.title, f"{percentile(times, 50):.1f}", f"{percentile(times, 99):.1f}"]
        for system in systems
        if len(times := result.hand_overs.get(system.name, [])) > 1
    ]
    yield from _table(["", "p50, ms", "p99, ms"], rows)


def _killed(result: Found, systems: Sequence[System]) -> Iterator[str]:
    titles = {system.name: system.title for system in systems}
    rows = [
        [titles[killed.system], str(killed.in_hand), str(killed.lost), str(killed.repeated), _delay(killed)]
        for killed in result.killed
    ]
    yield from _table(["", "in progress", "not done", "done twice", "begun again after"], rows)
    yield ""
    yield (
        f"A Map of {STEPS} steps of {STEP_S:g} s; the only worker is killed amid it (SIGKILL, and all it forked) and "
        f"another started at once. Leases, locks and timeouts are set to {LEASE_S} s where they can be."
    )


def _delay(killed: Killed) -> str:
    return f"not within {killed.waited_s:.0f} s" if killed.delay_s is None else f"{killed.delay_s:.1f} s"


def _gaps(result: Found, titles: Mapping[str, str]) -> Iterator[str]:
    for subject, why in result.gaps.items():
        name, _, rest = subject.partition(" ")
        yield f"- {titles[name]} {rest.removeprefix('at all').strip()}: {why}".replace(" :", ":")
    if not result.gaps:
        yield "Nothing was left out."


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|---|{'---:|' * (len(titles) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _tenth(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
