"""The command `dcf search`: definitions, findings, journals, artifacts and outputs at once. It calls and prints."""

from typing import Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean, json_text

_TYPES: Final = ("definition", "finding", "journal", "artifact", "output")
_LONGEST: Final = 300


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(search)


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Words that must all be there; "a phrase" in quotes.')],
    of_type: Annotated[
        list[str] | None,
        typer.Option("--type", help=f"Only: {', '.join(_TYPES)}; may be repeated.", autocompletion=lambda: _TYPES),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only of this run.")] = None,
    project: Annotated[str | None, typer.Option(help="Only of this project, or for everybody.")] = None,
    limit: Annotated[int, typer.Option(help="Most results.", min=1, max=50)] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Search what is known and what runs have written, the best first.

    Example:  dcf search "currency EUR" --type journal
    """
    from dcf.features.search.operations import SearchRequest
    from dcf.features.search.ranking import read_corpora

    request = SearchRequest(text=query, limit=limit, corpora=read_corpora(of_type or ()), project=project, run=run)
    with opening.application() as found:
        if run is not None:
            found.runs.read(run)
        told = found.searching.search(request)
    if as_json:
        typer.echo(json_text({"results": [one.as_json() for one in told.hits], "covered": told.covered}, indent=2))
        return
    for one in told.hits:
        where = " ".join(clean(value) for value in one.where.values())
        print_line(f"{one.score:.2f}  {one.type.value}  {clean(one.title)}  {where}  {clean(one.snippet, _LONGEST)}")
    if not told.hits:
        typer.echo("Nothing was found.")
    if told.covered and not all(told.covered.values()):
        say(f"Of journals, artifacts and outputs the newest were looked through: those of {told.covered['runs']} runs.")
