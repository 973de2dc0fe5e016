"""The command `dcf agents tools`: prints the reference of all tools. It does not import the MCP SDK."""

from typing import Annotated, Final

import typer
from rich.text import Text

from dcf.cli.commands.formats import print_json
from dcf.cli.reading.views import console, print_wrapped

_COLUMN: Final = 40


def tools(
    profile: Annotated[
        str, typer.Option(help="The tools of a worker, planner, assistant, member, operator, person, or all.")
    ] = "all",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole reference, as docs/reference has it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print names, scopes and parameters as JSON.")] = False,
) -> None:
    """List the tools with the scope each needs, or print their reference.

    Example:  dcf agents tools --markdown > tools.md
    """
    from dcf.tools.mcp.reference import markdown_of, surface
    from dcf.tools.mcp.selection import documented_tools, select_tools

    whole = markdown and profile == "all"
    specs = documented_tools() if whole else select_tools((), read_only=False, profile=profile)
    if as_json:
        print_json(surface(specs))
    elif markdown:
        typer.echo(markdown_of(specs), nl=False)
    else:
        out = console()
        for spec in specs:
            line = f"{spec.scope:<8} {spec.name:<30} {spec.description.partition('. ')[0].rstrip('.')}"
            print_wrapped(out, Text(line), indent=_COLUMN)
