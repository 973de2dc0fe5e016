"""How the states of a run stand, put where the picture shows them: all iterations of a Map share one picture."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dcf.asl.state_paths import open_scope
from dcf.drawing.scene import Graph, nodes_in
from dcf.drawing.words import printable

Statuses = Mapping[str, str]
"""By the path of a state: `pending`, `running`, `succeeded`, `failed`, `skipped`, `cancelled`."""

MARKS: Final[Mapping[str, str]] = {
    "failed": "✘",
    "running": "▶",
    "cancelled": "◼",
    "pending": "·",
    "succeeded": "✔",
    "skipped": "-",
}
"""A mark for each status, the one to be noticed first standing first."""

_URGENCY: Final = tuple(MARKS)
_THOUSAND: Final = 1_000
_MILLION: Final = 1_000_000
_NOTICED: Final = 2
_GOOD: Final = frozenset({"succeeded", "skipped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Of an opened Map: how many iterations it has, and how many of them ended, those that failed included."""

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
        """Tell the status to be noticed first; None when there is none.

        What succeeded so far is `pending` as a whole while the Map around it may still come to it again.
        """
        counts = self._counts.get(path)
        if counts is None:
            return None
        first = min(counts, key=_rank)
        around = self._around(path)
        to_come = (self._total(path) or 0) > sum(counts.values()) and around is not None
        return "pending" if to_come and first in _GOOD and around in self._running else first

    def words(self, path: str) -> str:
        """Say how the state stands, for a person who reads or listens."""
        counts = self._counts.get(path, Counter())
        if self._is_one(path):
            return printable(next(iter(counts)) + self._iterations(path))
        told = ", ".join(f"{counts[status]} {status}" for status in sorted(counts, key=_rank))
        return printable(told + self._of(path, str))

    def told(self, path: str) -> str:
        """Say how the state stands in words after the mark of the status to be noticed first; nothing of no status."""
        status = self.status(path)
        return "" if status is None else f"{MARKS.get(status, '?')} {self.words(path)}"

    def signs(self, path: str) -> str:
        """Show how the state stands: mark and word, or marks and counts where there are several iterations."""
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
        """Tell whether there is one such state and never more."""
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
        """Say out of how many iterations, where that is known."""
        total = self._total(path) if path in self._counts else None
        return "" if total is None else f" of {number(total)}"

    def _total(self, path: str) -> int | None:
        """Count the iterations of the Map around a state, at all places where there is such a Map."""
        shares = self._shares.get(self._around(path) or "")
        return sum(share.size for share in shares) if shares else None

    def _around(self, path: str) -> str | None:
        """Find the innermost Map around a state."""
        parts = path.split("/")
        outer = ("/".join(parts[:at]) for at in range(len(parts) - 2, 0, -2))
        return next((owner for owner in outer if owner in self._maps), None)


def _rank(status: str) -> tuple[int, str]:
    return (_URGENCY.index(status) if status in _URGENCY else len(_URGENCY), status)


def _short(number: int) -> str:
    """Write a count in at most four signs."""
    if number < _THOUSAND:
        return str(number)
    unit, sign = (_THOUSAND, "k") if number < _MILLION else (_MILLION, "M")
    return f"{number / unit:.1f}{sign}" if number < 10 * unit - unit // 20 else f"{number // unit}{sign}"


def _as_component(path: str) -> str:
    """Spell the path of a Map as the beginning of those inside it."""
    return open_scope(path, 0)[:-2]


def _first_iteration(path: str, maps: set[str]) -> str:
    """Spell the path of a state in any iteration as the path in the first one, at every level."""
    parts = path.split("/")
    for at in range(1, len(parts) - 1, 2):
        if "/".join(parts[:at]) in maps:
            parts[at] = "0"
    return "/".join(parts)
