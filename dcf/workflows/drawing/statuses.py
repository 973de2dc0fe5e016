"""The statuses of a run's states as a picture shows them: all iterations of a Map are counted in one place. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from dcf.asl.state_paths import open_scope
from dcf.values.records import record
from dcf.workflows.drawing.scene import Graph, nodes_in
from dcf.workflows.drawing.words import printable

Statuses = Mapping[str, str]
"""Status by the path of a state: `pending`, `running`, `succeeded`, `failed`, `skipped`, `cancelled`."""

MARKS: Final[Mapping[str, str]] = {
    "failed": "✘",
    "running": "▶",
    "cancelled": "◼",
    "pending": "·",
    "succeeded": "✔",
    "skipped": "-",
}
"""The mark of each status, the most urgent first."""

_URGENCY: Final = tuple(MARKS)
_THOUSAND: Final = 1_000
_MILLION: Final = 1_000_000
_NOTICED: Final = 2
_GOOD: Final = frozenset({"succeeded", "skipped"})


@record(frozen=True, slots=True, kw_only=True)
class Share:
    """Progress of an opened Map: its number of iterations, and how many of them ended (`done`, with `failed` ones)."""

    size: int
    done: int = 0
    failed: int = 0


class Standing:
    """The statuses of a run, looked up by the path of a node."""

    def __init__(self, graph: Graph, statuses: Statuses | None, shares: Mapping[str, Share] | None = None) -> None:
        self._maps = {_as_component(node.path) for node in nodes_in(graph) if node.kind == "Map"}
        self._counts: dict[str, Counter[str]] = {}
        for path, status in (statuses or {}).items():
            self._counts.setdefault(_first_iteration(path, self._maps), Counter())[status] += 1
        self._running = {_as_component(path) for path, counts in self._counts.items() if counts["running"]}
        self._shares: dict[str, list[Share]] = {}
        for path, share in (shares or {}).items():
            self._shares.setdefault(_first_iteration(_as_component(path), self._maps), []).append(share)

    def status(self, path: str) -> str | None:
        """Return the most urgent status of a node; None if it has none.

        A state that succeeded in some iterations is `pending` as long as its running Map may enter it again.
        """
        counts = self._counts.get(path)
        if counts is None:
            return None
        first = min(counts, key=_rank)
        around = self._around(path)
        to_come = (self._total(path) or 0) > sum(counts.values()) and around is not None
        return "pending" if to_come and first in _GOOD and around in self._running else first

    def words(self, path: str) -> str:
        """Describe the status in words."""
        counts = self._counts.get(path, Counter())
        if self._is_one(path):
            return printable(next(iter(counts)) + self._iterations(path))
        counted = ", ".join(f"{counts[status]} {status}" for status in sorted(counts, key=_rank))
        return printable(counted + self._of(path, str))

    def told(self, path: str) -> str:
        """Return the mark of the most urgent status and the description in words; empty without a status."""
        status = self.status(path)
        return "" if status is None else f"{MARKS.get(status, '?')} {self.words(path)}"

    def signs(self, path: str) -> str:
        """Return mark and status, or marks and counts if there are several iterations."""
        counts = self._counts.get(path, Counter())
        if self._is_one(path):
            status = next(iter(counts))
            shown = printable(f"{MARKS.get(status, '?')} {status}", 16)
            share = self._share(path)
            return f"{shown} {_short(share.done)} of {_short(share.size)}" if share is not None else shown
        noticed = [status for status in sorted(counts, key=_rank) if status != "succeeded"][:_NOTICED]
        shown = "  ".join(
            f"{MARKS.get(status, '?')} {_short(counts[status])}"
            for status in [*noticed, *(["succeeded"] if counts["succeeded"] else [])]
        )
        return shown + self._of(path, _short)

    def _is_one(self, path: str) -> bool:
        """Return True if there is exactly one such state in the run and never more."""
        return sum(self._counts.get(path, Counter()).values()) == 1 and (self._total(path) or 1) == 1

    def _share(self, path: str) -> Share | None:
        shares = self._shares.get(_as_component(path), []) if path else []
        return shares[0] if len(shares) == 1 else None

    def _iterations(self, path: str) -> str:
        share = self._share(path)
        if share is None:
            return ""
        return f", {share.done} of {share.size} done" + (f", {share.failed} failed" if share.failed else "")

    def _of(self, path: str, number: Callable[[int], str]) -> str:
        """Return ` of N`, the number of iterations, if it is known."""
        total = self._total(path) if path in self._counts else None
        return "" if total is None else f" of {number(total)}"

    def _total(self, path: str) -> int | None:
        """Return the iterations of the Map around a state, summed over all places where it is open."""
        shares = self._shares.get(self._around(path) or "")
        return sum(share.size for share in shares) if shares else None

    def _around(self, path: str) -> str | None:
        """Return the path of the innermost Map around a state."""
        parts = path.split("/")
        outer = ("/".join(parts[:at]) for at in range(len(parts) - 2, 0, -2))
        return next((owner for owner in outer if owner in self._maps), None)


def _rank(status: str) -> tuple[int, str]:
    return (_URGENCY.index(status) if status in _URGENCY else len(_URGENCY), status)


def _short(number: int) -> str:
    """Write a count in at most four characters, as in 1.2k."""
    if number < _THOUSAND:
        return str(number)
    unit, sign = (_THOUSAND, "k") if number < _MILLION else (_MILLION, "M")
    return f"{number / unit:.1f}{sign}" if number < 10 * unit - unit // 20 else f"{number // unit}{sign}"


def _as_component(path: str) -> str:
    """Return the path of a Map as it begins the paths of the states inside it."""
    return open_scope(path, 0)[:-2]


def _first_iteration(path: str, maps: set[str]) -> str:
    """Return the path of a state in any iteration as that in the first iteration, at every level."""
    parts = path.split("/")
    for at in range(1, len(parts) - 1, 2):
        if "/".join(parts[:at]) in maps:
            parts[at] = "0"
    return "/".join(parts)
