"""The command `dcf watch`: follows a run until it ends. It must not change anything."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import typer

from dcf.cli import exit_codes, opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.commands.formats import print_json
from dcf.cli.places.choice import elsewhere, place_in_use, program
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.cli.running.live_progress import LiveProgress

_Reading: TypeAlias = Callable[[], dict[str, Json]]

_EVERY_S: Final = 0.25
"""Seconds between two readings of the run."""

_EVERY_THERE_S: Final = 1.0
"""The same at a server, which counts the calls of a key."""


def watch(workflow_id: RunArgument, as_json: JsonFlag = False) -> None:
    """Watch a run until it ends: a live table on a terminal, elsewhere a line for each change.

    It does not matter where the run is worked on. Ctrl-C ends the watching, not the run.

    Exit codes: 0 the run succeeded, 1 it did not, 130 interrupted before its end.

    --json prints lines for people on standard error, and at the end what `dcf show --json` prints, but no findings.
    """
    from dcf.cli.reading import views
    from dcf.cli.running.live_progress import LiveProgress

    try:
        with LiveProgress(quiet=as_json, stderr=as_json) as progress:
            document = _follow(workflow_id, progress)
    except KeyboardInterrupt:
        views.say(f"Interrupted. Run {workflow_id} continues; `{program()} watch {workflow_id}` watches it again.")
        raise
    if as_json:
        print_json(document)
    elif progress.is_live:
        views.print_run(document)
    else:
        views.print_outcome(document["meta"])
    raise typer.Exit(exit_codes.of_run(document["meta"]["status"]))


def _follow(workflow_id: str, progress: "LiveProgress") -> dict[str, Json]:
    """Show the run until it has ended, also while the place cannot be reached; return its last standing."""
    from dcf.cli.processes.planner import once_possible

    pause_s = _EVERY_THERE_S if elsewhere() else _EVERY_S
    with _opened(workflow_id, progress.say) as (read, tell):
        while True:
            document = once_possible(read, tell, math.inf)
            progress(document)
            if document["meta"]["status"] != "running":
                return document
            time.sleep(pause_s)


@contextmanager
def _opened(workflow_id: str, say: Callable[[str], None]) -> Iterator[tuple[_Reading, Callable[[], None]]]:
    """Open the place in use; return what reads the run, and what says before each try why calls do not succeed."""
    from dcf.cli.places.place import Place, place
    from dcf.cli.reading.answers import overview
    from dcf.cli.running.obstacles import Obstacle, Silence
    from dcf.runs.views.inner_states import EACH

    if elsewhere():
        silence = Silence(say)
        with place() as used:
            yield partial(silence.around, partial(overview, used, workflow_id, EACH)), _say_nothing
        return
    from dcf.cli.places.here import ToolsHere

    with opening.application() as application:
        here = Place(place_in_use(), ToolsHere(application))
        yield partial(overview, here, workflow_id, EACH), Obstacle(application.health, say).tell


def _say_nothing() -> None:
    """Say nothing before a try: what the server answers says why it cannot."""
