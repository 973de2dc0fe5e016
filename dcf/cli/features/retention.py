"""Prints the answers of `dcf runs delete` and `dcf runs hold`; has the command `dcf runs prune`.

`prune` goes through the list of runs page by page and deletes one run after the other, so it can be stopped at any time
and repeated.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, NamedTuple

import typer

from dcf.cli.arguments import JsonFlag, Yes
from dcf.cli.asking import ask
from dcf.cli.commands.formats import print_json
from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.patience import patience
from dcf.cli.places.place import Place, place
from dcf.cli.reading.answers import ask as call_tool
from dcf.cli.reading.answers import pages
from dcf.cli.reading.views import say
from dcf.cli.text import clean
from dcf.errors import InvalidArgument, ToolCallFailed
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json
from dcf.values.spans import read_span

_PAGE: Final = 200
_ENDED: Final = ("succeeded", "failed", "cancelled", "partial")
_CHANGED: Final = ("run_live", "on_hold")
"""Why a run that was found is not deleted."""


def show_deleted(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say that a run is gone."""
    run = clean(call["workflow_id"])
    typer.echo(f"{run} is deleted." if answer["existed"] else f"There is no run {run}; nothing was to be deleted.")


def show_held(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say whether a run is on hold."""
    standing = "is on hold" if answer["hold"] else "is not on hold"
    again = "" if answer["changed"] else ", as it was before"
    typer.echo(f"{clean(call['workflow_id'])} {standing}{BEFORE if answer['repeated'] else again}.")


def prune(
    older_than: Annotated[str, typer.Option(help="Only runs that ended longer ago than this: 30d, 12h.")],
    status: Annotated[
        list[str] | None, typer.Option(help=f"Only of this status; may be repeated: {', '.join(_ENDED)}.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of the workflow of this name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete runs that ended long ago: counts them, asks, and deletes them one by one. Runs on hold are kept.

    Stopped with Ctrl-C it has deleted some; the same command deletes the rest.

    Example:  dcf runs prune --older-than 30d --status failed --dry-run
    """
    before, statuses = _moment(older_than), _checked(status)
    with place() as used:
        names, counts = _candidates(used, _Old(older_than, before, workflow, tag), statuses)
        report: dict[str, Json] = {"found": len(names), "by_status": dict(counts), "deleted": 0, "kept": 0}
        if not as_json:
            say(_found(counts, older_than))
        if names and not dry_run:
            ask(f"Delete {'it' if len(names) == 1 else f'these {len(names):,} runs'} permanently?", yes=yes)
            deleted = _delete_all(used, names)
            report |= {"deleted": deleted, "kept": len(names) - deleted}
    if as_json:
        print_json(report)
    elif names and not dry_run:
        remark = f"; {report['kept']:,} changed meanwhile and are kept" if report["kept"] else ""
        typer.echo(f"{report['deleted']:,} {_runs(int(report['deleted']))} deleted{remark}.")


def _moment(older_than: str) -> int:
    """Return the moment before which a run ended so long ago."""
    span = read_span(older_than)
    if span is None:
        raise InvalidArgument("--older-than is no length of time.", "Write it as 30d, 12h, 30m or 45s.")
    return time.time_ns() // 1000 - span * SECOND


def _checked(statuses: list[str] | None) -> tuple[str, ...]:
    unknown = next((status for status in statuses or () if status not in _ENDED), None)
    if unknown is not None:
        raise InvalidArgument(f"'{unknown[:20]}' is not a status of an ended run.", f"Use: {', '.join(_ENDED)}.")
    return tuple(dict.fromkeys(statuses or _ENDED))


def _found(counts: Mapping[str, int], older_than: str) -> str:
    number, by_status = sum(counts.values()), ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"{number:,} {_runs(number)} ended more than {older_than} ago{f': {by_status}' if number else ''}."


class _Old(NamedTuple):
    """Which runs are to be deleted: those that ended before this moment."""

    older_than: str
    before: int
    workflow: str | None
    tag: str | None


def _candidates(used: Place, old: _Old, statuses: tuple[str, ...]) -> tuple[list[str], Counter[str]]:
    """Return the runs to delete, and how many there are of each status."""
    names, counts = list[str](), Counter[str]()
    with patience("runs found:", lambda: len(names)):
        for status in statuses:
            for name in _old_runs(used, old, status):
                names.append(name)
                counts[status] += 1
    return names, counts


def _old_runs(used: Place, old: _Old, status: str) -> Iterator[str]:
    """Yield the runs that may be deleted. The index has them by their creation, which was before their end."""
    filters = {"status": status, "workflow": old.workflow, "tag": old.tag, "until": old.older_than, "project": None}
    for row in pages(used, "list_runs", "runs", **filters, limit=_PAGE):
        ended = from_text(row["finished_at"])
        if ended is not None and ended < old.before and not row["hold"]:
            yield row["workflow_id"]


def _delete_all(used: Place, names: list[str]) -> int:
    """Delete runs one by one, and show how far it is. Return how many were deleted."""
    deleted = 0
    try:
        with patience("runs deleted:", lambda: deleted, len(names)):
            for name in names:
                deleted += _is_deleted(used, name)
    except KeyboardInterrupt:
        say(f"Stopped: {deleted:,} of {len(names):,} are deleted. The same command deletes the rest.")
        raise
    return deleted


def _is_deleted(used: Place, name: str) -> bool:
    """Delete a run; return False for a run that changed meanwhile and stays."""
    try:
        return bool(call_tool(used, "delete_run", workflow_id=name, reason="pruned")["existed"])
    except ToolCallFailed as refused:
        if refused.code not in _CHANGED:
            raise
        return False


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"
