"""The command `dcf context`: where an agent, a session or a run is, and what is next. It calls and prints."""

from typing import Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, OptionalRun
from dcf.cli.reading.views import print_line
from dcf.cli.text import clean, json_text
from dcf.values.json_text import Json

_LONGEST: Final = 500
_SHOWN: Final = ("state", "status", "text", "title", "why", "lease_expires_at", "instructions")
_USUAL: Final = 16_000


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(context)


def context(
    run: OptionalRun = None,
    agent: Annotated[str | None, typer.Option(help="Of this agent.")] = None,
    session: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    project: Annotated[str | None, typer.Option(help="Only runs of this project.")] = None,
    max_bytes: Annotated[int, typer.Option(help="Size of the answer.", min=1_000, max=200_000)] = _USUAL,
    as_json: JsonFlag = False,
) -> None:
    """Say where an agent (or a session, or a run) is, and what is next for it, as get_context does.

    Example:  dcf context --agent pricing-1
    """
    from dcf.features.agent_context.rules import SECTIONS, ContextQuery, fitted

    query = ContextQuery(agent=agent, run=run, session=session, project=project)
    with opening.application() as found:
        told = fitted(found.contexts.get_context(query), max_bytes)
    if as_json:
        shown: dict[str, Json] = {**told.sections, "left_out": told.left_out}
        typer.echo(json_text(shown, indent=2))
        return
    for name in SECTIONS:
        for item in told.sections.get(name, ()):
            print_line(f"{name}: {_line(item)}")
    for item in told.left_out:
        print_line(f"left out: {item['count']} {item['what']}; see {item['see']}")
    if not told.sections:
        typer.echo("Nothing is held, and nothing is ready.")


def _line(item: dict[str, Json]) -> str:
    if "tool" in item:
        return f"{clean(item['tool'])} {clean(json_text(item['arguments']), _LONGEST)}"
    told = [clean(item["workflow_id"]), *(clean(item[name], _LONGEST) for name in _SHOWN if item.get(name))]
    return "  ".join(told)
