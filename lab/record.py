"""The outcomes of all batches: the printed table, and the stored record."""

import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import redis

from lab.server_time import FACTOR
from lab.session import Outcome, Violation

RECORDS = Path(__file__).parent / "records"


@dataclass(slots=True, kw_only=True)
class Total:
    """The batches of one kind, in one way."""

    name: str
    runs: int = 0
    cases: int = 0
    calls: int = 0
    strikes: int = 0
    broken: int = 0
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def add(self, outcome: "Outcome | Total") -> None:
        """Add a batch, or the batches of another kind."""
        self.runs += outcome.runs
        self.cases += outcome.cases
        self.calls += outcome.calls
        self.strikes += outcome.strikes
        self.broken += outcome.broken
        self.seconds += outcome.seconds
        self.violations += outcome.violations
        self.complaints += outcome.complaints

    @property
    def seeds(self) -> list[int]:
        """Return the seeds of the runs that broke a rule."""
        return sorted({violation.seed for violation in self.violations})

    @property
    def is_clean(self) -> bool:
        """Return True if no rule was broken and no process complained."""
        return not self.violations and not self.complaints


def table(totals: list[Total]) -> str:
    """Return the figures by kind."""
    rows: list[tuple[str, ...]] = [
        (
            *("kind", "runs", "errands", "strikes", "broken packets", "calls", "seconds", "violations", "complaints"),
            "seeds that failed",
        )
    ]
    for item in [*totals, _sum(totals)]:
        counted = (item.runs, item.cases, item.strikes, item.broken, item.calls, round(item.seconds))
        figures = (*counted, len(item.violations), len(item.complaints))
        seeds = ", ".join(map(str, item.seeds[:10])) or "none"
        rows.append((item.name, *(f"{figure:,}" for figure in figures), seeds))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def record(totals: list[Total], versions: Mapping[str, str]) -> str:
    """Return the page that is kept."""
    return "\n".join(_page(totals, versions)) + "\n"


def _page(totals: list[Total], versions: Mapping[str, str]) -> Iterator[str]:
    yield f"# Fault lab, {datetime.now(UTC):%Y-%m-%d}"
    yield ""
    yield f"{_sum(totals).runs:,} runs, server time {FACTOR} times as fast as real time. {_in_words(versions)}"
    yield ""
    yield table(totals)
    yield ""
    yield "## Found"
    yield ""
    texts = [
        f"- {total.name}, seed {two.seed}: {two.rule}: {two.sentence}" for total in totals for two in total.violations
    ]
    texts += [f"- {total.name}: {text}" for total in totals for text in total.complaints]
    yield from texts or ["No rule was broken, no process crashed, and Redis refused its user dcf nothing."]


def _in_words(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) + "."


def versions_of(server: str) -> dict[str, str]:
    """Return the versions of what was tried."""
    return {
        "Redis": server,
        "redis-py": redis.__version__,
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }


def _sum(totals: list[Total]) -> Total:
    total = Total(name="all")
    for item in totals:
        total.add(item)
    return total
