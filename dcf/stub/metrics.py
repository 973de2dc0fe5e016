"""Counts the stub's calls, for tests and for people. Counters never contain arguments."""

import threading
from collections import Counter

from dcf.values.json_text import Json


class Metrics:
    """Counts calls by tool, answers by case and errors by kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, Counter[str]] = {"tool_calls": Counter(), "case_hits": Counter(), "errors": Counter()}

    def called(self, tool: str) -> None:
        """Count a call of `server:tool`."""
        self._count("tool_calls", tool)

    def hit(self, tool: str, case_id: str) -> None:
        """Count an answer given by this case."""
        self._count("case_hits", f"{tool}:{case_id}")

    def failed(self, tool: str, kind: str) -> None:
        """Count an answer that is an error."""
        self._count("errors", f"{tool}:{kind}")

    def reset(self) -> None:
        """Set all counters to zero."""
        with self._lock:
            for counter in self._counters.values():
                counter.clear()

    def as_json(self) -> dict[str, Json]:
        """Return the body of /metrics."""
        with self._lock:
            shown = {name: dict(sorted(counter.items())) for name, counter in self._counters.items()}
        totals = {name: sum(counter.values()) for name, counter in shown.items()}
        return {"ok": True, "metrics": shown, "totals": totals}

    def _count(self, name: str, key: str) -> None:
        with self._lock:
            self._counters[name][key] += 1
