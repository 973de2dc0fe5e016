"""The commands `dcf projects`: put, get, list and delete what runs belong to. They parse, call and print."""

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.asking import ask
from dcf.cli.authorship import accepted, recorded
from dcf.cli.commands.lifecycle import Reason, Yes
from dcf.cli.reading.views import console
from dcf.cli.text import clean, json_text

if TYPE_CHECKING:
    from dcf.features.projects.model import Project, ProjectPlace
    from dcf.values.json_text import Json

_MOST_IN_PROGRESS: Final = 1000

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Id of the project (see `dcf projects list`).")]

projects = typer.Typer(
    name="projects",
    no_args_is_help=True,
    help="What runs belong to: a name, directories, git facts. `dcf ls --project ID` lists the runs of one.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(projects)


@projects.command()
def put(
    project: ProjectArgument,
    name: Annotated[str | None, typer.Option(help="Its name; default: the id.")] = None,
    path: Annotated[
        list[str] | None, typer.Option(help="A directory of it, PATH or MACHINE=PATH; may be repeated.")
    ] = None,
    forget_path: Annotated[
        list[str] | None, typer.Option(help="A directory that is not its any more; may be repeated.")
    ] = None,
    git: Annotated[str | None, typer.Option(help="Git facts: JSON, a file, or -.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    features: Annotated[str | None, typer.Option(help="Its features: a JSON array, a file, or -.")] = None,
    metadata: Annotated[str | None, typer.Option(help="Whatever else is to be kept: JSON, a file, or -.")] = None,
    max_in_progress: Annotated[
        int | None, typer.Option(help="Most states held in it at a time; 0: any number.", min=0, max=_MOST_IN_PROGRESS)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="What it may use up: JSON of tokens, cost and currency, seconds, a file, or -. Limits left out"
            " stay, null takes one away, {} all."
        ),
    ] = None,
    revision: Annotated[int | None, typer.Option(help="The revision you saw, to replace what is there.")] = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a project known, or add to it; the same again changes nothing.

    Example:  dcf projects put shop --path /srv/shop --description "The web shop"
    """
    from dcf.cli.documents import read_given, read_object
    from dcf.core.access.model import LOCAL
    from dcf.core.documents.usage import read_budget_change
    from dcf.features.projects.model import ProjectWish
    from dcf.features.projects.verbs import limits_shown
    from dcf.features.work.limits import WorkLimit

    change = None if budget is None else read_budget_change(read_given(budget, "--budget"), "--budget")
    about = {"project": project} | ({} if reason is None else {"reason": reason})
    wish = ProjectWish(
        project_id=project,
        name=name,
        paths=tuple(map(_place, path or ())),
        forget=tuple(map(_place, forget_path or ())),
        description=description,
        git=read_object(git, "--git"),
        features=_array(features, "--features"),
        metadata=read_object(metadata, "--metadata"),
        revision=revision,
        by=LOCAL,
    )
    with opening.application() as found, recorded(found, "projects put", about) as recording:
        answer = found.projects.put(wish)
        recording.outcome = getattr(answer, "code", "ok")
        done = accepted(answer, project)
        if max_in_progress is not None:
            found.limits.put(WorkLimit(kind="project", name=project, most=max_in_progress))
        if change is not None:
            found.usages.set_project_budget(project, change, reason=reason)
        shown = done.project.as_json() | limits_shown(found, project)
    if as_json:
        typer.echo(json_text({**shown, "existed": done.existed, "changed": done.changed}, indent=2))
        return
    verb = "is created" if not done.existed else "is changed" if done.changed else "is as it was"
    typer.echo(f"{clean(project)} {verb} (revision {done.project.revision}).")


@projects.command()
def get(
    project: Annotated[str | None, typer.Argument(metavar="[PROJECT]", help="Its id; or use --path.")] = None,
    path: Annotated[str | None, typer.Option(help="A directory of the project, PATH or MACHINE=PATH.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a project, by its id or by a directory, with how its runs stand."""
    from dcf.errors import InvalidArgument
    from dcf.features.projects.verbs import limits_shown, overview_of

    if (project is None) == (path is None):
        raise InvalidArgument("Either PROJECT or --path must be given.", "Give one of them.")
    with opening.application() as found:
        if path is None:
            one = found.projects.read(str(project))
        else:
            place = _place(path)
            one = accepted(found.projects.at(place.path, place.machine or None), path)
        overview = overview_of(found.projects.use_of(one.project_id))
        limits = limits_shown(found, one.project_id)
    if as_json:
        typer.echo(json_text({**one.as_json(), **limits, "overview": overview}, indent=2))
        return
    _print(one, overview, limits)


@projects.command("list")
def list_projects(
    limit: Annotated[int, typer.Option(help="How many, the newest use first.", min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on here: printed below each page.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List projects, those that were used last first."""
    from dcf.values.instants import to_text

    with opening.application() as found:
        page = found.projects.page(cursor, limit)
    rows = [{**one.as_json(), "last_used_at": to_text(at)} for one, at in page.projects]
    if as_json:
        told = {"projects": rows, "total": page.total, "next_cursor": page.next_cursor}
        typer.echo(json_text(told, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("project", "name", "paths", "last used"):
        table.add_column(column, overflow="fold")
    for row in rows:
        paths = ", ".join(str(at["path"]) for at in row["paths"])
        used = str(row["last_used_at"])[:19].replace("T", " ")
        table.add_row(*map(Text, (clean(row["project"]), clean(row["name"]), clean(paths), used)))
    console().print(table)
    more = "" if page.next_cursor is None else f" Older ones: dcf projects list --cursor {page.next_cursor}"
    typer.echo(f"{len(rows)} of {page.total} projects.{more}")


@projects.command()
def delete(project: ProjectArgument, yes: Yes = False, reason: Reason = None, as_json: JsonFlag = False) -> None:
    """Forget a project; its runs stay."""
    ask(f"Forget project {clean(project)}? Its runs stay.", yes=yes)
    about = {"project": project} | ({} if reason is None else {"reason": reason})
    with opening.application() as found, recorded(found, "projects delete", about):
        existed = found.projects.delete(project)
    if as_json:
        typer.echo(json_text({"project": project, "existed": existed}))
        return
    typer.echo(f"{clean(project)} {'is deleted' if existed else 'was gone already'}.")


def _print(one: "Project", overview: "dict[str, Json]", limits: "dict[str, Json]") -> None:
    typer.echo(f"{clean(one.project_id)}: {clean(one.name)} (revision {one.revision})")
    for line in filter(None, (one.description,)):
        typer.echo(clean(line, 500))
    for place in one.paths:
        typer.echo(f"  {clean(place.path)}{f' on {clean(place.machine)}' if place.machine else ''}")
    for name, value in one.git.items():
        typer.echo(f"  git {clean(name)}: {clean(str(value))}")
    if limits.get("max_in_progress"):
        typer.echo(f"at most {limits['max_in_progress']} states are held in it at a time")
    if "budget" in limits:
        typer.echo(f"budget: {', '.join(f'{name} {amount}' for name, amount in limits['budget'].items())}")
    by_status = ", ".join(f"{count} {status}" for status, count in overview["runs_by_status"].items())
    typer.echo(f"{overview['runs']} runs{f': {by_status}' if by_status else ''}; last used {overview['last_used_at']}")
    if overview["agents"]:
        typer.echo(f"agents: {clean(', '.join(overview['agents']), 500)}")


def _place(given: str) -> "ProjectPlace":
    """Read PATH or MACHINE=PATH."""
    from dcf.features.projects.model import place_of

    machine, equals, path = given.partition("=")
    is_named = bool(equals) and "/" not in machine
    return place_of(path if is_named else given, machine if is_named else None, name="--path")


def _array(given: str | None, name: str) -> "list[Json] | None":
    from dcf.cli.documents import read_given
    from dcf.errors import InvalidArgument

    found = None if given is None else read_given(given, name)
    if found is not None and not isinstance(found, list):
        raise InvalidArgument(f"{name} is no JSON array.", f'Write {name} \'["A", "B"]\'.')
    return found
