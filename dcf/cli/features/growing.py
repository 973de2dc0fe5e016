"""Shows what the commands for runs that grow answer."""

from collections.abc import Mapping

import typer

from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.values.json_text import Json


def show_opened(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Say that a run is open."""
    state = "was open before" if answer["existed"] else "is open"
    typer.echo(f"{clean(answer['workflow_id'])} {state}; `dcf states add` gives it units.")


def show_added(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say how many units were added, and what the caller has taken of them."""
    run, added, ready = clean(call["workflow_id"]), len(answer["added"]), len(answer["ready"])
    _say(f"{added} added to {run}; {ready} can be taken now", answer, call)
    for work in answer["work"]:
        typer.echo(f"  {clean(work['state'])} is yours; its lease token is {clean(work['lease_token'])}")


def show_sealed(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say what is sealed."""
    run, group = clean(call["workflow_id"]), call["group"]
    _say(f"{run if group is None else f'{clean(group)} of {run}'} is sealed", answer, call)


def show_retried(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say which unit can be taken again."""
    _say(f"{clean(call['unit'])} of {clean(call['workflow_id'])} can be taken again", answer, call)


def show_rewound(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say how many units are taken back."""
    _say(f"{answer['rewound_count']} units of {clean(call['workflow_id'])} are taken back", answer, call)


def show_closed(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say how a run has ended."""
    _say(f"{clean(call['workflow_id'])} is closed: {call['status']}", answer, call)


def _say(sentence: str, answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    hint = answer.get("hint")
    more = "" if hint is None else f" {in_commands(clean(hint), known=call)}"
    typer.echo(f"{sentence}{BEFORE if answer['repeated'] else ''}.{more}")
