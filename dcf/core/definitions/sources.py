"""The places in source code that the states of a definition come from, where the document says so. Pure.

A document that was compiled has a field `source`: {"states": {NAME: "flow.py:41:5"}, "lines": {"flow.py:41": TEXT}}.
It is kept with each run and is no part of the machine: the hash of a definition leaves it out, so that one more line
above a flow makes no other workflow.
"""

from collections.abc import Mapping
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.values.json_text import Json

SOURCE: Final = "source"
"""The field of a document."""


def place_of(document: Mapping[str, Json], path: str) -> str | None:
    """Return where a state was written, as `flow.py:41`; None if its document does not say so."""
    place = _position(document, path)
    return None if place is None else place.rpartition(":")[0]


def line_of(document: Mapping[str, Json], path: str) -> str | None:
    """Return the place of a state with the line of code there, in one line."""
    place = place_of(document, path)
    if place is None:
        return None
    lines = _part(document, "lines")
    code = lines.get(place)
    return f"{place}: {code.strip()}" if isinstance(code, str) else place


def position_of(document: Mapping[str, Json], pointer: str) -> tuple[str, int, int] | None:
    """Return file, line and column of what a JSON Pointer into the document names."""
    states = _part(document, "states")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
    name = next((part for part in reversed(parts) if part in states), None)
    if name is None:
        return None
    file, line, column = str(states[name]).rsplit(":", 2)
    return file, int(line), int(column)


def _position(document: Mapping[str, Json], path: str) -> str | None:
    place = _part(document, "states").get(name_of(path))
    return place if isinstance(place, str) and place.count(":") > 1 else None


def _part(document: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    source = document.get(SOURCE)
    part = source.get(name) if isinstance(source, Mapping) else None
    return part if isinstance(part, Mapping) else {}
