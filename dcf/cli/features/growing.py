"""The commands for runs that grow: open, add, seal, redo, rewind, close. They call and print."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.asking import ask
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import BEFORE, Reason, RequestId, Yes
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_commands
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.core.documents.operations import RunAnswer
    from dcf.values.json_text import Json

Unit = Annotated[str, typer.Argument(metavar="UNIT", help="Name of the unit.")]

_ENDS: Final = ("succeeded", "failed", "partial", "cancelled")


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("open")(open_run)
    app.command()(add)
    app.command()(seal)
    app.command("retry-unit")(retry_unit)
    app.command()(rewind)
    app.command()(close)


def open_run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What kind of work it is.")],
    run: Annotated[str | None, typer.Option("--id", help="Id of the run; a new one if left out.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="What it is for.")] = None,
    run_input: Annotated[
        str | None, typer.Option("--input", help="Run input: a JSON file, JSON itself, or - for standard input.")
    ] = None,
    planner: Annotated[str | None, typer.Option("--planner", help="Agent that is told when it ends.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Name to find it by; may be repeated.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that it belongs to.")] = None,
    definition: Annotated[
        str | None, typer.Option("--definition", help="What it is carried out by: KIND:NAME[@VERSION].")
    ] = None,
    within: Annotated[str | None, typer.Option("--within", help="Run that this one is a part of.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Unit of that run.")] = None,
    timeout_s: Annotated[int | None, typer.Option("--timeout", min=1, help="Seconds after which it is paused.")] = None,
    expiry_s: Annotated[
        int | None,
        typer.Option("--expiry", min=1, max=31_536_000, help="Seconds that it is kept once it is finalized."),
    ] = None,
    attempts: Annotated[
        int, typer.Option("--max-attempts", min=1, max=1000, help="Leases of one unit before it fails.")
    ] = 10,
    request_id: RequestId = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Open a run without a workflow: units of work are added to it while it is open.

    Example:  dcf open release --id release-7 --title "Release 7"
    """
    from dcf.cli.documents import read_given
    from dcf.core.access.model import LOCAL
    from dcf.core.lifecycle.creation import Create
    from dcf.core.lifecycle.starting import check_tags
    from dcf.features.growing.definition import grown_definition
    from dcf.features.growing.opening import OpenRequest
    from dcf.features.growing.operations import id_for_opening
    from dcf.values.identifiers import check_id, check_name

    if unit is not None and within is None:
        raise InvalidArgument("--unit is given without --within.", "Name the run of that unit with --within.")
    given = {} if run_input is None else read_given(run_input, "--input")
    workflow_id = check_id(run or id_for_opening(check_name(name, "NAME", 100), request_id, None), "--id")
    with opening.application() as found, by_the_local_user():
        wish = Create(
            workflow_id=workflow_id,
            definition=grown_definition(name),
            run_input=given,
            agents={},
            planner_agent_id=None if planner is None else check_id(planner, "--planner"),
            retention_s=expiry_s,
            max_attempts=attempts,
            created_by=LOCAL,
            tags=check_tags(list(tag or ()), name="--tag"),
            project=None if project is None else check_id(project, "--project"),
            definition_ref=found.catalogue.pin(definition, project),
        )
        request = OpenRequest(
            wish=wish,
            title=title,
            timeout_s=timeout_s,
            nested_in=None if within is None else (check_id(within, "--within"), unit),
            reason=reason,
            asked_ref=definition,
        )
        created = accepted(found.growing.open_run(request), workflow_id)
    if as_json:
        typer.echo(json_text({"workflow_id": workflow_id, "existed": created.existed}, indent=2))
        return
    typer.echo(f"{clean(workflow_id)} {'was open before' if created.existed else 'is open'}; `dcf add` gives it units.")


def add(
    run: RunArgument,
    units: Annotated[
        str, typer.Argument(metavar="UNITS", help="A JSON array of units: text, a file, or - for standard input.")
    ],
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Add units of work, and groups of them, to a run that grows: all of them, or none.

    Example:  dcf add release-7 '[{"name": "Build"}, {"name": "Test", "depends_on": ["Build"]}]'
    """
    from dcf.cli.documents import read_given
    from dcf.features.growing.adding import AddUnits
    from dcf.features.growing.syntax import read_units

    given = read_units(read_given(units, "UNITS"))
    if any(one.claim for one in given):
        raise InvalidArgument("A unit is to be claimed, which agents do.", "Leave claim out.")
    with opening.application() as found, by_the_local_user():
        answer = found.growing.add_units(run, AddUnits(units=given), reason=reason, request_id=request_id)
        done = accepted(answer, run).outcome
    added, ready = done.answer["added"], done.answer["ready"]
    _print(run, done, f"{len(added)} added to {clean(run)}; {len(ready)} can be taken now", as_json=as_json)


def seal(
    run: RunArgument,
    group: Annotated[str | None, typer.Argument(metavar="[GROUP]", help="The group; else the whole run.")] = None,
    only_if_done: Annotated[bool, typer.Option("--only-if-done", help="Refuse while something is open.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Skip what has not ended well.")] = False,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Let nothing be added to a group, or to a run, any more: it ends once all that is in it has ended well."""
    from dcf.features.growing.closing import Seal

    wish = Seal(group=group, only_if_done=only_if_done, force=force)
    with opening.application() as found, by_the_local_user():
        done = accepted(found.growing.seal_group(run, wish, reason=reason, request_id=request_id), run)
    what = clean(run) if group is None else f"{clean(group)} of {clean(run)}"
    _print(run, done, f"{what} is sealed", as_json=as_json)


def retry_unit(
    run: RunArgument, unit: Unit, reason: Reason = None, request_id: RequestId = None, as_json: JsonFlag = False
) -> None:
    """Let a unit that failed be taken again, as a new attempt of the same unit."""
    with opening.application() as found, by_the_local_user():
        done = accepted(found.growing.retry_unit(run, unit, reason=reason, request_id=request_id), run)
    _print(run, done, f"{clean(unit)} of {clean(run)} can be taken again", as_json=as_json)


def rewind(
    run: RunArgument,
    unit: Unit,
    reason: Reason = None,
    request_id: RequestId = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Reopen a unit and all that followed it: holders are told to stop, and outputs are gone.

    It asks before; --yes skips the question.
    """
    ask(f"Take back {clean(unit)} of run {clean(run)} and all that followed it?", yes=yes)
    with opening.application() as found, by_the_local_user():
        done = accepted(found.growing.rewind_unit(run, unit, reason=reason, request_id=request_id), run)
    count = done.answer["rewound_count"]
    _print(run, done, f"{count} units of {clean(run)} are taken back", as_json=as_json)


def close(
    run: RunArgument,
    status: Annotated[str, typer.Option("--status", help=f"How it ended: {', '.join(_ENDS)}.")] = "succeeded",
    summary: Annotated[str | None, typer.Option("--summary", help="What was done.")] = None,
    achievement: Annotated[
        list[str] | None, typer.Option("--achievement", help="What was reached; may be repeated.")
    ] = None,
    limitation: Annotated[list[str] | None, typer.Option("--limitation", help="What was not; may be repeated.")] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", help="Any numbers: '{\"tests\": 12}', a JSON file, or -.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", help="The run's output: a JSON object, a JSON file, or -.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Although units failed or, unless it succeeds, are open: those are cancelled."),
    ] = False,
    reason: Reason = None,
    request_id: RequestId = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """End a run that grows, with a summary. It is refused while units have not ended well, unless forced.

    It never succeeds while a unit, a group or a blocking issue is open; --status failed ends it all the same.

    It asks before; --yes skips the question.
    """
    from dcf.cli.documents import read_object
    from dcf.core.documents.model import RunStatus
    from dcf.features.growing.closing import LONGEST_SUMMARY, Close, read_metrics, read_points, read_run_output

    if status not in _ENDS:
        raise InvalidArgument(f"'{status[:20]}' is no final status.", f"Use: {', '.join(_ENDS)}.")
    if summary is not None and len(summary) > LONGEST_SUMMARY:
        raise InvalidArgument(f"The summary has more than {LONGEST_SUMMARY} characters.", "Shorten it.")
    wish = Close(
        status=RunStatus(status),
        summary=summary,
        achievements=read_points(achievement, name="--achievement"),
        limitations=read_points(limitation, name="--limitation"),
        metrics=read_metrics(read_object(metrics, "--metrics"), name="--metrics"),
        output=read_run_output(read_object(output, "--output"), name="--output"),
        force=force,
    )
    ask(f"Close run {clean(run)}?", yes=yes)
    with opening.application() as found, by_the_local_user():
        done = accepted(found.growing.close_run(run, wish, reason=reason, request_id=request_id), run)
    _print(run, done, f"{clean(run)} is closed: {status}", as_json=as_json)


def _print(run: str, done: "RunAnswer", told: str, *, as_json: bool) -> None:
    answer: dict[str, Json] = {"workflow_id": run, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(answer, indent=2))
        return
    again = BEFORE if done.repeated else ""
    hint = answer.get("hint")
    typer.echo(f"{told}{again}." + ("" if hint is None else f" {in_commands(clean(hint), run)}"))
