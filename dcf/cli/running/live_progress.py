"""Shows the progress of a run while it runs, for `dcf run` and `dcf watch`."""

import logging
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self, TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from dcf.asl.state_paths import ancestors, name_of
from dcf.cli.reading import views
from dcf.cli.reading.notes import counts, duration, elapsed
from dcf.cli.text import clean
from dcf.core.leasing.blockers import is_blocked
from dcf.runs.views.inner_states import EACH, pick
from dcf.values.json_text import Json

_AROUND = 3
"""Lines around the rows: the heading, the column names, and one below the table."""

_LONGEST = 1000


class LiveProgress:
    """Called with each reading of the run: updates a live table on a terminal, prints a line per change otherwise."""

    def __init__(self, *, quiet: bool, stderr: bool = True) -> None:
        """Print only lines if `quiet` is set, even on a terminal; on standard output if not `stderr`."""
        console = views.console(stderr=stderr)
        # With FORCE_COLOR rich takes a file, too, for something whose cursor can be moved.
        is_screen = (sys.stderr if stderr else sys.stdout).isatty() and console.is_interactive
        self._live = None if quiet or not is_screen else _live(console)
        self._line = views.say if stderr else views.print_line
        self._is_paused = False
        self._is_blocked = False
        self._seen: dict[str, tuple[str, int]] = {}
        self._announced = False

    def __enter__(self) -> Self:
        if self._live is not None:
            before = sys.stderr
            self._live.start(refresh=True)
            self._move_log(before)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            before = sys.stderr
            self._live.stop()
            self._move_log(before)

    def _move_log(self, before: TextIO) -> None:
        """Let the log follow standard error: while a live table is shown, what is written there appears above it."""
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.setStream(sys.stderr)

    @property
    def is_live(self) -> bool:
        """True if a table is drawn in place, which is gone at the end."""
        return self._live is not None

    def __call__(self, document: Mapping[str, Json]) -> None:
        """Show the current state of the run."""
        if self._live is not None:
            self._live.update(_view(document, self._live.console.height), refresh=True)
        else:
            self._tell(document)

    def say(self, sentence: str) -> None:
        """Print a sentence; on a terminal above the table."""
        if self._live is None:
            views.say(sentence)
        else:
            views.print_wrapped(self._live.console, Text(f"dcf: {clean(sentence, _LONGEST)}"), indent=5)

    def _tell(self, document: Mapping[str, Json]) -> None:
        """Print the changes of the workflow's own states; for the states inside them only the number that ended."""
        own = {path: doc for path, doc in document["states"].items() if "/" not in path}
        if not self._announced:
            self._line(f"run {document['meta']['workflow_id']}: {len(own)} {'state' if len(own) == 1 else 'states'}")
            self._announced = True
        ended = 0
        for path, doc in own.items():
            ended += doc["status"] not in {"pending", "running"}
            status = f"{doc['status']} (attempt {doc['attempts']})" if doc["attempts"] > 1 else str(doc["status"])
            # For a Map with many items, print a line for each tenth of them.
            now = (status, _tenth(doc))
            if self._seen.get(path, ("pending", 0)) != now:
                took = duration(doc, datetime.now(UTC)) if doc.get("finished_at") else ""
                facts = ", ".join(filter(None, (status, counts(doc), took)))
                self._line(f"{clean(name_of(path))}: {facts}")
            self._seen[path] = now
        self._tell_of_the_run(document["meta"], f"{ended} of {len(own)} {'state' if len(own) == 1 else 'states'}")

    def _tell_of_the_run(self, meta: Mapping[str, Json], ended: str) -> None:
        is_paused = bool(meta.get("paused_at"))
        if is_paused is not self._is_paused:
            self._line(f"run {'paused' if is_paused else 'resumed'}, {ended}")
        self._is_paused = is_paused
        self._tell_of_blockers(meta, ended)
        if meta["status"] != "running":
            took = elapsed(meta, datetime.now(UTC))
            self._line(f"run {meta['status']}, {ended}{f', {took}' if took else ''}")

    def _tell_of_blockers(self, meta: Mapping[str, Json], ended: str) -> None:
        blocked = is_blocked(meta)
        if blocked is not self._is_blocked:
            self._line(f"run {'blocked by an issue' if blocked else 'unblocked'}, {ended}")
        self._is_blocked = blocked


def _view(document: Mapping[str, Json], height: int) -> RenderableType:
    """Return the table; of states inside Parallel and Map only as many as the screen has lines for."""
    states = document["states"]
    more: Counter[str] = Counter(document["more"])
    nested = [path for path in states if "/" in path]
    lines = height - (len(states) - len(nested)) - _AROUND - len({ancestors(path)[-1] for path in nested})
    picked = pick(nested, each=EACH, most=max(1, lines))
    shown = {path: doc for path, doc in states.items() if "/" not in path or path in picked.paths}
    return views.run_view(document["meta"], shown, datetime.now(UTC), more + Counter(picked.more))


def _tenth(doc: Mapping[str, Json]) -> int:
    """Return how many tenths of a Parallel or Map have ended."""
    size = (doc.get("scope") or {}).get("size") or 1
    return int(10 * (doc.get("tally") or {}).get("done", 0) // size)


def _live(console: Console) -> Live:
    """Return a table that is redrawn in place and removed at the end: the result is printed after it."""
    return Live("dcf: starting", console=console, transient=True, auto_refresh=False)
