"""Shows what `dcf projects` answers."""

from collections.abc import Mapping

import typer

from dcf.cli.commands.forms import read_place
from dcf.cli.reading.views import console, table
from dcf.cli.text import clean
from dcf.values.json_text import Json


def with_machine(call: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments of a call with the machine that was written before the path, as MACHINE=PATH."""
    place = None if call["path"] is None else read_place(call["path"])
    return {**call, **place} if isinstance(place, dict) else dict(call)


def show_put(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print whether a project was created, changed or left as it was."""
    project = answer["project"]
    done = "is created" if not answer["existed"] else "is changed" if answer["changed"] else "is as it was"
    typer.echo(f"{clean(project['project'])} {done} (revision {project['revision']}).")


def show_project(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a project with its overview."""
    project, overview = answer["project"], answer["overview"]
    typer.echo(f"{clean(project['project'])}: {clean(project['name'])} (revision {project['revision']})")
    if project["description"]:
        typer.echo(clean(project["description"], 500))
    for place in project["paths"]:
        machine = f" on {clean(place['machine'])}" if place["machine"] else ""
        typer.echo(f"  {clean(place['path'])}{machine}")
    for name, value in project["git"].items():
        typer.echo(f"  git {clean(name)}: {clean(str(value))}")
    if project.get("max_in_progress"):
        typer.echo(f"at most {project['max_in_progress']} states are held in it at a time")
    if "budget" in project:
        typer.echo(f"budget: {', '.join(f'{name} {amount}' for name, amount in project['budget'].items())}")
    by_status = ", ".join(f"{count} {status}" for status, count in overview["runs_by_status"].items())
    typer.echo(f"{overview['runs']} runs{f': {by_status}' if by_status else ''}; last used {overview['last_used_at']}")
    if overview["agents"]:
        typer.echo(f"agents: {clean(', '.join(overview['agents']), 500)}")


def show_list(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a page of projects as a table, and how to read the next one."""
    console().print(table(("project", "name", "paths", "last used"), map(_cells, answer["projects"])))
    cursor = answer.get("next_cursor")
    more = "" if cursor is None else f" Older ones: dcf projects ls --cursor {cursor}"
    typer.echo(f"{len(answer['projects'])} of {answer['total']} projects.{more}")


def _cells(row: Mapping[str, Json]) -> tuple[Json, ...]:
    paths = ", ".join(str(at["path"]) for at in row["paths"])
    return row["project"], row["name"], paths, str(row["last_used_at"] or "")[:19].replace("T", " ")


def show_deleted(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print that a project is gone."""
    typer.echo(f"{clean(answer['project'])} {'is deleted' if answer['existed'] else 'was gone already'}.")
