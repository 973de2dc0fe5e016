"""The commands on runs that are over: `dcf delete`, `dcf hold` and `dcf prune`. They parse, ask, call and print.

`prune` goes through the list of runs page by page and deletes one run after the other, so it can be stopped at any time
and repeated.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.asking import ask
from dcf.cli.authorship import accepted, recorded
from dcf.cli.commands.lifecycle import BEFORE, Reason, RequestId, Yes
from dcf.cli.patience import patience
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument
from dcf.values.instants import SECOND, from_text
from dcf.values.spans import read_span

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.core.listing.runs import RunQuery, RunRow
    from dcf.values.json_text import Json

_PAGE: Final = 200
_ENDED: Final = ("succeeded", "failed", "cancelled", "partial")


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (delete, hold, prune):
        app.command()(command)


def delete(
    workflow_id: RunArgument,
    reason: Reason = None,
    request_id: RequestId = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a run that is over, with its documents, outputs and history, for good.

    A run that is running is refused: cancel it first. It asks before; --yes skips the question.
    """
    ask(f"Delete run {clean(workflow_id)} and all that is kept of it?", yes=yes)
    about = {"workflow_id": workflow_id} | ({} if reason is None else {"reason": reason})
    with opening.application() as found, recorded(found, "delete_run", about), patience("deleting the run"):
        answer = accepted(found.retention.delete(workflow_id, reason, request_id), workflow_id)
    if as_json:
        typer.echo(json_text({"workflow_id": workflow_id, "existed": answer.existed}, indent=2))
    elif answer.existed:
        typer.echo(f"{clean(workflow_id)} is deleted.")
    else:
        typer.echo(f"There is no run {clean(workflow_id)}; nothing was to be deleted.")


def hold(
    workflow_id: RunArgument,
    release: Annotated[bool, typer.Option("--release", help="Release the hold.")] = False,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep a run: on hold it is not deleted, not pruned and does not expire, until `dcf hold RUN --release`."""
    about = {"workflow_id": workflow_id, "hold": str(not release)} | ({} if reason is None else {"reason": reason})
    with opening.application() as found, recorded(found, "hold_run", about):
        answer = accepted(found.retention.hold(workflow_id, reason, request_id, is_held=not release), workflow_id)
    if as_json:
        shown = {"workflow_id": workflow_id, **answer.answer, "repeated": answer.repeated}
        typer.echo(json_text(shown, indent=2))
        return
    what = "is on hold" if answer.answer["hold"] else "is not on hold"
    again = "" if answer.answer["changed"] else ", as it was before"
    typer.echo(f"{clean(workflow_id)} {what}{BEFORE if answer.repeated else again}.")


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

    Example:  dcf prune --older-than 30d --status failed --dry-run
    """
    span, statuses = _span(older_than), _checked(status)
    with opening.application() as found:
        names, counts = _candidates(found, span, statuses, workflow, tag)
        told: dict[str, Json] = {"found": len(names), "by_status": dict(counts), "deleted": 0, "kept": 0}
        if not as_json:
            say(_found(counts, older_than))
        if names and not dry_run:
            ask(f"Delete {'it' if len(names) == 1 else f'these {len(names):,} runs'} for good?", yes=yes)
            about = {"older_than": older_than, "status": ",".join(statuses), "found": str(len(names))}
            with recorded(found, "prune", about):
                deleted = _delete_all(found, names)
            told |= {"deleted": deleted, "kept": len(names) - deleted}
    if as_json:
        typer.echo(json_text(told, indent=2))
    elif names and not dry_run:
        kept = f"; {told['kept']:,} changed meanwhile and are kept" if told["kept"] else ""
        typer.echo(f"{told['deleted']:,} {_runs(int(told['deleted']))} deleted{kept}.")


def _span(text: str) -> int:
    span = read_span(text)
    if span is None:
        raise InvalidArgument("--older-than is no length of time.", "Write it as 30d, 12h, 30m or 45s.")
    return span


def _checked(given: list[str] | None) -> tuple[str, ...]:
    unknown = next((one for one in given or () if one not in _ENDED), None)
    if unknown is not None:
        raise InvalidArgument(f"'{unknown[:20]}' is no status of a run that is over.", f"Use: {', '.join(_ENDED)}.")
    return tuple(dict.fromkeys(given or _ENDED))


def _found(counts: Mapping[str, int], older_than: str) -> str:
    number, by_status = sum(counts.values()), ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"{number:,} {_runs(number)} ended more than {older_than} ago{f': {by_status}' if number else ''}."


def _candidates(
    found: "Application", span: int, statuses: tuple[str, ...], workflow: str | None, tag: str | None
) -> tuple[list[str], Counter[str]]:
    """Return the runs to delete, and how many there are of each status. The server's clock decides how old they are."""
    from dcf.core.documents.model import RunStatus
    from dcf.core.listing.runs import RunQuery

    before = found.run_list.list_runs(RunQuery(limit=1)).now - span * SECOND
    names, counts = list[str](), Counter[str]()
    with patience("runs found:", lambda: len(names)):
        for status in map(RunStatus, statuses):
            query = RunQuery(limit=_PAGE, status=status, workflow=workflow, tag=tag, until=before)
            for row in _ended_before(found, query, before):
                names.append(row.workflow_id)
                counts[status.value] += 1
    return names, counts


def _ended_before(found: "Application", query: "RunQuery", before: int) -> "Iterator[RunRow]":
    """Yield the runs that may be deleted. The index has them by their creation, which was before their end."""
    while True:
        page = found.run_list.list_runs(query)
        for row in page.rows:
            ended = from_text(row.finished_at)
            if ended is not None and ended < before and not row.hold:
                yield row
        if page.next_cursor is None:
            return
        query = replace(query, cursor=page.next_cursor)


def _delete_all(found: "Application", names: list[str]) -> int:
    """Delete runs one by one, and show how far it is. Return how many were deleted."""
    from dcf.values.refusal import Refusal

    deleted = 0
    try:
        with patience("runs deleted:", lambda: deleted, len(names)):
            for name in names:
                answer = found.retention.delete(name, "pruned")
                deleted += not isinstance(answer, Refusal) and answer.existed
    except KeyboardInterrupt:
        say(f"Stopped: {deleted:,} of {len(names):,} are deleted. The same command goes on with the rest.")
        raise
    return deleted


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"
