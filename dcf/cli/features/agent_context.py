"""Shows what `dcf runs brief` has found: where an agent, a session or a run is, and what is next."""

from collections.abc import Mapping
from typing import Final

import typer

from dcf.cli.reading.views import print_line
from dcf.cli.text import clean, json_text
from dcf.values.json_text import Json

_LONGEST: Final = 500
_SHOWN: Final = ("state", "status", "text", "title", "why", "lease_expires_at", "instructions")


def show_brief(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print where an agent, a session or a run is, and what is next; a line for each item."""
    from dcf.features.agent_context.rules import SECTIONS

    for name in SECTIONS:
        for item in answer.get(name) or ():
            print_line(f"{name}: {_line(item)}")
    for item in answer.get("left_out") or ():
        print_line(f"left out: {item['count']} {item['what']}; see {item['see']}")
    if not any(answer.get(name) for name in SECTIONS):
        typer.echo("Nothing is held, and nothing is ready.")


def _line(item: Mapping[str, Json]) -> str:
    if "tool" in item:
        return f"{clean(item['tool'])} {clean(json_text(item['arguments']), _LONGEST)}"
    shown = (clean(item[name], _LONGEST) for name in _SHOWN if item.get(name))
    return "  ".join([clean(item["workflow_id"]), *shown])
