"""How `dcf run` shows what happens while it happens."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

from rich.console import Console
from rich.live import Live

from dcf.cli import views
from dcf.cli.text import clean
from dcf.core.json_text import Json


class Progress:
    """Called with each reading of the run: a live table on a terminal, one line for each change otherwise."""

    def __init__(self, *, quiet: bool) -> None:
        """Show nothing but lines where `quiet` is set, even on a terminal."""
        console = views.console(stderr=True)
        self._live = None if quiet or not _is_screen(console) else _live(console)
        self._seen: dict[str, str] = {}
        self._announced = False

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, found: Mapping[str, Json]) -> None:
        """Show the run as it is now."""
        if self._live is not None:
            self._live.update(views.run_view(found["meta"], found["states"], datetime.now(UTC)), refresh=True)
        else:
            self._tell(found)

    def _tell(self, found: Mapping[str, Json]) -> None:
        if not self._announced:
            views.say(f"run {found['workflow_id']}: {len(found['states'])} states")
            self._announced = True
        for name, doc in found["states"].items():
            now = f"{doc['status']} (attempt {doc['attempts']})" if doc["attempts"] > 1 else str(doc["status"])
            if self._seen.get(name, "pending") != now:
                views.say(f"{clean(name)}: {now}")
            self._seen[name] = now
        if found["meta"]["status"] != "running":
            views.say(f"run {found['meta']['status']}")


def _live(console: Console) -> Live:
    """Make a table that is drawn in place and leaves nothing behind: the result is printed after it."""
    return Live("dcf: starting the server and the workers", console=console, transient=True, auto_refresh=False)


def _is_screen(console: Console) -> bool:
    """Say whether the cursor can be moved; FORCE_COLOR makes rich believe so of a file."""
    return sys.stderr.isatty() and console.is_interactive
