"""The commands `dcf schedule`: create, list, show, pause, resume, trigger and delete what starts runs by the time.

They write to Redis directly, not through a server: a user who can reach Redis is trusted already.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.asking import ask
from dcf.cli.authorship import recorded
from dcf.cli.commands.lifecycle import Reason, RequestId, Yes
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument, ToolCallFailed

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.schedules.model import Schedule
    from dcf.values.json_text import Json

_OVERLAPS: Final = ("skip", "queue", "allow")
_CATCH_UPS: Final = ("none", "one", "all")
_ASSIGN: Final = "Nobody is told of them; name agents with --assign."
_SHOWN: Final = 10
"""Latest ticks that `dcf schedule show` prints."""

_REMEDIES: Final = {"(operate_schedule)": "with `dcf schedule resume NAME`", "operate_schedule": "`dcf schedule`"}

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule (see `dcf schedule list`).")]

schedule = typer.Typer(
    name="schedule",
    no_args_is_help=True,
    help="Start runs of a workflow by the time: by a cron expression, or every so often. Each tick starts one run, "
    "however many servers and clocks there are; some `dcf serve` or `dcf pulse` must run.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(schedule)


@schedule.command()
def create(
    name: Name,
    workflow: Annotated[
        str,
        typer.Option(metavar="FILE|NAME@VERSION|SHA256", help="A workflow document, or one that was started before."),
    ],
    cron: Annotated[str | None, typer.Option(help="Minute, hour, day, month, day of week: '0 7 * * 1-5'.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Time zone of --cron, as Europe/Vienna; default: UTC.")] = None,
    every: Annotated[str | None, typer.Option(help="In place of --cron: a length of time, as 15m, 12h, 30s.")] = None,
    run_input: Annotated[
        str | None, typer.Option("--input", help="Input of each run: a JSON file, JSON itself, or -.")
    ] = None,
    assign: Annotated[
        list[str] | None, typer.Option(help="STATE=AGENT, or AGENT for all Tasks; may be repeated.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Short name to find its runs by; may be repeated.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that its runs belong to.")] = None,
    planner: Annotated[str | None, typer.Option(help="Agent that is told when a run ends.")] = None,
    overlap: Annotated[
        str, typer.Option(help="A tick while a run goes on: skip it, queue it, or allow both.")
    ] = _OVERLAPS[0],
    catch_up: Annotated[
        str, typer.Option(help="Ticks that were missed: none, one run for all, or all of the latest hundred.")
    ] = _CATCH_UPS[0],
    jitter: Annotated[str | None, typer.Option(help="Spread the starts over so long, as 30s.")] = None,
    expiry_s: Annotated[
        int | None,
        typer.Option("--expiry", min=1, max=31_536_000, help="Seconds that each run is kept once it is finalized."),
    ] = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Create a schedule. NAME alone as --workflow stands for the newest document of that name at each tick.

    Its runs have the tag schedule:NAME. The same command again finds the schedule.

    Example:  dcf schedule create report --cron "0 7 * * 1-5" --timezone Europe/Vienna --workflow report.json
    """
    from dcf.cli.commands.starting import assignment_of, document_of
    from dcf.cli.documents import read_given
    from dcf.cli.reading.views import say
    from dcf.core.access.model import LOCAL
    from dcf.core.definitions.model import reference_of
    from dcf.core.lifecycle.starting import check_tags
    from dcf.features.schedules.model import CatchUp, Overlap, ScheduleWish
    from dcf.values.identifiers import check_id
    from dcf.values.open_tasks import open_tasks_warning
    from dcf.values.refusal import Refusal

    document = document_of(workflow)
    wish = ScheduleWish(
        name=name,
        workflow=workflow if document is None else reference_of(document),
        cron=cron,
        timezone=timezone,
        every_s=None if every is None else _seconds("--every", every),
        run_input={} if run_input is None else read_given(run_input, "--input"),
        tags=check_tags(tag or []),
        planner_agent_id=None if planner is None else check_id(planner, "--planner"),
        retention_s=expiry_s,
        overlap=Overlap(_one_of("--overlap", overlap, _OVERLAPS)),
        catch_up=CatchUp(_one_of("--catch-up", catch_up, _CATCH_UPS)),
        jitter_s=0 if jitter is None else _seconds("--jitter", jitter),
        created_by=LOCAL,
        project=None if project is None else check_id(project, "--project"),
    )
    with opening.application() as found, _recorded(found, "create_schedule", name, reason):
        definition = document or found.starting.definition(workflow, wish.project)
        made = found.schedules.create(wish, assignment_of(assign or (), definition), document)
        if isinstance(made, Refusal):
            raise ToolCallFailed(made.code, made.message, _in_commands(made.hint))
    warning = open_tasks_warning(list(made.unassigned), _ASSIGN)
    if warning is not None:
        say(warning)
    _tell(made.schedule, "existed already" if made.existed else "is created", as_json=as_json)


@schedule.command("list")
def list_schedules(
    project: Annotated[str | None, typer.Option(help="Only those of this project.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the schedules by name: when each ticks next, and what keeps it from starting its runs."""
    from dcf.cli.reading.views import console
    from dcf.features.schedules.model import summary

    with opening.application() as found:
        rows = [summary(one) for one in found.schedules.all() if project in {None, one.project}]
    if as_json:
        typer.echo(json_text(rows, indent=2))
    elif not rows:
        typer.echo('There is no schedule. Create one: dcf schedule create NAME --cron "0 7 * * *" --workflow FILE')
    else:
        console().print(_table(rows))


@schedule.command()
def show(name: Name, as_json: JsonFlag = False) -> None:
    """Show a schedule: its next tick, and what became of the latest ones, with their runs."""
    from dcf.cli.reading.views import console, print_wrapped
    from dcf.features.schedules.model import shown

    with opening.application() as found:
        told = shown(found.schedules.read(name))
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    out = console()
    for line in _lines(told):
        print_wrapped(out, Text(line), indent=2)


@schedule.command()
def pause(name: Name, reason: Reason = None, as_json: JsonFlag = False) -> None:
    """Let a schedule start nothing until `dcf schedule resume`. Runs that go on are left alone."""
    with opening.application() as found, _recorded(found, "operate_schedule", name, reason, "pause"):
        changed = found.schedules.pause(name, reason=reason)
    _tell(changed, f"is {changed.status}", as_json=as_json)


@schedule.command()
def resume(name: Name, reason: Reason = None, as_json: JsonFlag = False) -> None:
    """Let a schedule go on that was paused or has stopped; what it missed is caught up as its --catch-up says."""
    from dcf.core.access.model import LOCAL

    with opening.application() as found, _recorded(found, "operate_schedule", name, reason, "resume"):
        changed = found.schedules.resume(name, LOCAL, reason=reason)
    _tell(changed, f"is {changed.status}", as_json=as_json)


@schedule.command()
def trigger(name: Name, reason: Reason = None, request_id: RequestId = None, as_json: JsonFlag = False) -> None:
    """Start a run of a schedule now, out of turn, whatever runs and even if it is paused. Prints the run's id."""
    from dcf.cli.commands.starting import LAST_DELIVERIES_S
    from dcf.core.access.model import LOCAL
    from dcf.values.refusal import Refusal

    with opening.application() as found, _recorded(found, "operate_schedule", name, reason, "trigger"):
        answer = found.schedules.trigger(name, LOCAL, reason=reason, request_id=request_id)
        if isinstance(answer, Refusal):
            raise ToolCallFailed(answer.code, answer.message, _in_commands(answer.hint))
        found.clock.finish(LAST_DELIVERIES_S)
    if as_json:
        told = {"name": name, "workflow_id": answer.workflow_id, "existed": answer.created.existed}
        typer.echo(json_text(told, indent=2))
    else:
        typer.echo(clean(answer.workflow_id))


@schedule.command()
def delete(name: Name, reason: Reason = None, yes: Yes = False, as_json: JsonFlag = False) -> None:
    """Delete a schedule for good; the runs that it started stay. It asks before; --yes skips the question."""
    ask(f"Delete schedule {clean(name)}?", yes=yes)
    with opening.application() as found, _recorded(found, "delete_schedule", name, reason):
        existed = found.schedules.delete(name)
    if as_json:
        typer.echo(json_text({"name": name, "existed": existed}, indent=2))
    else:
        typer.echo(f"Schedule {clean(name)} {'is deleted; its runs stay' if existed else 'was gone already'}.")


def _seconds(option: str, text: str) -> int:
    from dcf.values.spans import read_span

    found = read_span(text)
    if found is None:
        raise InvalidArgument(f"{option} is no length of time.", "Write it as 15m, 12h, 30s or 1d.")
    return found


def _one_of(option: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise InvalidArgument(f"{option} is none of {', '.join(known)}.", f"Use one of them: {option} {known[0]}.")
    return text


def _tell(found: "Schedule", done: str, *, as_json: bool) -> None:
    from dcf.features.schedules.model import shown

    told = shown(found)
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    next_at = f"; the next tick is at {_moment(told['next_at'])}" if told["next_at"] else ""
    typer.echo(f"Schedule {clean(found.name)} {done}{next_at}.")


def _table(rows: list[dict[str, "Json"]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("schedule", "status", "next", "ticks", "started", "workflow"):
        table.add_column(column, overflow="ellipsis", no_wrap=column != "ticks")
    for row in rows:
        status = Text(row["status"] if row["trouble"] is None else f"! {row['status']}")
        cells = (clean(row["name"]), status, _moment(row["next_at"]), _timing(row), str(row["started"]))
        table.add_row(*cells, clean(row["workflow"], 40))
    return table


def _lines(told: "Mapping[str, Json]") -> Iterator[str]:
    yield f"{clean(told['name'])}: {told['status']}, {_timing(told)}, of {clean(told['workflow'])}"
    yield f"  next tick {_moment(told['next_at']) or 'none'}; overlap {told['overlap']}, catch-up {told['catch_up']}"
    counts = ", ".join(f"{told[name]} {name}" for name in ("started", "skipped", "failed"))
    within = "" if told["project"] is None else f" and the project {clean(told['project'])}"
    yield f"  {counts}; its runs have the tag {clean(told['tags'][-1])}{within}"
    trouble = told["trouble"]
    if trouble is not None:
        yield f"  ! {trouble['code']}: {clean(trouble['message'], 300)} {_in_commands(clean(trouble['hint'], 300))}"
    if told["waiting"] or told["starting"]:
        yield f"  {len(told['waiting']) + (told['starting'] is not None)} starts wait or are under way"
    for one in told["history"][:_SHOWN]:
        count = f", {one['count']} in a row" if "count" in one else ""
        about = " ".join(clean(one[name], 200) for name in ("why", "run", "told") if name in one)
        yield f"  {_moment(one.get('tick') or one['at'])}  {one['outcome']}{count}  {about}".rstrip()


def _timing(row: "Mapping[str, Json]") -> str:
    return f"every {row['every_s']} s" if "every_s" in row else f"{clean(row['cron'])} {clean(row['timezone'])}"


def _moment(text: "Json") -> str:
    return "" if text is None else f"{str(text)[:19].replace('T', ' ')}Z"


def _in_commands(sentence: str) -> str:
    """Return a hint with the names of commands in place of those of tools."""
    for tool, command in _REMEDIES.items():
        sentence = sentence.replace(tool, command)
    return sentence.replace("list_schedules", "`dcf schedule list`").replace("delete_schedule", "`dcf schedule delete`")


@contextmanager
def _recorded(
    found: "Application", change: str, name: str, reason: str | None, action: str | None = None
) -> Iterator[None]:
    """Record a change of a schedule in the audit trail."""
    given = {"name": name, "action": action, "reason": reason}
    about = {key: value for key, value in given.items() if value is not None}
    with recorded(found, change, about):
        yield
