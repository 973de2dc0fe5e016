"""The commands for work across runs: what there is to do, what it used up, and may use up. They call and print."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, OptionalRun, RunArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import Reason, RequestId
from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATUSES: Final = ("ready", "running", "review", "blocked", "done")


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (work, usage, budget):
        app.command()(command)


def work(
    agent: Annotated[str | None, typer.Option("--agent", help="What this agent holds, or may take.")] = None,
    status: Annotated[
        str | None, typer.Option(help=f"Only: {', '.join(_STATUSES)}.", autocompletion=lambda: _STATUSES)
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only runs of this project.")] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of the workflow of this name.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None,
    skill: Annotated[str | None, typer.Option(help="Only what asks for this skill.")] = None,
    limit: Annotated[int, typer.Option(help="How many, the oldest run first.", min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on here: printed below each page.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List what there is to do across all runs: what is held, what is ready, what stands still.

    Example:  dcf work --agent pricing-1 --status ready
    """
    from dcf.features.work.listing import WorkQuery, WorkStatus, read_work_place

    if status is not None and status not in _STATUSES:
        raise InvalidArgument(f"There is no status '{status[:20]}'.", f"Statuses are: {', '.join(_STATUSES)}.")
    query = WorkQuery(
        limit=limit,
        agent=agent,
        status=None if status is None else WorkStatus(status),
        project=project,
        workflow=workflow,
        run=run,
        skill=skill,
        place=read_work_place(cursor),
    )
    with opening.application() as found:
        page = found.work.find_work(query)
    items, after = [one.as_json() for one in page.items], page.next_place
    if as_json:
        typer.echo(json_text({"items": items, "next_cursor": None if after is None else str(after)}, indent=2))
        return
    for one in items:
        _print_item(one)
    say("Nothing is like that." if not items else f"{len(items)} shown.")
    if after is not None:
        say(f"There may be more: --cursor {after}")


def _print_item(one: "Mapping[str, Json]") -> None:
    who = f" held by {clean(one['holder'])}" if "holder" in one else ""
    since = f" since {str(one['since'])[:19]}Z" if "since" in one else ""
    told = f" ({clean(one['why'])})" if "why" in one else f" ({clean(one['outcome'])})" if "outcome" in one else ""
    title = f" {clean(one['title'])}" if "title" in one else ""
    print_line(f"{one['status']:8} {clean(one['workflow_id'])} {clean(one['state'])}{title}{who}{since}{told}")


def usage(
    run: OptionalRun = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Of this agent, by day.")] = None,
    project: Annotated[str | None, typer.Option("--project", help="Of this project, by day.")] = None,
    since: Annotated[str | None, typer.Option(help="First day, as 2026-11-01; else 30 days ago.")] = None,
    until: Annotated[str | None, typer.Option(help="Last day; else today.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what work used up, as far as it was reported: of a run, an agent or a project.

    Example:  dcf usage order-42
    """
    from datetime import UTC, datetime, timedelta

    from dcf.core.documents.usage import added, sums_shown

    if sum(one is not None for one in (run, agent, project)) != 1:
        raise InvalidArgument("Exactly one of a run, --agent and --project is needed.", "Name one of them.")
    today = datetime.now(UTC)
    with opening.application() as found:
        if run is not None:
            told = found.usages.of_run(run)
            document: dict[str, Json] = {
                "total": sums_shown(told.total),
                "budget": None if told.budget is None else told.budget.as_json(),
                "states": {name: sums_shown(sums) for name, sums in sorted(told.states.items())},
                "agents": {name: sums_shown(sums) for name, sums in sorted(told.agents.items())},
                "models": {name: sums_shown(sums) for name, sums in sorted(told.models.items())},
            }
        else:
            first = since or (today - timedelta(days=29)).date().isoformat()
            book = found.usages.of(
                "agent" if agent is not None else "project",
                str(agent if agent is not None else project),
                first,
                until or today.date().isoformat(),
            )
            document = {
                "total": sums_shown(book.total),
                "period": sums_shown(added(book.days.values())),
                "days": {day: sums_shown(sums) for day, sums in book.days.items()},
            }
    if as_json:
        typer.echo(json_text(document, indent=2))
        return
    _print_usage(document)


def _print_usage(document: dict[str, Json]) -> None:
    for part, value in document.items():
        if part == "budget":
            if value:
                print_line(f"budget: {', '.join(f'{name} {amount}' for name, amount in value.items())}")
        elif part in {"total", "period"}:
            print_line(f"{part}: {_sums(value)}")
        else:
            for name, sums in value.items():
                print_line(f"  {part.removesuffix('s')} {clean(name)}: {_sums(sums)}")


def _sums(sums: "Mapping[str, Json]") -> str:
    cost = "".join(f", {amount} {currency}" for currency, amount in sums["cost"].items())
    tokens = f"{sums['tokens_in']:,} tokens in, {sums['tokens_out']:,} out"
    return f"{tokens}, {sums['seconds']:,g} s{cost} in {sums['reports']} reports"


def budget(
    run: RunArgument,
    tokens: Annotated[int | None, typer.Option(help="Tokens in and out together.", min=1)] = None,
    cost: Annotated[str | None, typer.Option(help="Money, with its currency: 5EUR.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds of work.", min=0.001)] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the budget away.")] = False,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a run may use up; limits that are not named stay. Once one is used up, nobody gets a lease in the run.

    Example:  dcf budget order-42 --tokens 200000 --cost 5EUR
    """
    wanted: dict[str, Json] = {"tokens": tokens, "seconds": seconds}
    if cost is not None:
        wanted |= {"cost": cost[:-3], "currency": cost[-3:]}
    told = {name: value for name, value in wanted.items() if value is not None}
    if bool(told) is none:
        raise InvalidArgument("Nothing is asked for, or both a budget and none.", "Give limits, or --none.")
    with opening.application() as found, by_the_local_user():
        done = accepted(found.usages.set_budget(run, told, reason=reason, request_id=request_id), run)
    if as_json:
        typer.echo(json_text({"workflow_id": run, "repeated": done.repeated, **done.answer}, indent=2))
        return
    used = done.answer["used_up"]
    say(f"The budget of {clean(run)} is set." if used is None else f"The budget is set, and used up: {used}.")
