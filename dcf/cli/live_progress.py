"""Shows the progress of `dcf run` while it runs."""

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
from dcf.cli import views
from dcf.cli.notes import counts
from dcf.cli.text import clean
from dcf.runs.insides import pick
from dcf.runs.views import EACH
from dcf.values.json_text import Json

_AROUND = 3
"""Lines around the rows: the heading, the column names, and one below the table."""

_LONGEST = 1000


class LiveProgress:
    """Called with each reading of the run: updates a live table on a terminal, prints a line per change otherwise."""

    def __init__(self, *, quiet: bool) -> None:
        """Print only lines if `quiet` is set, even on a terminal."""
        console = views.console(stderr=True)
        self._live = None if quiet or not _is_screen(console) else _live(console)
        self._seen: dict[str, tuple[str, int]] = {}
        self._announced = False
        self._word = ""

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

    def __call__(self, found: Mapping[str, Json]) -> None:
        """Show the current state of the run."""
        if self._live is not None:
            self._live.update(_view(found, self._live.console.height), refresh=True)
        else:
            self._tell(found)

    def say(self, sentence: str) -> None:
        """Print a sentence; on a terminal above the table."""
        if self._live is None:
            views.say(sentence)
        else:
            self._live.console.print(Text(f"dcf: {clean(sentence, _LONGEST)}"), soft_wrap=True)

    def _tell(self, found: Mapping[str, Json]) -> None:
        """Print the changes of the workflow's own states; for the states inside them only the number that ended."""
        own = {path: doc for path, doc in found["states"].items() if "/" not in path}
        if not self._announced:
            views.say(f"run {found['meta']['workflow_id']}: {len(own)} {'state' if len(own) == 1 else 'states'}")
            self._announced = True
        for path, doc in own.items():
            status = f"{doc['status']} (attempt {doc['attempts']})" if doc["attempts"] > 1 else str(doc["status"])
            # For a Map with many items, print a line for each tenth of them.
            now = (status, _tenth(doc))
            if self._seen.get(path, ("pending", 0)) != now:
                told = counts(doc)
                views.say(f"{clean(name_of(path))}: {status}{f', {told}' if told else ''}")
            self._seen[path] = now
        word = views.run_word(found["meta"])
        if word != self._word and (word != "running" or self._word == "paused"):
            views.say("run resumed" if word == "running" else f"run {word}")
        self._word = word


def _view(found: Mapping[str, Json], height: int) -> RenderableType:
    """Return the table; of states inside Parallel and Map only as many as the screen has lines for."""
    states = found["states"]
    more: Counter[str] = Counter(found["more"])
    nested = [path for path in states if "/" in path]
    lines = height - (len(states) - len(nested)) - _AROUND - len({ancestors(path)[-1] for path in nested})
    picked = pick(nested, each=EACH, most=max(1, lines))
    shown = {path: doc for path, doc in states.items() if "/" not in path or path in picked.paths}
    return views.run_view(found["meta"], shown, datetime.now(UTC), more + Counter(picked.more))


def _tenth(doc: Mapping[str, Json]) -> int:
    """Return how many tenths of a Parallel or Map have ended."""
    size = (doc.get("scope") or {}).get("size") or 1
    return int(10 * (doc.get("tally") or {}).get("done", 0) // size)


def _live(console: Console) -> Live:
    """Return a table that is redrawn in place and removed at the end: the result is printed after it."""
    return Live("dcf: starting", console=console, transient=True, auto_refresh=False)


def _is_screen(console: Console) -> bool:
    """Return True if the cursor can be moved; with FORCE_COLOR rich would say so of a file too."""
    return sys.stderr.isatty() and console.is_interactive
