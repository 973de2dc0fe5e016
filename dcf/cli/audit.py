"""The command `dcf audit`: the changes made outside runs, and who made them, newest first."""

from typing import Annotated

import typer
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
        return
    for line in [_line(entry) for entry in entries] or [Text("Nothing was changed outside runs yet.")]:
        console().print(line, soft_wrap=True)


def _line(entry: AuditEntry) -> Text:
    about = ", ".join(f"{name} {value}" for name, value in entry.about.items())
    at, change, outcome = entry.at[:19].replace("T", " "), clean(entry.change), clean(entry.outcome or "-")
    return Text(f"{at}  {clean(entry.by or ''):<16}  {change:<14}  {outcome:<9}  {clean(about, _LONGEST)}".rstrip())
