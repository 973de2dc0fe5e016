"""Writes what `cluster` measured as Markdown: pure, of figures that are given."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.cluster_costs import STEPS_OF_RUN, Cost
from benchmarks.cluster_load import ONE, Turn
from benchmarks.shards import SIZES, Load, Parts, load

CLAIMED = "a step claimed with the completion before"
HANDED = "a step handed to another agent by its inbox"
SOUGHT = "a claim among all runs, and the completion"
LOOK = "a look of the timer loop, nothing due"
_AGENTS: Final = 1000
_MORE: Final = Parts(lists=256, due=256, agents=256)
_GIB: Final = 1 << 30
_DATA_GIB: Final = 8

PerStep = Callable[[Turn], float]


def throughput(rounds: Sequence[Sequence[Turn]], workers: int) -> Iterator[str]:
    """Yield the table of steps a second, ratios within rounds, and what a step takes."""
    yield from (f"### A cluster compared with one server, {workers} workers", "")
    titles = ("steps a second", ": one server", "commands", "packets", "bytes", "CPU of Redis, µs", "of a worker, µs")
    yield f"| shape | place | {' | '.join(titles)} | busiest node : mean |"
    yield f"|---|---|{'---:|' * (len(titles) + 1)}"
    per_steps: Sequence[PerStep] = (
        lambda turn: turn.commands,
        lambda turn: turn.packets,
        lambda turn: turn.traffic,
        lambda turn: turn.cpu * 1e6,
        lambda turn: turn.cpu_of_workers * 1e6,
    )
    for shape in dict.fromkeys(turn.shape for turn in rounds[0]):
        for place in dict.fromkeys(turn.place for turn in rounds[0]):
            own = [_of(turns, place, shape) for turns in rounds]
            cells = [f"{statistics.median(turn.steps / turn.seconds for turn in own):,.0f}", _ratio(rounds, own, shape)]
            cells += [_number(statistics.median(per_step(turn) / turn.steps for turn in own)) for per_step in per_steps]
            skew = statistics.median(max(turn.nodes) / statistics.fmean(turn.nodes) for turn in own)
            yield f"| {shape} | {place} | {' | '.join(cells)} | {skew:.2f} |"
    yield from ("", f"Medians of {len(rounds)} rounds; ratios within a round, with their lower and upper quartile.", "")


def costs(costses: Mapping[str, Mapping[str, Cost]]) -> Iterator[str]:
    """Yield the table of commands and CPU by family of keys, and the ceilings that follow."""
    yield from ("### Which keys a step is for", "")
    yield "| what | family of keys | commands | CPU of Redis, µs | one node carries, a second |"
    yield "|---|---|---:|---:|---:|"
    for subject, families in costses.items():
        for family, cost in sorted(families.items(), key=lambda family: -family[1].us):
            most = f"{1e6 / cost.us:,.0f}" if cost.us else ""
            yield f"| {subject} | {family} | {cost.commands:.2f} | {cost.us:,.1f} | {most} |"
    yield ""
    yield f"Steps are those of chains of {STEPS_OF_RUN}; what a run's creation and end cost is divided among them."
    yield ""


def sizes(costses: Mapping[str, Mapping[str, Cost]], bytes_of_run: float, live: int) -> Iterator[str]:
    """Yield the tables of what clusters carry."""
    yield from ("### What larger clusters carry, by calculation", "")
    yield f"{live:,} live runs, all as active, and {_AGENTS:,} agents. A live run of {STEPS_OF_RUN} steps takes "
    yield f"{bytes_of_run:,.0f} bytes. Each node uses one core wholly; plan with half of it."
    yield ""
    for subject in (CLAIMED, HANDED):
        per_step = {family: cost.us for family, cost in costses[subject].items()}
        yield f"For each {subject.removeprefix('a ')}:"
        yield ""
        yield (
            "| primaries | steps a second, evenly | busiest : mean | steps a second | spent on by the busiest "
            f"| with 256 parts of each | busiest : mean | live runs in {_DATA_GIB} GiB a node |"
        )
        yield f"|{'---:|' * 4}---|{'---:|' * 3}"
        for nodes in SIZES:
            now = load(per_step, nodes, runs=live, agents=_AGENTS)
            then = load(per_step, nodes, runs=live, agents=_AGENTS, parts=_MORE)
            most = nodes * _DATA_GIB * _GIB / bytes_of_run
            yield (
                f"| {nodes:,} | {1e6 / now.mean:,.0f} | {now.skew:.2f} | {now.steps_per_s:,.0f} | {_spent(now)} "
                f"| {then.steps_per_s:,.0f} | {then.skew:.2f} | {most / 1e6:,.1f} million |"
            )
        yield ""


def _spent(load: Load) -> str:
    whole = sum(load.busiest.values())
    shares = sorted(load.busiest.items(), key=lambda item: -item[1])[:2]
    return ", ".join(f"{family} {100 * cost / whole:.0f} %" for family, cost in shares)


def _of(turns: Sequence[Turn], place: str, shape: str) -> Turn:
    return next(turn for turn in turns if (turn.place, turn.shape) == (place, shape))


def _ratio(rounds: Sequence[Sequence[Turn]], own: Sequence[Turn], shape: str) -> str:
    others = (_of(turns, ONE, shape) for turns in rounds)
    ratios = [
        turn.steps / turn.seconds / (other.steps / other.seconds) for turn, other in zip(own, others, strict=True)
    ]
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})"


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
