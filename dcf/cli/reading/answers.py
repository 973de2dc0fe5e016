"""Answers of tools for commands that read: from the place in use, refused in the words of the command line."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dcf.cli.authorship import refused
from dcf.cli.places.context import with_project
from dcf.errors import ToolCallFailed, UnknownRun
from dcf.values.json_text import Json
from dcf.verbs.description.words import ID

if TYPE_CHECKING:
    from dcf.cli.places.place import Place

_PAGE: Final = 1000
_READ: Final = "read_workflow_control_plane"


def ask(used: "Place", tool: str, **arguments: Json) -> dict[str, Json]:
    """Return the answer of a tool to those arguments that are not None; raise ToolCallFailed for a refusal.

    If an argument cannot be the id of a run, the run is unknown: a server would refuse the form of the id.
    """
    run = arguments.get("workflow_id")
    if isinstance(run, str) and not re.fullmatch(ID, run):
        raise UnknownRun(run)
    sent = {name: value for name, value in with_project(arguments, used.choice.context).items() if value is not None}
    try:
        return used.call(tool, **sent)
    except ToolCallFailed as failure:
        raise refused(failure.code, failure.message, failure.hint, failure.answer, tool, sent) from None


def overview(used: "Place", workflow_id: str, each: int) -> dict[str, Json]:
    """Return where a run stands, with at most so many open states of each Map and Parallel, page after page."""
    arguments: dict[str, Json] = {"workflow_id": workflow_id, "overview": each, "limit": _PAGE}
    page = ask(used, _READ, **arguments)
    shown = {name: page[name] for name in ("meta", "states", "outputs", "more")}
    if page.get("source_lines") is not None:
        shown["source_lines"] = page["source_lines"]
    while page["next_cursor"] is not None:
        page = ask(used, _READ, **arguments, include_meta=False, cursor=page["next_cursor"])
        shown["states"] |= page["states"]
        shown["outputs"] |= page["outputs"]
    return shown


def first_reason(used: "Place", workflow_id: str) -> str | None:
    """Return why a run does not move, in a sentence; None if it does move, or was deleted."""
    try:
        findings = ask(used, "explain_run", workflow_id=workflow_id)["findings"]
    except ToolCallFailed as failure:
        if failure.code != UnknownRun.code:
            raise
        return None
    return str(findings[0]["sentence"]) if findings else None


def each_event(used: "Place", workflow_id: str) -> Iterator[dict[str, Json]]:
    """Yield the history of a run, oldest first, page after page."""
    return pages(used, "read_run_events", "events", workflow_id=workflow_id, limit=_PAGE)


def pages(used: "Place", tool: str, field: str, **arguments: Json) -> Iterator[dict[str, Json]]:
    """Yield what a field of a tool's answer has, page after page; a page is read when it is needed."""
    cursor = None
    while True:
        page = ask(used, tool, **arguments, cursor=cursor)
        yield from page[field]
        cursor = page["next_cursor"]
        if cursor is None:
            return
