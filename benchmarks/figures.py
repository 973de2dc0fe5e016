"""The figures of a benchmark, and what they may be."""

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.measuring import Probe, compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. `bound` is the most it may be, `least` the least; neither: for information."""

    what: str
    figure: float
    unit: str
    bound: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        if self.least is not None:
            return self.figure >= self.least
        return self.bound is None or self.figure <= self.bound

    @property
    def limit(self) -> str:
        """The bound in words."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.bound is None else f"{self.bound:g}"


@dataclass(slots=True)
class Timed:
    """Rows of calls that are timed alternately with PINGs."""

    probe: Probe
    rounds: int
    rows: list[Row] = field(default_factory=list)

    def verb(
        self, name: str, work: Callable[[], object], prepare: Callable[[], object], bound: float | None = None
    ) -> float:
        """Time one verb, and count its round trips and commands; return its time in PINGs."""
        # Once uncounted: the first completion in a process loads the definition, which is kept from then on.
        prepare()
        work()
        prepare()
        spent = self.probe.spent(work)
        timing = compare(self.probe, work, prepare, self.rounds)
        self.rows += [
            Row(what=name, figure=round(timing.ratio, 2), unit="PING", bound=bound),
            Row(what=name, figure=spent.reads, unit="round trips", bound=2),
            Row(what=name, figure=spent.commands, unit="commands"),
        ]
        return timing.ratio
