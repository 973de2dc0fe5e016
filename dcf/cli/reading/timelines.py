"""The command `dcf runs timeline`: when each state of a run was ready, worked on, backing off, lost or waiting."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli.arguments import ExportedFile, JsonFlag, OptionalRun, check_run_or_file
from dcf.cli.commands.formats import print_json
from dcf.cli.patience import patience
from dcf.cli.reading import run_parts
from dcf.cli.reading.notes import seconds
from dcf.cli.reading.views import console, say
from dcf.cli.text import clean
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.asl.machine import Machine
    from dcf.workflows.drawing.timeline import StateTimes, Timeline

MOST_EVENTS: Final = 50_000
"""Events of a run that are read for its timeline."""

_BAR: Final = 40
_CELLS: Final[Mapping[str, tuple[str, str]]] = {
    "ready": ("░", "yellow"),
    "working": ("█", "cyan"),
    "backing_off": ("~", "magenta"),
    "lost_lease": ("x", "red"),
    "waiting": ("·", "dim"),
}


def show_timeline(
    workflow_id: OptionalRun = None,
    as_json: JsonFlag = False,
    file: ExportedFile = None,
) -> None:
    """Show when each state of a run was ready, worked on, backing off, had lost its agent, or waited.

    On a terminal bars, a row for each state; piped a line for each segment: state, seconds from the run's beginning,
    how long, what, and of work the attempt, the agent and how it ended. A `+` marks what still lasts.
    """
    check_run_or_file(workflow_id, file)
    timeline = of_file(file) if file is not None else _of_run(workflow_id or "")
    if as_json:
        print_json(timeline.as_json())
    elif sys.stdout.isatty():
        console().print(bars(timeline))
    else:
        for line in lines(timeline):
            typer.echo(line)


def of_file(file: Path) -> "Timeline":
    """Return the timeline of an exported run."""
    from dcf.cli.reading.export_files import read_file

    exported = read_file(file)
    return made(exported.head, exported.states.items(), exported.events)


def made(
    head: Mapping[str, Json], states: Iterable[tuple[str, Any]], events: Iterable[Mapping[str, Json]]
) -> "Timeline":
    """Fold the history of an export; raise InvalidArgument where there is none."""
    from dcf.workflows.drawing.timeline import kind_in, timeline

    machine = _machine(head.get("definition"))
    now, kinds, expired = from_text(head.get("exported_at")), dict[str, str | None](), dict[str, int]()
    for path, state in states:
        kinds[path] = state.get("kind") if machine is None else kind_in(machine, path)
        ended = _lease_end(state)
        if ended is not None and now is not None and ended <= now:
            expired[path] = ended
    left = iter(events)
    drawn = timeline(islice(left, MOST_EVENTS), kinds, expired)
    if next(left, None) is not None:
        say(f"only the first {MOST_EVENTS:,} events of the run were looked at")
    if drawn is None:
        raise InvalidArgument("The run has no history.", "Name a run that has one: `dcf ls`.")
    return drawn


def _machine(document: Json) -> "Machine | None":
    """Return the workflow of the run; None if it cannot be read, in a file that somebody changed."""
    from dcf.core.definitions.model import read_definition
    from dcf.features import installed_language  # noqa: F401 - a workflow is read

    try:
        return read_definition(document).machine
    except InvalidDefinition:
        return None


def _lease_end(state: Mapping[str, Any]) -> int | None:
    """Return when the lease ends of a state that is worked on; None where there is none, or while it is judged."""
    is_worked_on = state.get("status") == "running" and state.get("type") is None
    lease = state.get("lease") if is_worked_on else None
    is_leased = isinstance(lease, Mapping) and lease.get("token") is not None
    return from_text(lease.get("expires_at")) if is_leased and lease is not None else None


def _of_run(workflow_id: str) -> "Timeline":
    with run_parts.opened(workflow_id) as run, patience("reading the run"):
        return made(run.head, run.states, run.events)


def lines(timeline: "Timeline") -> Iterator[str]:
    """Yield a line for each segment, its parts divided by tabs."""
    for row in timeline.rows:
        for segment in row.segments:
            length = (timeline.last if segment.end is None else segment.end) - segment.start
            lasts = "+" if segment.end is None else ""
            facts = (
                f"attempt {segment.attempt}" if segment.attempt else "",
                segment.agent or "",
                segment.outcome or "",
            )
            start, took = (segment.start - timeline.start) / SECOND, f"{length / SECOND:.3f}{lasts}"
            parts = (clean(row.state), f"{start:.3f}", took, segment.phase.value, *map(clean, facts))
            yield "\t".join(parts).rstrip("\t")
        if not row.segments and row.outcome:
            yield f"{clean(row.state)}\t\t\t{row.outcome}"


def bars(timeline: "Timeline") -> Table:
    """Return a table with a bar for each state, and how long it was ready and worked on."""
    table = Table(box=None, pad_edge=False, header_style="bold", caption=_legend(), caption_justify="left")
    table.add_column("state", overflow="ellipsis", no_wrap=True)
    table.add_column("timeline", no_wrap=True, min_width=_BAR)
    for name in ("ready", "working"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ended", no_wrap=True)
    for row in timeline.rows:
        ready, working = (_sum(row, name, timeline) for name in ("ready", "working"))
        table.add_row(Text(clean(row.state)), _bar(row, timeline), ready, working, Text(row.outcome or "-"))
    return table


def _bar(row: "StateTimes", timeline: "Timeline") -> Text:
    """Draw the segments to scale; work is drawn last, so that short work is seen."""
    whole = max(1, (timeline.end or timeline.last) - timeline.start)
    cells = [(" ", "")] * _BAR
    for segment in sorted(row.segments, key=lambda item: item.phase.value == "working"):
        end = timeline.last if segment.end is None else segment.end
        first = min(_BAR - 1, _BAR * max(0, segment.start - timeline.start) // whole)
        after = min(_BAR, max(first + 1, -(-_BAR * (end - timeline.start) // whole)))
        cells[first:after] = [_CELLS[segment.phase.value]] * (after - first)
    return Text.assemble(*cells)


def _sum(row: "StateTimes", phase: str, timeline: "Timeline") -> str:
    from dcf.workflows.drawing.timeline import Phase

    took = row.seconds_in(Phase(phase), timeline.last)
    return seconds(took) if took else "-"


def _legend() -> Text:
    marks = (((f" {mark} ", style), f"{name.replace('_', ' ')} ") for name, (mark, style) in _CELLS.items())
    return Text.assemble(*(part for pair in marks for part in pair))
