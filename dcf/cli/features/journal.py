"""The commands `dcf journal`: show a run's journal, add an entry, resolve an issue. They call and print."""

import sys
import time
from itertools import islice
from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import Reason, RequestId
from dcf.cli.features.people import answerer
from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

_KINDS: Final = ("log", "decision", "milestone", "issue", "note", "handoff")
_PAGE: Final = 200
_SHOWN: Final = 2000
_SHOW: Final = "show"

By = Annotated[str | None, typer.Option("--as", help="Who writes; your user name on this machine if left out.")]
State = Annotated[str | None, typer.Option("--state", help="The state that it is about.")]


class _JournalGroup(TyperGroup):
    """The group of commands; a run in place of a command's name is shown."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # as in app.py
        """Read the arguments; put the name of the usual command before those that begin with a run."""
        first = next((one for one in args if not one.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = [_SHOW, *args]
        return super().parse_args(ctx, args)


journal = typer.Typer(
    name="journal",
    cls=_JournalGroup,
    no_args_is_help=True,
    help="What agents and people wrote down about a run: `dcf journal RUN` shows it.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(journal)


@journal.command()
def show(
    run: RunArgument,
    kind: Annotated[str | None, typer.Option(help=f"Only: {', '.join(_KINDS)}.", autocompletion=lambda: _KINDS)] = None,
    agent: Annotated[str | None, typer.Option(help="Only by this agent or person.")] = None,
    state: Annotated[str | None, typer.Option(help="Only about this state.")] = None,
    is_open: Annotated[bool, typer.Option("--open", help="Only issues that nobody has resolved.")] = False,
    since: Annotated[str | None, typer.Option(help="Only written since: 2h, 30d, or 2026-11-22T09:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Only written before.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="The latest first.")] = False,
    limit: Annotated[int | None, typer.Option(help="So many at most.", min=1)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as a Markdown page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show the journal of a run: `dcf journal RUN` is enough.

    Example:  dcf journal order-42 --kind decision --markdown
    """
    from dcf.features.journal.query import JournalQuery, kind_of
    from dcf.values.spans import check_time

    now = time.time_ns() // 1000
    query = JournalQuery(
        limit=min(limit or _PAGE, _PAGE),
        kind=kind_of(kind),
        agent=agent,
        state=state,
        open=is_open,
        since=check_time("--since", since, now),
        until=check_time("--until", until, now),
        oldest_first=not newest,
    )
    with opening.application() as found:
        entries = islice(found.journal.each_entry(run, query), limit)
        if markdown:
            from dcf.workflows.drawing.journal_page import journal_page

            for line in journal_page(run, (one.as_json() for one in entries)):
                typer.echo(line)
            return
        for one in entries:
            if as_json:
                sys.stdout.write(json_text(one.as_json()) + "\n")
            else:
                _print_entry(one.as_json())


def _print_entry(entry: dict[str, Json]) -> None:
    about = f" {clean(entry['state'])}" if entry.get("state") else ""
    word = entry["kind"]
    if word == "issue":
        word = "issue (resolved)" if not entry["open"] else "issue (blocks)" if entry["blocks"] else "issue (open)"
    print_line(f"{str(entry['at'])[:19]}Z  {word}  {clean(entry['agent'])}{about}: {clean(entry['text'], _SHOWN)}")
    for name, value in (entry.get("details") or {}).items():
        print_line(f"    {clean(name)}: {clean(value if isinstance(value, str) else json_text(value), _SHOWN)}")
    if entry.get("open"):
        print_line(f"    dcf journal resolve RUN {entry['entry']} --how WHAT")
    if entry.get("resolved"):
        done = entry["resolved"]
        print_line(f"    resolved by {clean(done['by'])}: {clean(done['how'], _SHOWN)}")


@journal.command()
def add(
    run: RunArgument,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(_KINDS)}.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to write down.")],
    details: Annotated[
        str | None, typer.Option("--details", help="The fields of its kind: JSON, a file, or -.")
    ] = None,
    state: State = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="An issue: nobody gets a lease until it is resolved.")
    ] = False,
    key: Annotated[str | None, typer.Option("--key", help="Your id of the entry: again, it adds none.")] = None,
    by: By = None,
    as_json: JsonFlag = False,
) -> None:
    """Add an entry to the journal of a run.

    Example:  dcf journal add order-42 issue "Which currency?" --blocks --as alice
    """
    import secrets

    from dcf.cli.documents import read_given
    from dcf.features.journal.query import kind_of
    from dcf.features.journal.writing import AddEntry, shown_added

    given = {} if details is None else read_given(details, "--details")
    if not isinstance(given, dict):
        raise InvalidArgument("--details is not an object.", 'Give it as {"progress": 50}.')
    wanted = kind_of(kind)
    assert wanted is not None, "kind_of raises for an unknown one"
    wish = AddEntry(
        kind=wanted,
        text=text,
        agent=answerer(by, None).name,
        key=key or f"auto:{secrets.token_hex(16)}",
        state=state,
        details=given,
        blocks=blocks,
        is_operator=True,
    )
    with opening.application() as found, by_the_local_user():
        added = accepted(found.journal.add_journal_entry(run, wish), run)
    told = {"workflow_id": run, **shown_added(added), "repeated": added.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    stopped = "; it blocks the run" if added.entry.blocks else ""
    typer.echo(f"The {kind} is in the journal of {clean(run)} as {added.entry.entry_id}{stopped}.")


@journal.command()
def resolve(
    run: RunArgument,
    issue: Annotated[str, typer.Argument(metavar="ISSUE", help="Its id, as `dcf journal RUN --open` shows it.")],
    how: Annotated[str, typer.Option("--how", help="What was done or decided.")],
    by: By = None,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Resolve an issue, and say how; a run that it blocked goes on.

    Example:  dcf journal resolve order-42 j0123456789abcdef --how "It is EUR." --as alice
    """
    from dcf.features.journal.writing import ResolveIssue

    wish = ResolveIssue(issue=issue, how=how, by=answerer(by, None).name, may_any=True)
    with opening.application() as found, by_the_local_user():
        answer = found.journal.resolve_issue(run, wish, reason=reason, request_id=request_id)
        done = accepted(answer, run)
    told: dict[str, Json] = {"workflow_id": run, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    left = len(done.answer["blocked_by"])
    typer.echo(f"Issue {clean(issue)} of {clean(run)} is resolved.")
    say(f"{left} more block the run: dcf journal {clean(run)} --open" if left else "No issue blocks the run.")
