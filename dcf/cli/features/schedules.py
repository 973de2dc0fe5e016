"""Prints the answers of `dcf schedule`. `dcf schedules add` takes a workflow as `dcf start` does."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import typer
from rich.text import Text

from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.derived import call_verb, print_record
from dcf.cli.commands.forms import FORMS
from dcf.cli.commands.lifecycle import Reason
from dcf.cli.reading.views import console, print_wrapped, say, table
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.features.schedules.records import CatchUpName, OverlapName
from dcf.values.json_text import Json, dump

_ASSIGN: Final = "No agent is notified of them; name agents with --assign."
_SHOWN: Final = 10
"""Latest ticks that `dcf schedules show` prints."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]


def create(
    name: Name,
    workflow: Annotated[
        str,
        typer.Option(metavar="FILE|NAME@VERSION|SHA256", help="A workflow document, or the name of a stored one."),
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
    planner: Annotated[str | None, typer.Option(help="Agent to notify when a run ends.")] = None,
    overlap: Annotated[
        OverlapName, typer.Option(help="If a run is still open at a scheduled time: skip, queue, or allow both.")
    ] = "skip",
    catch_up: Annotated[
        CatchUpName, typer.Option(help="Ticks that were missed: none, one run for all, or all of the latest hundred.")
    ] = "none",
    jitter: Annotated[str | None, typer.Option(help="Maximum random delay of a start, as 30s.")] = None,
    expiry: Annotated[int | None, typer.Option(help="Seconds that each run is kept once it is finalized.")] = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Create a schedule. NAME alone as --workflow stands for the newest document of that name at each tick.

    Its runs have the tag schedule:NAME. The same command again finds the schedule.
    """
    from dcf.cli.commands.starting import document_of
    from dcf.cli.running.run_input import read_input

    document = document_of(workflow)
    answer = call_verb(
        "create_schedule",
        name=name,
        definition=workflow if document is None else None,
        workflow_json=None if document is None else document.document,
        cron=cron,
        timezone=timezone,
        every_s=FORMS["span"].read(every, "--every"),
        input_json=dump(read_input(workflow, run_input)),
        agents_map_json=FORMS["assignment"].read(assign, "--assign"),
        tags_json=tag,
        project=project,
        planner_agent_id=planner,
        overlap=overlap,
        catch_up=catch_up,
        jitter_s=FORMS["span"].read(jitter, "--jitter"),
        expiry_secs=expiry,
        reason=reason,
    )
    for warning in answer["warnings"]:
        say(f"{clean(warning).partition(' Say who does it')[0]} {_ASSIGN}")
    if as_json:
        print_record("create_schedule", answer)
    else:
        _print(answer["schedule"], "existed already" if answer["existed"] else "is created")


def show_schedules(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a page of schedules as a table."""
    rows = answer["schedules"]
    if rows:
        columns = ("schedule", "status", "next", "ticks", "started", "workflow")
        whole = {*columns} - {"ticks"}
        console().print(table(columns, map(_cells, rows), whole=whole, overflow="ellipsis"))
    else:
        typer.echo('There is no schedule. Create one: dcf schedules add NAME --cron "0 7 * * *" --workflow FILE')
    if answer["next_cursor"] is not None:
        say(f"There are more: --cursor {clean(answer['next_cursor'])}")


def show_schedule(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a schedule with the outcomes of its latest ticks."""
    out = console()
    for schedule in answer["schedules"]:
        for line in _lines(schedule):
            print_wrapped(out, Text(line), indent=2)


def show_operated(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Say how a schedule is now."""
    _print(answer["schedule"], f"is {answer['schedule']['status']}")


def show_triggered(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the id of the run."""
    typer.echo(clean(answer["workflow_id"]))


def show_deleted(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say that a schedule is gone."""
    done = "is deleted; its runs stay" if answer["existed"] else "was gone already"
    typer.echo(f"Schedule {clean(call['name'])} {done}.")


def _print(schedule: Mapping[str, Json], done: str) -> None:
    next_at = f"; the next tick is at {_moment(schedule['next_at'])}" if schedule["next_at"] else ""
    typer.echo(f"Schedule {clean(schedule['name'])} {done}{next_at}.")


def _cells(row: Mapping[str, Json]) -> tuple[Json, ...]:
    status = row["status"] if row["trouble"] is None else f"! {row['status']}"
    workflow = clean(row["workflow"], 40)
    return row["name"], status, _moment(row["next_at"]), _timing(row), row["started"], workflow


def _lines(schedule: Mapping[str, Json]) -> Iterator[str]:
    next_at = _moment(schedule["next_at"]) or "none"
    yield f"{clean(schedule['name'])}: {schedule['status']}, {_timing(schedule)}, of {clean(schedule['workflow'])}"
    yield f"  next tick {next_at}; overlap {schedule['overlap']}, catch-up {schedule['catch_up']}"
    counts = ", ".join(f"{schedule[name]} {name}" for name in ("started", "skipped", "failed"))
    within = "" if schedule["project"] is None else f" and the project {clean(schedule['project'])}"
    yield f"  {counts}; its runs have the tag {clean(schedule['tags'][-1])}{within}"
    trouble = schedule["trouble"]
    if trouble is not None:
        yield f"  ! {trouble['code']}: {clean(trouble['message'], 300)} {in_commands(clean(trouble['hint'], 300))}"
    if schedule["waiting"] or schedule["starting"]:
        yield f"  {len(schedule['waiting']) + (schedule['starting'] is not None)} starts wait or are under way"
    for tick in schedule["history"][:_SHOWN]:
        count = f", {tick['count']} in a row" if "count" in tick else ""
        about = " ".join(clean(tick[name], 200) for name in ("why", "run", "told") if name in tick)
        yield f"  {_moment(tick.get('tick') or tick['at'])}  {tick['outcome']}{count}  {about}".rstrip()


def _timing(row: Mapping[str, Json]) -> str:
    return f"every {row['every_s']} s" if "every_s" in row else f"{clean(row['cron'])} {clean(row['timezone'])}"


def _moment(text: Json) -> str:
    return "" if text is None else f"{str(text)[:19].replace('T', ' ')}Z"
