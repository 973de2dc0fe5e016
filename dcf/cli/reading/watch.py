"""The command `dcf watch`: follows a run until it is over. It changes nothing."""

import math
import time
from typing import TYPE_CHECKING

import typer

from dcf.cli import exit_codes, opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.text import json_text
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.cli.running.live_progress import LiveProgress

_EVERY_S = 0.25
"""Seconds between two readings of the run."""


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(watch)


def watch(workflow_id: RunArgument, as_json: JsonFlag = False) -> None:
    """Watch a run until it is over: a live table on a terminal, elsewhere a line for each change.

    It does not matter where the run is worked on. Ctrl-C ends the watching, not the run.

    Exit codes: 0 the run succeeded, 1 it did not, 130 interrupted before it was over.

    --json prints lines for people on standard error, and at the end what `dcf show --json` prints, but no findings.
    """
    from dcf.cli.reading import views
    from dcf.cli.running.live_progress import LiveProgress

    try:
        with opening.application() as found, LiveProgress(quiet=as_json, stderr=as_json) as progress:
            document = _follow(found, workflow_id, progress)
    except KeyboardInterrupt:
        views.say(f"Interrupted. Run {workflow_id} goes on; `dcf watch {workflow_id}` watches it again.")
        raise
    if as_json:
        typer.echo(json_text(document, indent=2))
    elif progress.is_live:
        views.print_run(document)
    else:
        views.print_outcome(document["meta"])
    raise typer.Exit(exit_codes.of_run(document["meta"]["status"]))


def _follow(found: "Application", workflow_id: str, progress: "LiveProgress") -> dict[str, Json]:
    """Show the run until it is over, also while Redis cannot be reached for a while; return where it stands then."""
    from dcf.cli.processes.planner import once_possible
    from dcf.cli.running.obstacles import Obstacle

    obstacle = Obstacle(found.health, progress.say)
    while True:
        document = once_possible(lambda: found.runs.overview(workflow_id).as_json(), obstacle.tell, math.inf)
        progress(document)
        if document["meta"]["status"] != "running":
            return document
        time.sleep(_EVERY_S)
