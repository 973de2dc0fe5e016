"""The command `dcf audit`: who changed what outside runs, newest first."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from dcf.application import open_application
from dcf.cli.text import clean, json_text
from dcf.cli.views import console
from dcf.settings import read_settings
from dcf.store.audit_trail import AuditEntry

_LONGEST = 300
_MOST = 10_000


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(audit)


def audit(
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=_MOST)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")] = False,
) -> None:
    """List who changed agents, skills, files, documents and API keys, newest first. For a run see `dcf events`.

    A change without an outcome goes on, or its process died before it was told.
    """
    with open_application(read_settings()) as found:
        entries = found.audit.newest(limit)
    if as_json:
        typer.echo(json_text([entry.as_json() for entry in entries], indent=2))
    else:
        console().print(_table(entries) if entries else Text("Nothing was changed outside runs yet."))


def _table(entries: list[AuditEntry]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("at", "by", "change", "about", "outcome"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for entry in entries:
        table.add_row(*map(Text, _cells(entry)))
    return table


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    about = ", ".join(f"{name} {value}" for name, value in entry.about.items())
    at = entry.at[:19].replace("T", " ")
    return at, clean(entry.by or ""), clean(entry.change), clean(about, _LONGEST), clean(entry.outcome or "-")
