"""Loads the definitions of a directory into the catalogue, and shows what `dcf catalogue` answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.derived import verb_calls
from dcf.cli.commands.formats import print_json
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text
from dcf.errors import PASSING, Forbidden, InvalidArgument, ToolCallFailed, Unauthorized
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.features.catalogue.model import NewDefinition

_OF_ALL: Final = PASSING | {Forbidden.code, Unauthorized.code}
"""Codes of refusals that every definition would get."""

Project = Annotated[str | None, typer.Option("--project", help="The project that it is for; else it is for everybody.")]


def load(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Has agents/, rules/, workflows/, contracts/, .deepwork/jobs/."),
    ],
    project: Project = None,
    as_json: JsonFlag = False,
) -> None:
    """Load the definitions of a directory: Markdown with front matter, and jobs.

    Unchanged files make no version. Files with problems are left out and told with their lines; the exit code is
    then 1.

    Example:  dcf catalogue load . --project shop
    """
    from dcf.authoring.catalogue_files import read_catalogue
    from dcf.features.catalogue.model import Owner

    if not directory.is_dir():
        raise InvalidArgument(f"There is no directory {clean(directory)}.", "Name the directory with the definitions.")
    sources = read_catalogue(directory, Owner(project=project))
    refusals: dict[str, str] = {}
    loaded: list[Mapping[str, Json]] = []
    with verb_calls("put_definition") as put:
        for definition in sources.definitions:
            try:
                loaded.append(put(**_arguments(definition)))
            except ToolCallFailed as refused:
                if refused.code in _OF_ALL:
                    raise
                refusals[definition.source or definition.name] = f"{refused.code}: {refused.message} {refused.hint}"
    changed = [_named(answer) for answer in loaded if answer["changed"]]
    if as_json:
        report = {
            "loaded": changed,
            "unchanged": [_named(answer) for answer in loaded if not answer["changed"]],
            "problems": [*(problem.as_json() for problem in sources.problems), *_as_problems(refusals)],
            "warnings": list(sources.warnings),
        }
        print_json(report)
    else:
        for line in [*map(str, sources.problems), *(f"{file}: {why}" for file, why in refusals.items())]:
            typer.echo(f"! {clean(line, 900)}", err=True)
        for warning in sources.warnings:
            typer.echo(f"warning: {clean(warning, 900)}", err=True)
        for made in changed:
            typer.echo(f"{made['kind']} {clean(made['name'])} {clean(made['version'])}")
        typer.echo(f"{len(changed)} new versions; {len(loaded) - len(changed)} definitions had not changed.")
    if sources.problems or refusals:
        raise typer.Exit(1)


def show_definition(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Print a definition with its content, as far as it was asked for."""
    definition = answer["definition"]
    if answer["not_modified"]:
        typer.echo(clean(answer["status"]))
        return
    if call["fields"]:
        print_json(definition)
        return
    about = f"{clean(definition['version'])}  {definition['sha256'][:12]}  {definition['scope']}"
    typer.echo(f"{call['kind']} {clean(call['name'])} {about}")
    if "versions" in definition:
        versions = ", ".join(clean(version) for version in definition["versions"])
        typer.echo(f"  versions {versions}; tags {clean(', '.join(definition['tags'])) or 'none'}")
    if definition.get("description"):
        typer.echo(f"  {clean(definition['description'], 2000)}")
    content = definition.get("content")
    text = content if isinstance(content, str) else "" if content is None else json_text(content, indent=2)
    for line in text.splitlines():
        typer.echo(clean(line, 10_000))
    if answer["redacted"]:
        say(f"{sum(answer['redacted'].values())} secrets were taken out of what is shown; --with-secrets shows them.")


def show_found(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a page of definitions, each in a line."""
    rows = answer["definitions"]
    for row in rows:
        about = f"  {clean(row['description'], 100)}" if row.get("description") else ""
        typer.echo(f"{row['kind']:9} {clean(row['name'])} {clean(row['version'])}  {row['scope']}{about}")
    many = f"{answer['total']}" if answer["total_is_exact"] else f"{answer['total']} or more"
    typer.echo(f"{len(rows)} of {many} definitions" if answer["total"] else "There is no such definition.")


def show_deleted(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print that a definition is gone."""
    done = "is deleted" if answer["existed"] else "was gone already"
    typer.echo(f"{answer['kind']} {clean(answer['name'])} {done}.")


def _arguments(definition: "NewDefinition") -> dict[str, Json]:
    """Return a definition that was read from a file as the arguments of `put_definition`."""
    return {
        "kind": str(definition.kind),
        "name": definition.name,
        "content": definition.content,
        "version": definition.version,
        "description": definition.description,
        "tags_json": list(definition.tags),
        "keywords_json": list(definition.keywords),
        "globs_json": list(definition.globs),
        "always_apply": definition.always_apply,
        "complexity": definition.complexity,
        "attributes_json": dict(definition.attributes) or None,
        "project": definition.owner.project,
        "source": definition.source,
        "relabel": definition.relabel,
    }


def _named(answer: Mapping[str, Json]) -> dict[str, Json]:
    return {name: answer["definition"][name] for name in ("kind", "name", "version", "sha256")}


def _as_problems(refusals: Mapping[str, str]) -> list[dict[str, Json]]:
    return [{"file": file, "line": None, "column": None, "message": why} for file, why in refusals.items()]
