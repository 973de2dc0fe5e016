"""The command `dcf store audit`: changes outside runs, refused calls, log-ins and exports, listed or exported."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.patience import patience
from dcf.cli.reading.views import console, print_wrapped, say
from dcf.cli.text import clean, json_text
from dcf.core.access.model import KEY_CALLER
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.store.access.audit_trail import AuditEntry, AuditFilter, AuditTrail

_LONGEST = 300
_MOST = 10_000
_STDOUT: Final = Path("-")
_KEY_ID: Final = re.compile(r"[0-9a-f]{12}", re.ASCII)


def audit(
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=_MOST)] = 50,
    as_json: JsonFlag = False,
    key: Annotated[str | None, typer.Option(help="Only of this key (its id), or of local, the local user.")] = None,
    of_type: Annotated[
        str | None, typer.Option("--type", help="Only change, refusal, login or read, or one tool, such as json_set.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only from then on: 2026-11-22T09:00:00Z, or how long ago, as 2h.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only up to this time.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Append all entries, oldest first, to this file (-: standard output).")
    ] = None,
    after: Annotated[str | None, typer.Option(help="With --export: only entries after this one, by its id.")] = None,
) -> None:
    """List who changed agents, skills, files, documents and API keys, and what was refused, newest first.

    A change without an outcome is in progress, or its process died before it knew the outcome. For a run see
    `dcf runs events`.

    --export writes one JSON object to a line, the outcome of a change as a line of its own (`of`). It prints the id of
    the last entry; pass that as --after to continue.
    """
    from dcf.core.listing.events import CURSOR, check_moment
    from dcf.store.access.audit_trail import AuditFilter

    now = time.time_ns() // 1000
    audit_filter = AuditFilter(
        by=_author(key),
        type=of_type,
        since=check_moment("--since", since, now) or 0,
        until=check_moment("--until", until, now),
    )
    if after is not None and (export is None or not CURSOR.fullmatch(after)):
        raise InvalidArgument("--after is the id of an entry, and goes with --export.", "Pass the id printed before.")
    with opening.application() as application:
        if export is not None:
            _export(application.audit, export, after, audit_filter)
            return
        entries = application.audit.newest(limit, audit_filter)
    if as_json:
        print_json([entry.as_json() for entry in entries])
        return
    nothing = "Nothing was changed outside runs yet." if audit_filter == AuditFilter() else "There is no such entry."
    for line in [_line(entry) for entry in entries] or [Text(nothing)]:
        print_wrapped(console(), line, indent=21)


def _export(trail: "AuditTrail", to: Path, after: str | None, audit_filter: "AuditFilter") -> None:
    count, last = 0, after
    with _opened(to) as out, _export_progress(to, lambda: count):
        for entry in trail.each(after, audit_filter):
            out.write(f"{json_text(entry.as_json())}\n")
            count, last = count + 1, entry.entry_id
    say(f"{count} entries exported" + ("" if last is None else f"; continue with --after {last}"))


def _export_progress(to: Path, count: Callable[[], int]) -> AbstractContextManager[None]:
    """Show how many are exported, unless they are printed."""
    return nullcontext() if to == _STDOUT else patience("entries exported:", count)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open a file for appending, readable by its owner only; what was written is on disk when the block ends."""
    if path == _STDOUT:
        yield sys.stdout
        return
    try:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise InvalidArgument(f"The file of --export cannot be written: {error.strerror}.", "Name another.") from None
    with os.fdopen(number, "a", encoding="utf-8") as file:
        yield file
        file.flush()
        os.fsync(number)


def _author(key: str | None) -> str | None:
    return f"{KEY_CALLER}{key}" if key is not None and _KEY_ID.fullmatch(key) else key


def _line(entry: "AuditEntry") -> Text:
    about = ", ".join(f"{name} {value}" for name, value in entry.about.items())
    at, change, outcome = entry.at[:19].replace("T", " "), clean(entry.change), clean(entry.outcome or "-")
    return Text(f"{at}  {clean(entry.by or ''):<16}  {change:<14}  {outcome:<9}  {clean(about, _LONGEST)}".rstrip())
