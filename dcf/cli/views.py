"""What the commands print for people. Text from runs is untrusted: markup and control characters are neutralized."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dcf.cli.notes import attempts, duration, note
from dcf.cli.text import clean, json_text
from dcf.errors import DcfError, InvalidDefinition, StoreUnavailable
from dcf.runs.insides import tree
from dcf.values.json_text import Json

_MARKS = {
    "pending": ("·", "dim"),
    "running": ("▶", "cyan"),
    "succeeded": ("✔", "green"),
    "failed": ("✘", "red"),
    "skipped": ("-", "dim"),
    "cancelled": ("◼", "yellow"),
    "partial": ("◐", "yellow"),
    "paused": ("‖", "yellow"),
}
_WIDE = 500
"""Columns where there is no screen: a pipe or a file gets each row on one line."""

_LONGEST = 5000
_USUAL_NAME = 24  # a state's name up to this length is not cut; the note beside it is
_GAP = 2
_ALWAYS = 2  # columns of `dcf ls` shown on any terminal: the run and its status
_EXAMPLE = "dcf run workflows/order_processing.json --input workflows/order_processing/order.json"
_FACTS = ("created_at", "started_at", "paused_at", "finished_at", "finalized_at", "finalize_note", "planner_agent_id")


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; where there is no terminal, as wide as the text needs."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _WIDE)


def status_text(status: object) -> Text:
    """Show a status as mark, word and colour; never as colour alone."""
    mark, style = _MARKS.get(str(status), ("?", ""))
    return Text(f"{mark} {clean(status)}", style=style, no_wrap=True)


def run_word(about: Mapping[str, Json]) -> str:
    """Return the status of a run, by its meta document or its line in the list; `paused` stands for running there."""
    is_paused = about.get("status") == "running" and about.get("paused_at") is not None
    return "paused" if is_paused else str(about.get("status"))


def print_error(error: DcfError) -> None:
    """Print on standard error what is wrong and what to do."""
    out = console(stderr=True)
    if isinstance(error, InvalidDefinition):
        _print_problems(out, error)
        return
    _line(out, f"dcf: {clean(error.code)}: {clean(error.message, _LONGEST)}", "red")
    if isinstance(error, StoreUnavailable) and error.place is not None:
        _line(out, f"     It was looked for at {clean(error.place, _LONGEST)}.")
    _line(out, f"     {clean(error.hint, _LONGEST)}")
    for noted in notes_of(error):
        _line(out, f"     {clean(noted, _LONGEST)}")


def _print_problems(out: Console, error: InvalidDefinition) -> None:
    """List what is wrong with a workflow, each problem once."""
    count = "a problem" if len(error.problems) == 1 else f"{len(error.problems)} problems"
    _line(out, f"dcf: {clean(error.code)}: The workflow has {count}:", "red")
    for problem in error.problems:
        _line(out, clean(f"     {problem.path or '/'}: {problem.code}: {problem.message} {problem.hint}", _LONGEST))
    _line(out, "     `dcf validate FILE` tells the lines.")


def notes_of(error: BaseException) -> list[str]:
    """Return the notes on an error that are for the user of the command."""
    return getattr(error, "__notes__", [])


def say(sentence: str) -> None:
    """Print a sentence on standard error, beside the result."""
    _line(console(stderr=True), f"dcf: {clean(sentence, _LONGEST)}")


def run_view(
    meta: Mapping[str, Json], states: Mapping[str, Json], now: datetime, more: Mapping[str, int] | None = None
) -> RenderableType:
    """Show a run as a heading and a table of states; `more` counts the rows left out, by Parallel or Map."""
    names = f"  {clean(meta.get('workflow_id'))}  {clean(meta.get('workflow_name'))}"
    heading = Text.assemble(status_text(run_word(meta)), names, no_wrap=True, overflow="ellipsis")
    return Group(heading, states_table(states, now, more))


def states_table(states: Mapping[str, Json], now: datetime, more: Mapping[str, int] | None = None) -> Table:
    """Return one row per state, with open states inside it below: status, attempts, duration and the reason."""
    found = [(row, clean("  " * row.depth + row.label)) for row in tree(states, more or {})]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("state", overflow="ellipsis", no_wrap=all(len(name) <= _USUAL_NAME for _, name in found))
    table.add_column("status", no_wrap=True, min_width=11)
    table.add_column("attempts", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("note", overflow="ellipsis")
    for row, name in found:
        if row.path is None:
            table.add_row(Text(name, style="dim", no_wrap=True, overflow="ellipsis"))
            continue
        doc = states[row.path]
        cells = (attempts(doc), duration(doc, now), note(doc, now))
        table.add_row(_cell(name), status_text(doc["status"]), *map(_cell, cells))
    return table


def print_result(result: Mapping[str, Json], logs: Path | None) -> None:
    """Print the end of `dcf run`: the outcome, the duration of each state, and where to look further."""
    out = console()
    run_id = clean(result["workflow_id"])
    out.print(Text.assemble(status_text(result["status"]), f"  {run_id}"), soft_wrap=True)
    out.print(states_table(result["states"], datetime.now(UTC)))
    if result["status"] == "succeeded":
        print_document(out, result["output"])
    else:
        _print_why(out, result)
    _line(out, f"Look further:\n  dcf show {run_id}\n  dcf events {run_id}", "dim")
    if logs is not None:
        _line(out, f"Logs of its processes: {clean(logs)}", "dim")


def _print_why(out: Console, about: Mapping[str, Json]) -> None:
    """Print why a run did not succeed: its error and cause; a cancelled run has the reason as its cause."""
    told = [clean(about[name], _LONGEST) for name in ("error", "cause") if about.get(name) is not None]
    if told:
        _line(out, ": ".join(told), "red")


def print_document(out: Console, document: Json) -> None:
    """Print indented JSON."""
    for line in json_text(document, indent=2).split("\n"):
        _line(out, line)


def print_run(document: Mapping[str, Json]) -> None:
    """Print a run for `dcf show`."""
    out = console()
    meta = document["meta"]
    exported_at = document.get("exported_at")
    now = datetime.fromisoformat(exported_at) if exported_at else datetime.now(UTC)
    out.print(run_view(meta, document["states"], now, document["more"]))
    for name in _FACTS:
        if meta.get(name) is not None:
            _line(out, f"{name}: {clean(meta[name], _LONGEST)}")
    _print_why(out, meta)
    if meta.get("status") == "succeeded":
        print_document(out, meta.get("output"))


def print_runs(rows: Sequence[Mapping[str, Json]]) -> None:
    """Print the runs for `dcf ls`, one line each."""
    out = console()
    if not rows:
        _line(out, "No runs yet. Try:")
        _line(out, f"  {_EXAMPLE}")
        return
    columns = {
        "run": [Text(clean(row["workflow_id"])) for row in rows],
        "status": [status_text(run_word(row)) for row in rows],
        "states": [Text(f"{row['states_done']}/{row['states']}") for row in rows],
        "created": [Text(clean(row["created_at"], 20)[:19].replace("T", " ")) for row in rows],
        "workflow": [Text(clean(row["workflow_name"], 40)) for row in rows],
    }
    out.print(_fitting(columns, out.width))


def print_event(event: Mapping[str, Json]) -> None:
    """Print one event for `dcf events`."""
    data = {name: value for name, value in event.items() if name not in {"id", "at", "type", "state"}}
    told = " ".join(f"{clean(name)}={clean(value)}" for name, value in data.items() if value is not None)
    line = f"{event['at'][11:23]}  {clean(event['type']):<18} {clean(event['state'] or '')}  {told}"
    sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


def _fitting(columns: Mapping[str, Sequence[Text]], width: int) -> Table:
    """Return a table of as many columns, from the first, as fit the width; two always do on a usual terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown: list[Sequence[Text]] = []
    for name, cells in columns.items():
        width -= max(len(name), *(cell.cell_len for cell in cells)) + (_GAP if shown else 0)
        if width < 0 and len(shown) >= _ALWAYS:
            break
        table.add_column(name, no_wrap=True)
        shown.append(cells)
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    return table


def _cell(text: str) -> Text:
    """Return a cell that is shortened instead of wrapped."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(text, style=style), soft_wrap=True)
