"""The output of the commands on a run's journal, and `dcf journal ls`, which reads all pages."""

import time
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Final

import typer

from dcf.cli.arguments import RunArgument
from dcf.cli.commands.formats import print_json
from dcf.cli.places.completion import complete_agent
from dcf.cli.places.place import place
from dcf.cli.reading.answers import pages
from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_commands
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_KINDS: Final = ("log", "decision", "milestone", "issue", "note", "handoff")
_PAGE: Final = 200
_SHOWN: Final = 2000


def show(
    run: RunArgument,
    kind: Annotated[str | None, typer.Option(help=f"Only: {', '.join(_KINDS)}.", autocompletion=lambda: _KINDS)] = None,
    agent: Annotated[
        str | None, typer.Option(help="Only by this agent or person.", autocompletion=complete_agent)
    ] = None,
    state: Annotated[str | None, typer.Option(help="Only about this state.")] = None,
    is_open: Annotated[bool, typer.Option("--open", help="Only issues that are not resolved.")] = False,
    since: Annotated[str | None, typer.Option(help="Only written since: 2h, 30d, or 2026-11-22T09:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Only written before.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="The latest first.")] = False,
    limit: Annotated[int | None, typer.Option(help="So many at most.", min=1)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as a Markdown page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show the journal of a run: `dcf journal ls RUN` is enough."""
    from dcf.features.journal.query import kind_of
    from dcf.values.spans import check_time

    kind_of(kind)  # raises for a word that is none
    now = time.time_ns() // 1000
    filters: dict[str, Json] = {
        "workflow_id": run,
        "limit": min(limit or _PAGE, _PAGE),
        "kind": kind,
        "agent": agent,
        "state": state,
        "open": is_open,
        "since": _moment(check_time("--since", since, now)),
        "until": _moment(check_time("--until", until, now)),
        "oldest_first": not newest,
    }
    with place() as used:
        entries = islice(pages(used, "read_journal", "entries", **filters), limit)
        if markdown:
            from dcf.workflows.drawing.journal_page import journal_page

            for line in journal_page(run, entries):
                typer.echo(line)
            return
        for entry in entries:
            if as_json:
                print_json(entry, indent=None)
            else:
                _print_entry(run, entry)


def _moment(micros: int | None) -> str | None:
    return None if micros is None else to_text(micros)


def _print_entry(run: str, entry: dict[str, Json]) -> None:
    about = f" {clean(entry['state'])}" if entry.get("state") else ""
    word = entry["kind"]
    if word == "issue":
        word = "issue (resolved)" if not entry["open"] else "issue (blocks)" if entry["blocks"] else "issue (open)"
    print_line(f"{str(entry['at'])[:19]}Z  {word}  {clean(entry['agent'])}{about}: {clean(entry['text'], _SHOWN)}")
    for name, value in (entry.get("details") or {}).items():
        print_line(f"    {clean(name)}: {clean(value if isinstance(value, str) else json_text(value), _SHOWN)}")
    if entry.get("open"):
        call = f"`resolve_issue(issue={entry['entry']},how=<what>)`"
        print_line(f"    {in_commands(call, known={'workflow_id': run})}")
    if entry.get("resolved"):
        done = entry["resolved"]
        print_line(f"    resolved by {clean(done['by'])}: {clean(done['how'], _SHOWN)}")


def show_added(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print that an entry is in the journal, and its id."""
    stopped = "; it blocks the run" if answer["blocks"] else ""
    run = clean(answer["workflow_id"])
    typer.echo(f"The {answer['kind']} is in the journal of {run} as {answer['entry']}{stopped}.")


def show_resolved(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print that an issue is resolved; and what still blocks the run, where a script does not read it."""
    left = len(answer["blocked_by"])
    typer.echo(f"Issue {clean(answer['issue'])} of {clean(answer['workflow_id'])} is resolved.")
    more = in_commands(f"{left} more block the run: `read_journal(open=true)`", known=answer)
    say(more if left else "No issue blocks the run.")
