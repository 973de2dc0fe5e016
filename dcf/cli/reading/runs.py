"""The command `dcf ls`: runs, those that are stuck first, then the newest.

It is started often, so what it works with is imported when it runs. Text from runs is untrusted (`text.clean`).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.patience import patience
from dcf.cli.places.choice import elsewhere, program
from dcf.cli.places.completion import complete_agent
from dcf.cli.reading.views import console, listed_status, print_line, say
from dcf.cli.text import clean
from dcf.errors import InvalidArgument
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.spans import check_time

if TYPE_CHECKING:
    from dcf.core.listing.runs import RunQuery

    Pages: TypeAlias = Callable[..., dict[str, Json]]

_STUCK_FIRST: Final = 20
"""Half of a list as long as this, and half of a shorter one, may be stuck runs, which stand before the newest."""

_LISTED: Final = 0.9
"""Share of all runs that have a status: with less, an earlier version made some, and no sweep has come by."""

_FIRST_PAGE: Final = "0"
_GAP: Final = 2
_ALWAYS: Final = 2  # columns shown on any terminal: the run and its status
_CUT_TO: Final = 12  # the last column is cut to no less than this
_NAME: Final = 40
_EXAMPLE: Final = "dcf run workflows/order_flow.py --input workflows/order_processing/order.json"
_TEXTS: Final = ("workflow", "version", "agent", "tag", "parent", "project")
_MEMBERS: Final = ("runs", "counts", "matching", "next_cursor")
_STATUSES: Final = ("running", "succeeded", "failed", "cancelled", "partial")


def list_runs(
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=1000)] = 20,
    status: Annotated[
        str | None, typer.Option(help=f"Only: {', '.join(_STATUSES)}.", autocompletion=lambda: _STATUSES)
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of the workflow of this name.")] = None,
    version: Annotated[
        str | None, typer.Option(help="Only of this version: the document's, or 8 or more characters of its SHA-256.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Only runs in which this agent is assigned.", autocompletion=complete_agent)
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    parent: Annotated[str | None, typer.Option(help="Only the child runs of this run.")] = None,
    project: Annotated[str | None, typer.Option(help="Only runs of this project.")] = None,
    since: Annotated[str | None, typer.Option(help="Only created since: 2h, 30d, or 2026-11-22T09:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Only created before.")] = None,
    stuck: Annotated[bool, typer.Option("--stuck", help="Only those in which somebody has to do something.")] = False,
    blocked: Annotated[bool, typer.Option("--blocked", help="Only those that an open issue blocks.")] = False,
    cursor: Annotated[str | None, typer.Option(help="Cursor, printed below each page; 0 begins.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List runs, newest first; one line for each. Without filters those that are stuck come before.

    A running run is stuck if its agents do not acquire its state after three reminders, or if its planner does not
    start it. --stuck says why of each. Where more than 500 runs are running the counts are near: an index may be
    ahead of a run by a moment.

    --json prints an array of runs, newest first; with --cursor (0 for the first page) an object {runs, counts,
    matching, next_cursor}.

    Example:  dcf ls --status failed --workflow order_processing --since 24h
    """
    from dcf.core.documents.model import RunStatus
    from dcf.core.listing.runs import RunQuery, read_cursor

    if status is not None and status not in _STATUSES:
        raise InvalidArgument(f"There is no status '{status[:20]}'.", f"Statuses are: {', '.join(_STATUSES)}.")
    now = time.time_ns() // 1000
    query = RunQuery(
        limit=limit,
        status=None if status is None else RunStatus(status),
        workflow=workflow,
        version=version,
        agent=agent,
        tag=tag,
        parent=parent,
        project=project,
        since=check_time("--since", since, now),
        until=check_time("--until", until, now),
        stuck=stuck,
        blocked=blocked,
        cursor=None if cursor == _FIRST_PAGE else read_cursor(cursor),
    )
    with _opened() as read, patience("reading the list"):
        begins = limit > 1 and cursor is None and not as_json and query == RunQuery(limit=limit)
        most = min(limit, _STUCK_FIRST) // 2
        first = read(RunQuery(limit=most, stuck=True))["runs"] if begins else []
        page = read(replace(query, limit=limit - len(first)), is_counted=not as_json)
    reasons = _reasons(page["runs"]) if stuck else {}
    if as_json:
        for row in page["runs"] if stuck else ():
            row["why"] = reasons.get(row["workflow_id"])
        members = {name: page[name] for name in _MEMBERS}
        print_json(page["runs"] if cursor is None else members)
        return
    _print(page, first, query)
    for workflow_id, why in reasons.items():
        print_line(f"{workflow_id}: {why}")


@contextmanager
def _opened() -> "Iterator[Pages]":
    """Open the list of the place in use, here without the tools: they take as long to import as all the rest.

    With `is_counted` the near counts of this machine are counted again: at a server a clock keeps them.
    """
    if elsewhere():
        from dcf.cli.places.place import place
        from dcf.cli.reading.answers import ask

        with place() as used:
            yield lambda query, **_: ask(used, "list_runs", **_arguments(query))
        return
    with opening.run_list() as run_list:

        def read(query: "RunQuery", *, is_counted: bool = False) -> dict[str, Json]:
            page = run_list.list_runs(query)
            return (replace(page, counts=run_list.counted_once(page.counts)) if is_counted else page).as_json()

        yield read


def _arguments(query: "RunQuery") -> dict[str, Json]:
    """Return the query as the tool takes it."""
    return {
        "limit": query.limit,
        "status": None if query.status is None else query.status.value,
        **{name: getattr(query, name) for name in _TEXTS},
        "since": _time(query.since),
        "until": _time(query.until),
        "stuck": query.stuck,
        "blocked": query.blocked,
        "cursor": None if query.cursor is None else str(query.cursor),
    }


def _reasons(rows: Sequence[Mapping[str, Json]]) -> dict[str, str]:
    """Return why each run does not move, in a sentence; runs that nothing holds up are left out."""
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import first_reason

    reasons: dict[str, str] = {}
    if not rows:
        return reasons
    with place() as used, patience("runs explained:", lambda: len(reasons), len(rows)):
        for row in rows:
            why = first_reason(used, row["workflow_id"])
            if why is not None:
                reasons[row["workflow_id"]] = why
    return reasons


def _print(page: Mapping[str, Json], first: Sequence[Mapping[str, Json]], query: "RunQuery") -> None:
    known = {row["workflow_id"] for row in first}
    rows = [*first, *(row for row in page["runs"] if row["workflow_id"] not in known)]
    runs = page["counts"].get("runs")
    if rows:
        print_runs(rows)
    elif runs == 0:
        typer.echo(f"No runs yet. Try:\n  {_EXAMPLE}")
    else:
        typer.echo("No run is like that.")
    if rows or runs:
        say(_sums(page, len(rows), query))


def print_runs(rows: Sequence[Mapping[str, Json]]) -> None:
    """Print runs, one line each, in as many columns as fit the screen."""
    out = console()
    out.print(_fitting(_columns(rows), out.width))


def _sums(page: Mapping[str, Json], shown: int, query: "RunQuery") -> str:
    """Return the sentence below the list: how many of how many, and how to read the next page.

    A key that is bound to a project gets no counts.
    """
    counts, many = dict(page["counts"]), page["matching"]
    runs, stuck = counts.pop("runs", 0), counts.pop("stuck", 0)
    of = f"{shown:,}" if many is None else f"{shown:,} of {max(many, shown):,}"
    by_status = [f"{count:,} {status}" for status, count in counts.items() if count]
    by_status += [f"{stuck:,} stuck"] if stuck else []
    text = f"{of} {'run' if max(many or 0, shown) == 1 else 'runs'}"
    text += f"; in all {', '.join(by_status)}." if by_status else "."
    if sum(counts.values()) < runs * _LISTED:
        text += " Some were made by an earlier version; `dcf doctor --repair` lets filters find them, or an hour does."
    if page["next_cursor"] is None:
        return text
    return f"{text} Older ones: {program()} ls{_repeated(query)} --cursor {page['next_cursor']}"


def _repeated(query: "RunQuery") -> str:
    """Return the options that the next page needs."""
    words = {"status": query.status, **{name: getattr(query, name) for name in _TEXTS}}
    words |= {"since": _time(query.since), "until": _time(query.until)}
    texts = [f" --{name} {quote(clean(value))}" for name, value in words.items() if value is not None]
    return "".join(texts) + (" --stuck" if query.stuck else "") + (" --blocked" if query.blocked else "")


def _time(micros: int | None) -> str | None:
    return None if micros is None else to_text(micros)


def _columns(rows: Sequence[Mapping[str, Json]]) -> dict[str, Sequence[Text]]:
    return {
        "run": [Text(clean(row["workflow_id"])) for row in rows],
        "status": [listed_status(row) for row in rows],
        "states": [Text(_progress(row)) for row in rows],
        "created": [Text(clean(row["created_at"] or "", 20)[:19].replace("T", " ")) for row in rows],
        "workflow": [Text(name) for name in _workflows(rows)],
    }


def _progress(row: Mapping[str, Json]) -> str:
    done = "?" if row["states_done"] is None else row["states_done"]
    return "" if row["states"] is None else f"{done}/{row['states']}"


def _workflows(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return each run's workflow with its version, and with its definition where one version has several."""
    workflows = {(row["workflow_name"], row["version"], row["definition"]) for row in rows}
    several = Counter((name, version) for name, version, _ in workflows)
    return [_workflow(row, is_one=several[row["workflow_name"], row["version"]] == 1) for row in rows]


def _workflow(row: Mapping[str, Json], *, is_one: bool) -> str:
    name, version, definition = clean(row["workflow_name"] or "", _NAME), row["version"], clean(row["definition"])
    if version is None:
        return f"{name}@{definition}" if definition else name
    return f"{name}@{clean(version, _CUT_TO)}" if is_one else f"{name}@{clean(version, _CUT_TO)}/{definition}"


def _fitting(columns: Mapping[str, Sequence[Text]], width: int) -> Table:
    """Return a table of as many columns, from the first, as fit the width; two always do, and the last is cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown: list[Sequence[Text]] = []
    for name, cells in columns.items():
        needed, gap = max(len(name), *(cell.cell_len for cell in cells)), _GAP if shown else 0
        if needed + gap > width and len(shown) >= _ALWAYS:
            if width - gap < _CUT_TO or name != list(columns)[-1]:
                break
            needed = width - gap
        width -= needed + gap
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=needed)
        shown.append([_cut(cell, needed) for cell in cells])
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    return table


def _cut(cell: Text, width: int) -> Text:
    """Return a workflow and its version in this width; the name is cut before the version, which tells runs apart."""
    name, _, version = cell.plain.rpartition("@")
    room = width - len(version) - 2
    if cell.cell_len <= width or room < 1:
        return cell
    short = Text(name)
    short.truncate(room + 1, overflow="ellipsis")
    return Text(f"{short.plain}@{version}")
