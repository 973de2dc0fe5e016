"""The commands `dcf catalogue`: load, put, show, search and delete definitions that agents work by."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.asking import ask
from dcf.cli.authorship import recorded
from dcf.cli.commands.lifecycle import Reason, Yes
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_catalogue_commands
from dcf.errors import InvalidArgument, ToolCallFailed
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.features.catalogue.model import DefinitionKind
    from dcf.features.catalogue.operations import DefinitionKept
    from dcf.values.json_text import Json

_KINDS = ("workflow", "job", "persona", "rule", "contract", "template", "schema", "skill")
_COMPLEXITIES = ("simple", "moderate", "high")
_MOST_BYTES = 256 * 1024

Kind = Annotated[str, typer.Argument(metavar="KIND", help=f"What it is: {', '.join(_KINDS)}.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name (see `dcf catalogue search`).")]
ComplexityOption = Annotated[
    str | None, typer.Option("--complexity", help=f"Of a workflow: {', '.join(_COMPLEXITIES)}.")
]
Project = Annotated[str | None, typer.Option("--project", help="The project that it is for; else it is for everybody.")]
Session = Annotated[str | None, typer.Option("--session", help="The session that it is for; it then expires.")]

catalogue = typer.Typer(
    name="catalogue",
    no_args_is_help=True,
    help="What agents work by, in versions with hashes: workflows, jobs, personas, rules, contracts, templates.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(catalogue)


@catalogue.command()
def load(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Has agents/, rules/, workflows/, .deepwork/jobs/.")],
    project: Project = None,
    as_json: JsonFlag = False,
) -> None:
    """Load the definitions of a directory: Markdown with front matter, and jobs.

    What did not change makes no version. Files with problems are left out and told with their lines; the exit code is
    then 1.

    Example:  dcf catalogue load . --project shop
    """
    from dcf.authoring.catalogue_files import read_catalogue
    from dcf.features.catalogue.model import Owner

    if not directory.is_dir():
        raise InvalidArgument(f"There is no directory {clean(directory)}.", "Name the directory with the definitions.")
    sources = read_catalogue(directory, Owner(project=project))
    about = {"source": str(directory), "count": str(len(sources.definitions))}
    refusals: dict[str, str] = {}
    loaded: list[DefinitionKept] = []
    with opening.application() as found, recorded(found, "load_catalogue", about):
        for one in sources.definitions:
            kept = found.catalogue.put(one)
            if isinstance(kept, Refusal):
                refusals[one.source or one.name] = f"{kept.code}: {kept.message} {in_catalogue_commands(kept.hint)}"
            else:
                loaded.append(kept)
    changed = [_named(one) for one in loaded if one.changed]
    if as_json:
        told = {
            "loaded": changed,
            "unchanged": [_named(one) for one in loaded if not one.changed],
            "problems": [*(one.as_json() for one in sources.problems), *_as_problems(refusals)],
            "warnings": list(sources.warnings),
        }
        typer.echo(json_text(told, indent=2))
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


@catalogue.command()
def put(
    kind: Kind,
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its content: text as it is; JSON if it ends in .json.")],
    version: Annotated[str | None, typer.Option(help="Label of the version; default: the next number.")] = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="A short text to find it by; may be repeated.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="The same; may be repeated.")] = None,
    glob: Annotated[list[str] | None, typer.Option(help="Of a rule: the files it is for; may be repeated.")] = None,
    always: Annotated[bool, typer.Option("--always", help="Of a rule: for all files.")] = False,
    complexity: ComplexityOption = None,
    attributes: Annotated[str | None, typer.Option(help="More: a JSON object, a file, or -.")] = None,
    expiry_s: Annotated[
        int | None,
        typer.Option("--expiry", min=60, max=604_800, help="Seconds that one of a session is kept; default: a day."),
    ] = None,
    project: Project = None,
    session: Session = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep a definition. New content makes a new version, the same content none.

    Example:  dcf catalogue put rule python-style rule.md --tag python --glob '*.py'
    """
    from dcf.cli.documents import read_object
    from dcf.core.access.model import LOCAL
    from dcf.features.catalogue.model import SESSION_LIFE_S, NewDefinition, Owner, summary_of

    wish = NewDefinition(
        kind=_kind(kind),
        name=name,
        content=_content(file),
        author=LOCAL,
        owner=Owner(project=project, session=session),
        version=version,
        description=description,
        tags=tuple(tag or ()),
        keywords=tuple(keyword or ()),
        globs=tuple(glob or ()),
        always_apply=always,
        complexity=_complexity(complexity),
        attributes=read_object(attributes, "--attributes"),
        life_s=SESSION_LIFE_S if expiry_s is None else expiry_s,
    )
    with opening.application() as found, recorded(found, "put_definition", _about(kind, name, reason)):
        kept = found.catalogue.put(wish)
        if isinstance(kept, Refusal):
            raise ToolCallFailed(kept.code, kept.message, in_catalogue_commands(kept.hint))
    if as_json:
        told = {"definition": summary_of(kept.definition), "changed": kept.changed}
        typer.echo(json_text(told, indent=2))
        return
    label = clean(kept.definition.newest.version)
    typer.echo(f"Version {label} of {kind} {clean(name)} {'is kept' if kept.changed else 'was kept before'}.")


@catalogue.command()
def show(
    kind: Kind,
    name: Name,
    version: Annotated[str | None, typer.Option(help="Default: the newest.")] = None,
    sha256: Annotated[str | None, typer.Option(help="Or its hash; 8 characters are enough.")] = None,
    project: Project = None,
    session: Session = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a definition: that of the session, else of the project, else for everybody."""
    from dcf.features.catalogue.model import summary_of

    with opening.application() as found:
        whole = found.catalogue.get(_kind(kind), name, version=version, sha256=sha256, project=project, session=session)
    told = summary_of(whole.definition) | {"version": whole.version.version, "sha256": whole.version.sha256}
    if as_json:
        typer.echo(json_text({**told, "content": whole.content}, indent=2))
        return
    versions = ", ".join(clean(one) for one in told["versions"])
    typer.echo(f"{kind} {clean(name)} {clean(told['version'])}  {told['sha256'][:12]}  {told['scope']}")
    typer.echo(f"  versions {versions}; tags {clean(', '.join(told['tags'])) or 'none'}")
    if told["description"]:
        typer.echo(f"  {clean(told['description'], 2000)}")
    text = whole.content if isinstance(whole.content, str) else json_text(whole.content, indent=2)
    for line in text.splitlines():
        typer.echo(clean(line, 10_000))


@catalogue.command()
def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="All must be there.")] = None,
    kind: Annotated[str | None, typer.Option(help=f"One of {', '.join(_KINDS)}; default: all but skills.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="With all of these; may be repeated.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="With one of these; may be repeated.")] = None,
    always: Annotated[
        bool | None, typer.Option("--always/--not-always", help="Rules for all files, or those that are not.")
    ] = None,
    complexity: ComplexityOption = None,
    file: Annotated[list[str] | None, typer.Option(help="Rules for this file or glob; may be repeated.")] = None,
    project: Project = None,
    session: Session = None,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=1000)] = 50,
    offset: Annotated[int, typer.Option(help="So many are skipped.", min=0, max=10_000)] = 0,
    cursor: Annotated[str | None, typer.Option(help="To go on: next_cursor of --json.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find definitions: the best first, without words the newest.

    Example:  dcf catalogue search review --kind rule --file src/a.py
    """
    from dcf.features.catalogue.model import summary_of
    from dcf.features.catalogue.operations import DefinitionQuery

    query = DefinitionQuery(
        limit=limit,
        kind=None if kind is None else _kind(kind),
        text=" ".join(words or ()),
        tags=tuple(tag or ()),
        keywords=tuple(keyword or ()),
        file_types=tuple(file or ()),
        always_apply=always,
        complexity=_complexity(complexity),
        project=project,
        session=session,
        offset=offset,
        cursor=cursor,
    )
    with opening.application() as found:
        page = found.catalogue.search(query)
    rows = [summary_of(one, score) for one, score in page.definitions]
    if as_json:
        total = {"total": page.total, "total_is_exact": page.exact, "next_cursor": page.next_cursor}
        typer.echo(json_text({"definitions": rows, **total}, indent=2))
        return
    for row in rows:
        about = f"  {clean(row['description'], 100)}" if row["description"] else ""
        typer.echo(f"{row['kind']:9} {clean(row['name'])} {clean(row['version'])}  {row['scope']}{about}")
    many = f"{page.total}" if page.exact else f"{page.total} or more"
    typer.echo(f"{len(rows)} of {many} definitions" if page.total else "There is no such definition.")


@catalogue.command()
def delete(
    kind: Kind,
    name: Name,
    project: Project = None,
    session: Session = None,
    reason: Reason = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a definition with all its versions. It asks before; --yes skips the question."""
    from dcf.features.catalogue.model import Owner

    ask(f"Delete {clean(kind)} {clean(name)}?", yes=yes)
    with opening.application() as found, recorded(found, "delete_definition", _about(kind, name, reason)):
        existed = found.catalogue.delete(_kind(kind), name, Owner(project=project, session=session))
    if as_json:
        typer.echo(json_text({"kind": kind, "name": name, "existed": existed}, indent=2))
    else:
        typer.echo(f"{clean(kind)} {clean(name)} {'is deleted' if existed else 'was gone already'}.")


def _kind(text: str) -> "DefinitionKind":
    from dcf.features.catalogue.model import DefinitionKind

    if text not in _KINDS:
        raise InvalidArgument(f"'{text[:40]}' is no kind of definition.", f"Kinds are: {', '.join(_KINDS)}.")
    return DefinitionKind(text)


def _complexity(text: str | None) -> str | None:
    if text is not None and text not in _COMPLEXITIES:
        raise InvalidArgument(f"'{text[:40]}' is no complexity.", f"Use one of: {', '.join(_COMPLEXITIES)}.")
    return text


def _content(file: Path) -> "Json":
    from dcf.values.json_text import parse

    try:
        data = file.read_bytes()[: _MOST_BYTES + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidArgument(f"{clean(file)} cannot be read: {reason}.", "Name a file that you can read.") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{clean(file)} is no UTF-8 text.", "Save it as UTF-8.") from None
    return parse(text, name="FILE") if file.suffix == ".json" else text


def _about(kind: str, name: str, reason: str | None) -> dict[str, str]:
    return {"kind": kind, "name": name, **({} if reason is None else {"reason": reason})}


def _named(kept: "DefinitionKept") -> dict[str, "Json"]:
    found = kept.definition
    return {"kind": str(found.kind), "name": found.name, "version": found.newest.version, "sha256": found.newest.sha256}


def _as_problems(refusals: Mapping[str, str]) -> list[dict[str, "Json"]]:
    return [{"file": file, "line": None, "column": None, "message": why} for file, why in refusals.items()]
