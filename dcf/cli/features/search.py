"""Shows what `dcf runs search` has found."""

from collections.abc import Mapping
from typing import Final

import typer

from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean
from dcf.values.json_text import Json

_WHERE: Final = ("workflow_id", "state", "kind", "name", "id")
_LONGEST: Final = 300


def show_results(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the results, the best first, and how much was looked through."""
    for hit in answer["results"]:
        where = " ".join(clean(hit[name]) for name in _WHERE if hit.get(name))
        print_line(
            f"{hit['score']:.2f}  {hit['type']}  {clean(hit['title'])}  {where}  {clean(hit['snippet'], _LONGEST)}"
        )
    if not answer["results"]:
        typer.echo("Nothing was found.")
    covered = answer["covered"]
    if covered and not all(covered.values()):
        say(f"Of journals, artifacts and outputs the newest were looked through: those of {covered['runs']} runs.")
