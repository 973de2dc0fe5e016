"""Shows what `dcf findings` answers."""

from collections.abc import Iterator, Mapping
from typing import Final

import typer

from dcf.cli.text import clean
from dcf.values.json_text import Json

_SHOWN: Final = 300


def show_found(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a page of findings, each with the beginning of its text."""
    for row in answer["findings"]:
        for line in _lines(row):
            typer.echo(line)
    many = f"{answer['total']}" if answer["total_is_exact"] else f"{answer['total']} or more"
    typer.echo(f"{len(answer['findings'])} of {many} findings" if answer["total"] else "There is no such finding.")


def show_finding(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a finding whole, with its changes."""
    finding = answer["finding"]
    for line in _lines({**finding, "text": ""}):
        typer.echo(line)
    for line in finding["text"].splitlines():
        typer.echo(f"  {clean(line, 2000)}")
    for change in finding["changes"]:
        why = "" if change["reason"] is None else f": {clean(change['reason'], 300)}"
        typer.echo(f"  {change['at'][:19]}Z {clean(change['by'])} changed {', '.join(change['fields'])}{why}")


def show_deleted(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print that a finding is gone."""
    typer.echo(f"Finding {clean(answer['finding_id'])} {'is deleted' if answer['existed'] else 'was gone already'}.")


def _lines(row: Mapping[str, Json]) -> Iterator[str]:
    marks = [row["severity"], row["category"], *(f"#{tag}" for tag in row["tags"])]
    whose = "all projects" if row["project"] is None else f"project {row['project']}"
    status = "" if row["status"] == "active" else f", {row['status']}"
    better = "" if row["superseded_by"] is None else f" by {row['superseded_by']}"
    yield f"{clean(row['finding_id'])}  {clean(row['title'], 200)}"
    yield clean(f"  {' '.join(marks)}; {whose}{status}{better}; {row['author']}, {row['created_at'][:10]}", 400)
    if row["text"]:
        yield f"  {clean(' '.join(row['text'].split()), _SHOWN)}"
