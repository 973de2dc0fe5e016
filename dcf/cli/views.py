"""What a person sees. Text from runs is untrusted: it is printed without markup and without control characters."""

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dcf.core.json_text import Json
from dcf.errors import DcfError, InvalidDefinition

_MARKS = {
    "pending": ("·", "dim"),
    "running": ("▶", "cyan"),
    "succeeded": ("✔", "green"),
    "failed": ("✘", "red"),
    "skipped": ("–", "dim"),
    "cancelled": ("◼", "yellow"),
    "partial": ("◐", "yellow"),
}
_LONGEST_CELL = 200


def clean(value: object, longest: int = _LONGEST_CELL) -> str:
    """Printable text on one line, cut where it gets long."""
    text = "".join(character if character.isprintable() else "�" for character in str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def status_text(status: object) -> Text:
    """A status as mark, word and colour; never colour alone."""
    mark, style = _MARKS.get(str(status), ("?", ""))
    return Text(f"{mark} {clean(status)}", style=style)


def print_error(error: DcfError) -> None:
    """What is wrong and what to do, on standard error."""
    console = Console(stderr=True, highlight=False)
    console.print(Text(f"dcf: {error.code}: {clean(error.message, 2000)}", style="red"), soft_wrap=True)
    console.print(Text(f"     {clean(error.hint, 2000)}"), soft_wrap=True)
    if isinstance(error, InvalidDefinition):
        for problem in error.problems:
            line = f"     {problem.path or '/'}: {problem.code}: {problem.message}"
            console.print(Text(clean(line, 2000)), soft_wrap=True)


def progress(*, quiet: bool) -> "Progress":
    """How `dcf run` shows what happens: a live table on a terminal, one line for each change otherwise."""
    return Progress(Console(stderr=True, highlight=False), quiet=quiet)


class Progress:
    """Called with each reading of the run."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._seen: dict[str, str] = {}
        self._live: Live | None = None

    def __call__(self, found: Mapping[str, Json]) -> None:
        """Show the run as it is now."""
        if self._console.is_terminal and not self._quiet:
            self._draw(found)
        else:
            self._tell(found)

    def _draw(self, found: Mapping[str, Json]) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(run_view(found["meta"], found["states"]), refresh=True)
        if found["meta"]["status"] != "running":
            self._live.stop()

    def _tell(self, found: Mapping[str, Json]) -> None:
        if not self._seen:
            self._say(f"run {found['workflow_id']}: {len(found['states'])} states")
        for name, doc in found["states"].items():
            now = f"{doc['status']} (attempt {doc['attempts']})" if doc["attempts"] > 1 else doc["status"]
            if self._seen.get(name, "pending") != now:
                self._say(f"{clean(name)}: {now}")
            self._seen[name] = now
        if found["meta"]["status"] != "running":
            self._say(f"run {found['meta']['status']}")

    def _say(self, line: str) -> None:
        self._console.print(Text(f"dcf: {line}"), soft_wrap=True)


def run_view(meta: Mapping[str, Json], states: Mapping[str, Json]) -> RenderableType:
    """A run as a heading and a table of its states."""
    heading = Text.assemble(
        status_text(meta.get("status")),
        f"  {clean(meta.get('workflow_id'))}  {clean(meta.get('workflow_name'))}",
    )
    return Group(heading, states_table(states))


def states_table(states: Mapping[str, Json]) -> Table:
    """One row a state: status, attempts, how long, and who holds it until when."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, justify in (("state", "left"), ("status", "left"), ("attempts", "right"), ("time", "right")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("note")
    for name, doc in states.items():
        attempts = str(doc["attempts"])
        table.add_row(Text(clean(name)), status_text(doc["status"]), attempts, duration(doc), Text(note(doc)))
    return table


def duration(doc: Mapping[str, Json]) -> str:
    """Time between start and finish in words; empty while there is none."""
    started, finished = doc.get("started_at"), doc.get("finished_at")
    if not started or not finished:
        return ""
    span = datetime.fromisoformat(finished) - datetime.fromisoformat(started)
    seconds = span.total_seconds()
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def note(doc: Mapping[str, Json]) -> str:
    """Why a state is as it is: who holds it, what it waits for, or its last error."""
    lease = doc.get("lease") or {}
    if doc["status"] == "running":
        return clean(f"held by {lease.get('owner_agent_id')} until {lease.get('expires_at')}")
    if doc.get("last_error"):
        return clean(doc["last_error"])
    waiting = [name for name, epoch in (doc.get("waits_for") or {}).items() if not epoch]
    if doc["status"] == "pending":
        return clean(f"waits for {', '.join(waiting)}") if waiting else "ready, taken by nobody yet"
    return ""


def print_result(result: Mapping[str, Json]) -> None:
    """The end of `dcf run`: the outcome, the time of each state, and where to look further."""
    console = Console(highlight=False)
    run_id = clean(result["workflow_id"])
    console.print(Text.assemble(status_text(result["status"]), f"  {run_id}"), soft_wrap=True)
    console.print(states_table(result["states"]))
    if result["status"] == "succeeded":
        print_document(console, result["output"])
    elif result["error"] or result["cause"]:
        console.print(Text(f"{clean(result['error'])}: {clean(result['cause'], 5000)}", style="red"), soft_wrap=True)
    console.print(Text(f"Look further: dcf show {run_id} · dcf events {run_id}", style="dim"), soft_wrap=True)


def print_document(console: Console, document: Json) -> None:
    """JSON for reading."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    for line in text.splitlines():
        console.print(Text(clean(line, 10_000)), soft_wrap=True)


def print_run(document: Mapping[str, Json]) -> None:
    """`dcf show`."""
    console = Console(highlight=False)
    meta = document["meta"]
    console.print(run_view(meta, document["states"]))
    for name in ("created_at", "finished_at", "finalized_at", "planner_agent_id", "error", "cause"):
        if meta.get(name) is not None:
            console.print(Text(f"{name}: {clean(meta[name], 5000)}"), soft_wrap=True)
    if meta.get("status") == "succeeded":
        print_document(console, meta.get("output"))


def print_runs(rows: Iterable[Mapping[str, Json]]) -> None:
    """`dcf ls`."""
    console = Console(highlight=False)
    rows = list(rows)
    if not rows:
        console.print("No runs yet. Try:")
        console.print("  dcf run workflows/order_processing.json --input workflows/order_processing/order.json")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "workflow", "status", "states", "created"):
        table.add_column(column, no_wrap=column == "run")
    for row in rows:
        table.add_row(
            Text(clean(row["workflow_id"])),
            Text(clean(row["workflow_name"], 40)),
            status_text(row["status"]),
            f"{row['states_done']}/{row['states']}",
            clean(row["created_at"])[:19].replace("T", " "),
        )
    console.print(table)


def print_event(event: Mapping[str, Json]) -> None:
    """One line of `dcf events`."""
    data = {name: value for name, value in event.items() if name not in {"id", "at", "type", "state"}}
    told = " ".join(f"{name}={clean(value)}" for name, value in data.items() if value is not None)
    line = f"{event['at'][11:23]}  {event['type']:<18} {clean(event['state'] or '')}  {told}"
    sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


def print_report(report: Mapping[str, Json]) -> None:
    """`dcf doctor`."""
    console = Console(highlight=False)
    for name, value in report.items():
        if name != "warnings":
            shown = ", ".join(value) if isinstance(value, list) else value
            console.print(Text(f"{name:<17} {clean(shown)}"), soft_wrap=True)
    for warning in report["warnings"]:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"), soft_wrap=True)
    if not report["warnings"]:
        console.print(Text("✔ nothing to complain about", style="green"))
