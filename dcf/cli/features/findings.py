"""The commands `dcf findings`: add, search, show, update and delete what was learned in runs.

They write to Redis directly, not through a server: a user who can reach Redis is trusted already.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.asking import ask
from dcf.cli.authorship import accepted, recorded
from dcf.cli.commands.lifecycle import Reason, Yes
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_catalogue_commands
from dcf.errors import InvalidArgument, ToolCallFailed
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.features.findings.operations import FindingKept
    from dcf.values.json_text import Json

_SEVERITIES = ("info", "low", "medium", "high", "critical")
_STATUSES = ("active", "deprecated", "superseded")
_SHOWN = 300

FindingId = Annotated[str, typer.Argument(metavar="ID", help="Id of the finding (see `dcf findings search`).")]
Project = Annotated[str | None, typer.Option("--project", help="The project that it is about.")]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="A short text to find it by; may be repeated.")]
By = Annotated[str | None, typer.Option("--as", help="Who says so; the local user if left out.")]

findings = typer.Typer(
    name="findings",
    no_args_is_help=True,
    help="What was learned in runs and outlives them: kept once, found by words, superseded by what is better.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(findings)


@findings.command()
def add(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The finding in a line.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="All of it.")],
    severity: Annotated[str, typer.Option(help=f"How much it matters: {', '.join(_SEVERITIES)}.")] = "medium",
    category: Annotated[str, typer.Option(help="What it is about, as security or speed.")] = "general",
    tag: Tag = None,
    project: Project = None,
    run: Annotated[str | None, typer.Option("--run", help="The run that it came from.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="And the state of that run.")] = None,
    location: Annotated[str | None, typer.Option(help='Where: \'{"file": "a.py"}\', a JSON file, or -.')] = None,
    metadata: Annotated[str | None, typer.Option(help="More: a JSON object, a JSON file, or -.")] = None,
    key: Annotated[str | None, typer.Option(help="What it is known by; default: what it says.")] = None,
    by: By = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep a finding: of the project, or without one for all. The same finding again is found.

    Example:  dcf findings add "Prices lack a currency" "/price answers 7, not 7 EUR." --severity high --tag api
    """
    from dcf.cli.documents import read_object
    from dcf.core.access.model import LOCAL
    from dcf.features.findings.changing import NewFinding
    from dcf.features.findings.model import Severity, check_labels

    if state is not None and run is None:
        raise InvalidArgument("A state belongs to a run.", "Give --run too, or leave out --state.")
    place, more = read_object(location, "--location"), read_object(metadata, "--metadata")
    with opening.application() as found, recorded(found, "add_finding", {"title": title[:200]}):
        if run is not None:
            found.runs.read(run)
        wish = NewFinding(
            severity=Severity(_one_of("--severity", severity, _SEVERITIES)),
            category=category,
            title=title,
            text=text,
            author=by or LOCAL,
            tags=check_labels(tag or [], "--tag"),
            project=project or (None if run is None else found.projects.of_run(run)),
            run=run,
            state=None if run is None or state is None else found.control_plane.place(run, state).path,
            location=place,
            metadata=more,
            key=key,
        )
        kept = _accepted(found.knowledge.add(wish))
    _tell(kept, "is kept" if kept.changed else "was kept before", as_json=as_json)


@findings.command()
def search(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="All must be there; quote a phrase twice.")
    ] = None,
    project: Project = None,
    only_own: Annotated[bool, typer.Option("--only-own", help="Without the findings for all projects.")] = False,
    run: Annotated[str | None, typer.Option("--run", help="Those of this run, which may be gone.")] = None,
    severity: Annotated[list[str] | None, typer.Option(help="One of these; may be repeated.")] = None,
    category: Annotated[str | None, typer.Option(help="Of this category.")] = None,
    tag: Tag = None,
    every_tag: Annotated[bool, typer.Option("--every-tag", help="With all tags, not with any.")] = False,
    status: Annotated[str, typer.Option(help=f"{', '.join(_STATUSES)}, or any.")] = "active",
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=1000)] = 20,
    offset: Annotated[int, typer.Option(help="So many are skipped.", min=0, max=10_000)] = 0,
    cursor: Annotated[str | None, typer.Option(help="To go on: next_cursor of --json.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find what is known: the best first, without words the newest.

    Example:  dcf findings search c++ '"slow build"' --project shop --severity high
    """
    from dcf.features.findings.changing import FindingFilters
    from dcf.features.findings.model import FindingStatus, Severity, check_labels, summary
    from dcf.features.findings.operations import FindingsQuery

    wanted = _one_of("--status", status, (*_STATUSES, "any"))
    filters = FindingFilters(
        project=project,
        include_global=not only_own,
        run=run,
        severities=tuple(Severity(_one_of("--severity", one, _SEVERITIES)) for one in severity or ()),
        category=category,
        tags=check_labels(tag or [], "--tag"),
        every_tag=every_tag,
        status=None if wanted == "any" else FindingStatus(wanted),
    )
    query = FindingsQuery(limit=limit, text=" ".join(words or ()), filters=filters, offset=offset, cursor=cursor)
    with opening.application() as found:
        page = found.knowledge.search(query)
    rows = [summary(one, score) for one, score in page.findings]
    if as_json:
        total = {"total": page.total, "total_is_exact": page.exact, "next_cursor": page.next_cursor}
        typer.echo(json_text({"findings": rows, **total}, indent=2))
        return
    for row in rows:
        for line in _lines(row):
            typer.echo(line)
    many = f"{page.total}" if page.exact else f"{page.total} or more"
    typer.echo(f"{len(rows)} of {many} findings" if page.total else "There is no such finding.")


@findings.command()
def show(finding_id: FindingId, as_json: JsonFlag = False) -> None:
    """Show one finding whole, with what became of it."""
    from dcf.features.findings.model import shown

    with opening.application() as found:
        told = shown(found.knowledge.read(finding_id))
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    for line in _lines({**told, "text": ""}):
        typer.echo(line)
    for line in told["text"].splitlines():
        typer.echo(f"  {clean(line, 2000)}")
    for change in told["changes"]:
        why = "" if change["reason"] is None else f": {clean(change['reason'], 300)}"
        typer.echo(f"  {change['at'][:19]}Z {clean(change['by'])} changed {', '.join(change['fields'])}{why}")


@findings.command()
def update(
    finding_id: FindingId,
    status: Annotated[str | None, typer.Option(help=f"What it is now: {', '.join(_STATUSES)}.")] = None,
    superseded_by: Annotated[str | None, typer.Option(help="Id of the finding that says it better.")] = None,
    severity: Annotated[str | None, typer.Option(help="In place of what it had; so are the others.")] = None,
    category: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    title: Annotated[str | None, typer.Option(help="The finding in a line.")] = None,
    text: Annotated[str | None, typer.Option(help="All of it.")] = None,
    tag: Tag = None,
    by: By = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Correct a finding, or say that it does not hold any more.

    Example:  dcf findings update f-0123456789abcdef --status deprecated --reason "fixed in 2.0"
    """
    from dcf.core.access.model import LOCAL
    from dcf.features.findings.changing import FindingWish
    from dcf.features.findings.model import FindingStatus, Severity, check_labels

    wish = FindingWish(
        by=by or LOCAL,
        status=None if status is None else FindingStatus(_one_of("--status", status, _STATUSES)),
        superseded_by=superseded_by,
        severity=None if severity is None else Severity(_one_of("--severity", severity, _SEVERITIES)),
        category=category,
        title=title,
        text=text,
        tags=None if tag is None else check_labels(tag, "--tag"),
        reason=reason,
    )
    about = {"finding_id": finding_id, **({} if reason is None else {"reason": reason})}
    with opening.application() as found, recorded(found, "update_finding", about):
        kept = _accepted(found.knowledge.update(finding_id, wish))
    _tell(kept, "is changed" if kept.changed else "was so before", as_json=as_json)


@findings.command()
def promote(
    run: RunArgument,
    issue: Annotated[str, typer.Argument(metavar="ISSUE", help="Its id (see `dcf journal RUN`).")],
    severity: Annotated[str, typer.Option(help=f"How much it matters: {', '.join(_SEVERITIES)}.")] = "medium",
    category: Annotated[str, typer.Option(help="What it is about.")] = "issue",
    title: Annotated[str | None, typer.Option(help="In place of the issue's first words.")] = None,
    text: Annotated[str | None, typer.Option(help="In place of the issue's text.")] = None,
    tag: Tag = None,
    for_all: Annotated[bool, typer.Option("--for-all", help="For all projects, not for the run's.")] = False,
    by: By = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep an issue of a run's journal as a finding, so that later runs know of it.

    Example:  dcf findings promote order-42 j0123456789abcdef --severity high
    """
    from dcf.core.access.model import LOCAL
    from dcf.features.findings.model import Severity, check_labels
    from dcf.features.findings.promoting import Promotion, promoted

    wish = Promotion(
        author=by or LOCAL,
        severity=Severity(_one_of("--severity", severity, _SEVERITIES)),
        category=category,
        title=title,
        text=text,
        tags=check_labels(tag or [], "--tag"),
    )
    with opening.application() as found, recorded(found, "promote_issue", {"workflow_id": run, "issue": issue}):
        entry = accepted(found.journal.issue(run, issue), run)
        project = None if for_all else found.projects.of_run(run)
        kept = _accepted(found.knowledge.add(promoted(run, entry, project, wish)))
    _tell(kept, "is kept" if kept.changed else "was kept before", as_json=as_json)


@findings.command()
def delete(finding_id: FindingId, reason: Reason = None, yes: Yes = False, as_json: JsonFlag = False) -> None:
    """Delete a finding for good. One that only does not hold any more is deprecated instead (`update`)."""
    ask(f"Delete finding {clean(finding_id)}?", yes=yes)
    about = {"finding_id": finding_id, **({} if reason is None else {"reason": reason})}
    with opening.application() as found, recorded(found, "delete_finding", about):
        existed = found.knowledge.delete(finding_id)
    if as_json:
        typer.echo(json_text({"finding_id": finding_id, "existed": existed}, indent=2))
    else:
        typer.echo(f"Finding {clean(finding_id)} {'is deleted' if existed else 'was gone already'}.")


def _accepted(kept: "FindingKept | Refusal") -> "FindingKept":
    if isinstance(kept, Refusal):
        raise ToolCallFailed(kept.code, kept.message, in_catalogue_commands(kept.hint))
    return kept


def _tell(kept: "FindingKept", done: str, *, as_json: bool) -> None:
    from dcf.features.findings.model import shown

    if as_json:
        told = {"finding": shown(kept.finding), "existed": kept.existed, "changed": kept.changed}
        typer.echo(json_text(told, indent=2))
        return
    count = sum(kept.finding.redacted.values())
    taken = f" {count} secrets were taken out of it." if count else ""
    typer.echo(f"Finding {clean(kept.finding.finding_id)} {done}.{taken}")


def _lines(row: "Mapping[str, Json]") -> Iterator[str]:
    marks = [row["severity"], row["category"], *(f"#{tag}" for tag in row["tags"])]
    whose = "all projects" if row["project"] is None else f"project {row['project']}"
    status = "" if row["status"] == "active" else f", {row['status']}"
    better = "" if row["superseded_by"] is None else f" by {row['superseded_by']}"
    yield f"{clean(row['finding_id'])}  {clean(row['title'], 200)}"
    yield clean(f"  {' '.join(marks)}; {whose}{status}{better}; {row['author']}, {row['created_at'][:10]}", 400)
    if row["text"]:
        yield f"  {clean(' '.join(row['text'].split()), _SHOWN)}"


def _one_of(option: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise InvalidArgument(f"{option} is none of {', '.join(known)}.", f"Use one of them: {option} {known[0]}.")
    return text
