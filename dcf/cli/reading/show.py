"""The commands `dcf show` and `dcf doctor`: where a run stands, and how dcf itself is."""

from pathlib import Path
from typing import Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, OptionalRun, check_run_or_file
from dcf.cli.commands.formats import print_json
from dcf.cli.patience import patience
from dcf.cli.places.choice import elsewhere, stay_here
from dcf.values.json_text import Json

_MOST_FOR_PROGRAMS = 2_000
"""Limit on the open states inside Parallel and Map that `dcf show --json` prints."""


def show(
    workflow_id: OptionalRun = None,
    as_json: JsonFlag = False,
    file: Annotated[Path | None, typer.Option(help="A run that was exported to this file (dcf runs export).")] = None,
) -> None:
    """Show where a run stands: its states, who holds what until when, output or error.

    What is open inside Parallel and Map stands below it, by branch or iteration: 10 of each, with --json up to 2000 in
    all; "more" counts what is left out.
    """
    check_run_or_file(workflow_id, file)
    document = _exported(file) if file is not None else _shown(workflow_id or "", as_json=as_json)
    if as_json:
        print_json(document)
    else:
        from dcf.cli.reading import source_places, views
        from dcf.cli.reading import why as diagnosis

        views.print_run(document)
        source_places.print_lines(document.get("source_lines", {}))
        diagnosis.print_findings(document["findings"])


def _exported(file: Path) -> dict[str, Json]:
    from dcf.cli.reading import export

    return export.shown(file)


def _shown(workflow_id: str, *, as_json: bool) -> dict[str, Json]:
    """Read what is shown of a run, and why it does not move."""
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import ask, overview
    from dcf.runs.views.inner_states import EACH

    with place() as used, patience("reading the run"):
        shown = overview(used, workflow_id, _MOST_FOR_PROGRAMS if as_json else EACH)
        return shown | {"findings": ask(used, "explain_run", workflow_id=workflow_id)["findings"]}


def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Repair the lists of runs, agents and API keys.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for a warning, too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check how dcf is: whether Redis takes writes, memory, durability, replicas, clock, agents, platform, lists.

    A row for each check; at a server those of its own report. With --repair, on this machine only, runs that no list
    has are listed again, and entries that name nothing go.

    Exit codes: 0 no check fails (warnings are printed), 4 Redis cannot be reached or calls fail, 1 another check fails,
    such as the clock, or with --strict warns.
    """
    from dcf.cli.reading import doctor as health

    if elsewhere() and not repair:
        from dcf.cli.places.place import place

        with place() as used, patience("asking the server how it is"):
            report = health.examine_at(used)
    else:
        stay_here(what="--repair")
        with opening.application() as application, patience("looking at Redis and all lists"):
            report = health.examine(application, repair=repair)
    if as_json:
        print_json(report)
    else:
        health.print_report(report)
    raise typer.Exit(health.exit_code(report, strict=strict))
