"""The command `dcf runs events`: what happened in a run, by state, type and time."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import ExportedFile, OptionalRun, check_run_or_file
from dcf.cli.commands.formats import print_json
from dcf.cli.places.choice import elsewhere
from dcf.cli.reading.source_places import document_of, with_place
from dcf.cli.reading.views import print_event, say
from dcf.errors import InvalidArgument
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.core.listing.events import EventQuery

_MOST: Final = 100_000
_NEWEST: Final = 100
_PAGE: Final = 500
_PAUSE_HERE_S: Final = 0.2
_PAUSE_THERE_S: Final = 1.0
_MILLISECOND: Final = 1000
_RUNNING: Final = "running"
_WHEN = "a time such as 2026-11-22T09:00:00Z, or how long ago, such as 15m, 2h or 3d."


def events(
    workflow_id: OptionalRun = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the run ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    state: Annotated[
        list[str] | None, typer.Option(help="Only of this state: its path, or its name; may be repeated.")
    ] = None,
    of_type: Annotated[
        list[str] | None, typer.Option("--type", help="Only of this type, such as StateFailed; may be repeated.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"Only from then on: {_WHEN}")] = None,
    until: Annotated[str | None, typer.Option(help=f"Only up to then: {_WHEN}")] = None,
    limit: Annotated[int | None, typer.Option(help="Maximum number of events.", min=1, max=_MOST)] = None,
    cursor: Annotated[str | None, typer.Option(help="Only after this event, by its id.")] = None,
    file: ExportedFile = None,
    newest: Annotated[bool, typer.Option("--newest", help="The latest first; 100 unless --limit says more.")] = False,
) -> None:
    """Print what happened in a run, in order; with --follow also what happens next, until the run ends.

    Where --limit leaves something out, the id to continue from is printed: pass it as --cursor.
    """
    from dcf.core.listing.events import EventQuery, check_cursor, check_moment

    check_run_or_file(workflow_id, file)
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

    events = read_file(file).events_of(query)
    ids = [event.get("id") for event in events]
    first = ids.index(cursor) + 1 if cursor in ids else 0
    for event in events[first:][:limit]:
        _print_one(event, as_json=as_json)


def _print(
    workflow_id: str, query: "EventQuery", cursor: str | None, limit: int | None, *, as_json: bool, follow: bool
) -> None:
    with _opened(workflow_id, query) as history:
        left, last = limit, cursor
        while left is None or left:
            is_last = not follow or history.is_over()  # before the page: what happened until then is on it
            page = history.page(last, _PAGE if left is None else min(left, _PAGE))
            for event in page["events"]:
                _print_one(with_place(event, history.document), as_json=as_json)
                last = event["id"]
            left = None if left is None else left - len(page["events"])
            if page["next_cursor"] is not None:
                last = page["next_cursor"]
            elif is_last:
                return
            elif not page["events"]:
                time.sleep(history.pause_s)
        if not follow:
            say(f"There may be more; continue with --cursor {last}")


@record(frozen=True, slots=True, kw_only=True)
class _History:
    """The history of a run: `page` reads some events after a cursor. `document` says where its states come from."""

    page: Callable[[str | None, int], Mapping[str, Json]]
    is_over: Callable[[], bool]
    document: Mapping[str, Json]
    pause_s: float


@contextmanager
def _opened(workflow_id: str, query: "EventQuery") -> Iterator[_History]:
    if elsewhere():
        with _opened_there(workflow_id, query) as history:
            yield history
        return
    with opening.application() as application:
        plane, histories = application.control_plane, application.histories

        def is_over() -> bool:
            meta = plane.read(workflow_id, (), whole_meta=False).meta
            return meta is not None and meta.status != _RUNNING

        yield _History(
            page=lambda last, most: histories.page(workflow_id, query, cursor=last, limit=most).as_json(),
            is_over=is_over,
            document=document_of(application, workflow_id),
            pause_s=_PAUSE_HERE_S,
        )


@contextmanager
def _opened_there(workflow_id: str, query: "EventQuery") -> Iterator[_History]:
    """Open a history at a server. No tool tells what file of Python the states of a run come from."""
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import ask

    filters: dict[str, Json] = {
        "workflow_id": workflow_id,
        "states_json": sorted(query.states) or None,
        "types_json": sorted(query.types) or None,
        "since": _moment(query.since),
        "until": _moment(query.until),
        "newest_first": query.newest_first,
    }
    look: dict[str, Json] = {"workflow_id": workflow_id, "summary": True, "limit": 1}
    with place() as used:
        yield _History(
            page=lambda last, most: ask(used, "read_run_events", **filters, cursor=last, limit=most),
            is_over=lambda: ask(used, "read_workflow_control_plane", **look)["meta"]["status"] != _RUNNING,
            document={},
            pause_s=_PAUSE_THERE_S,
        )


def _moment(millis: int | None) -> str | None:
    return None if millis is None else to_text(millis * _MILLISECOND)


def _print_one(event: Mapping[str, Json], *, as_json: bool) -> None:
    if as_json:
        print_json(dict(event), indent=None)
    else:
        print_event(event)
