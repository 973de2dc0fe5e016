"""The command `dcf tools`: prints the reference of all tools. It does not import the MCP SDK."""

from typing import Annotated, Final

import typer
from rich.text import Text

from dcf.cli.reading.views import console, print_wrapped
from dcf.cli.text import json_text

_COLUMN: Final = 40


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(tools)


def tools(
    profile: Annotated[
        str, typer.Option(help="The tools of a worker, planner, member, operator, person, or all.")
    ] = "all",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the whole reference (docs/tools.md).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print names, scopes and parameters as JSON.")] = False,
) -> None:
    """List the tools with the scope each needs, or print their reference.

    Example:  dcf tools --markdown > docs/tools.md
    """
    from dcf.tools.mcp.reference import markdown_of, surface
    from dcf.tools.mcp.selection import select_tools

    specs = select_tools((), read_only=False, profile=profile)
    if as_json:
        typer.echo(json_text(surface(specs), indent=2))
    elif markdown:
        typer.echo(markdown_of(specs), nl=False)
    else:
        out = console()
        for spec in specs:
            line = f"{spec.scope:<8} {spec.name:<30} {spec.description.partition('. ')[0].rstrip('.')}"
            print_wrapped(out, Text(line), indent=_COLUMN)
