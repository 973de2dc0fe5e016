"""How the states of a run stand, put where the picture shows them: all iterations of a Map share one picture."""

from collections import Counter
from collections.abc import Mapping
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


class Standing:
    """The statuses of a run, looked up by the path of a node."""

    def __init__(self, graph: Graph, statuses: Statuses | None) -> None:
        maps = {open_scope(node.path, 0)[:-2] for node in nodes_in(graph) if node.kind == "Map"}
        self._counts: dict[str, Counter[str]] = {}
        for path, status in (statuses or {}).items():
            self._counts.setdefault(_first_iteration(path, maps), Counter())[status] += 1

    def status(self, path: str) -> str | None:
        """Tell the status to be noticed first; None when there is none."""
        counts = self._counts.get(path)
        return None if counts is None else min(counts, key=_rank)

    def words(self, path: str) -> str:
        """Say how the state stands, for a person who listens."""
        counts = self._counts.get(path, Counter())
        if sum(counts.values()) == 1:
            return printable(next(iter(counts)))
        return printable(", ".join(f"{counts[status]} {status}" for status in sorted(counts, key=_rank)))

    def signs(self, path: str) -> str:
        """Show how the state stands: mark and word, or marks and counts where there are several iterations."""
        counts = self._counts.get(path, Counter())
        if sum(counts.values()) == 1:
            status = next(iter(counts))
            return printable(f"{MARKS.get(status, '?')} {status}", 16)
        return "  ".join(f"{MARKS.get(status, '?')} {counts[status]}" for status in sorted(counts, key=_rank)[:3])


def _rank(status: str) -> tuple[int, str]:
    return (_URGENCY.index(status) if status in _URGENCY else len(_URGENCY), status)


def _first_iteration(path: str, maps: set[str]) -> str:
    """Spell the path of a state in any iteration as the path in the first one, at every level."""
    parts = path.split("/")
    for at in range(1, len(parts) - 1, 2):
        if "/".join(parts[:at]) in maps:
            parts[at] = "0"
    return "/".join(parts)
