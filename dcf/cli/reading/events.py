"""The command `dcf events`: what happened in a run, by state, type and time."""

import sys
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import OptionalRun
from dcf.cli.reading.source_places import document_of, with_place
from dcf.cli.reading.views import print_event, say
from dcf.cli.text import json_text
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.core.listing.events import EventQuery

_MOST: Final = 100_000
_NEWEST: Final = 100
_WHEN = "a time such as 2026-11-22T09:00:00Z, or how long ago, such as 15m, 2h or 3d."


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(events)


def events(
    workflow_id: OptionalRun = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the run is over.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    state: Annotated[
        list[str] | None, typer.Option(help="Only of this state: its path, or its name; may be repeated.")
    ] = None,
    of_type: Annotated[
        list[str] | None, typer.Option("--type", help="Only of this type, such as StateFailed; may be repeated.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"Only from then on: {_WHEN}")] = None,
    until: Annotated[str | None, typer.Option(help=f"Only up to then: {_WHEN}")] = None,
    limit: Annotated[int | None, typer.Option(help="So many at most.", min=1, max=_MOST)] = None,
    cursor: Annotated[str | None, typer.Option(help="Only after this event, by its id.")] = None,
    file: Annotated[Path | None, typer.Option(help="Of a run that was exported to this file (dcf export).")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="The latest first; 100 unless --limit says more.")] = False,
) -> None:
    """Print what happened in a run, in order; with --follow also what happens next, until the run is over.

    Where --limit leaves something out, the id to go on from is printed: pass it as --cursor.
    """
    from dcf.core.listing.events import EventQuery, check_cursor, check_moment

    if (workflow_id is None) == (file is None):
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
    if newest and follow:
        raise InvalidArgument("--follow goes from the oldest event to the newest.", "Leave out --newest or --follow.")
    now = time.time_ns() // 1000
    query = EventQuery(
        states=frozenset(state or ()),
        types=frozenset(of_type or ()),
        since=check_moment("--since", since, now),
        until=check_moment("--until", until, now),
        newest_first=newest,
    )
    check_cursor(cursor)
    most = limit or (_NEWEST if newest else None)
    if file is not None:
        _print_file(file, query, cursor, most, as_json=as_json)
    elif workflow_id is not None:
        _print(workflow_id, query, cursor, most, as_json=as_json, follow=follow)


def _print_file(file: Path, query: "EventQuery", cursor: str | None, limit: int | None, *, as_json: bool) -> None:
    from dcf.cli.reading.export_files import read_file

    found = read_file(file).events_of(query)
    ids = [one.get("id") for one in found]
    first = ids.index(cursor) + 1 if cursor in ids else 0
    for event in found[first:][:limit]:
        _print_one(event, as_json=as_json)


def _print(
    workflow_id: str, query: "EventQuery", cursor: str | None, limit: int | None, *, as_json: bool, follow: bool
) -> None:
    with opening.application() as found:
        document = document_of(found, workflow_id)
        if limit is None or follow:
            all_of_them = found.histories.follow(workflow_id, query, cursor=cursor, onwards=follow)
            for happening in islice(all_of_them, limit):
                _print_one(with_place(happening.as_json(), document), as_json=as_json)
            return
        left, last = limit, cursor
        while left:
            page = found.histories.page(workflow_id, query, cursor=last, limit=left)
            for happening in page.events:
                _print_one(with_place(happening.as_json(), document), as_json=as_json)
            left, last = left - len(page.events), page.next_cursor
            if last is None:
                return
        say(f"There may be more; go on with --cursor {last}")


def _print_one(event: Mapping[str, Json], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json_text(dict(event)) + "\n")
        sys.stdout.flush()
    else:
        print_event(event)
