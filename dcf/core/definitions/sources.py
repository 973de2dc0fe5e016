"""The places in source code that the states of a definition come from, where the document says so. Pure.

A document that was compiled has a field `source`: {"states": {NAME: "flow.py:41:5"}, "fields": {NAME: {"Assign/total":
"flow.py:43:9"}}, "lines": {"flow.py:41": TEXT}}. `fields` has those fields of states that were written on other lines.
It is kept with each run and is no part of the machine: the hash of a definition leaves it out, so that one more line
above a flow makes no other workflow.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.asl.state_paths import name_of
from dcf.values.json_text import Json

SOURCE: Final = "source"
"""The field of a document."""

_FAILED: Final = ("failed", "timed_out")

_FAILED_FIELD: Final = re.compile(r"The JSONata expression '(.*)' specified for the field '(.*?)' \w+", re.DOTALL)
"""The cause of a failed expression: it names the expression, and the field of its state."""


def place_of(document: Mapping[str, Json], path: str, cause: Json = None) -> str | None:
    """Return where a state was written, as `flow.py:41`; None if its document does not say so.

    With the cause of a failure it is where the expression was written that failed, if it is one of this state.
    """
    name = name_of(path)
    failed = _FAILED_FIELD.search(cause) if isinstance(cause, str) else None
    field = "" if failed is None else _field_of(document, name, failed.group(1), failed.group(2))
    place = _deepest(document, name, field)
    return None if place is None else place.rpartition(":")[0]


def line_of(document: Mapping[str, Json], path: str, cause: Json = None) -> str | None:
    """Return the place of a state, or of what failed in it, with the line of code there, in one line."""
    place = place_of(document, path, cause)
    if place is None:
        return None
    code = _part(document, "lines").get(place)
    return f"{place}: {code.strip()}" if isinstance(code, str) else place


def lines_of_failed(
    document: Mapping[str, Json], states: Mapping[str, Mapping[str, Json]], cause: Json
) -> dict[str, str] | None:
    """Return the lines of code of the states that failed, by path; None for a workflow that was written as a document.

    `states` are shown as JSON, and `cause` is that of the end of the run.
    """
    if SOURCE not in document:
        return None
    lines = {path: line_of(document, path, why) for path, why in failed_states(states, cause).items()}
    return {path: line for path, line in lines.items() if line is not None}


def failed_states(states: Mapping[str, Mapping[str, Json]], cause: Json) -> dict[str, Json]:
    """Return the states that failed, each with its last error, or with the cause of the end of the run."""
    failed = {path: state for path, state in states.items() if state.get("status") in _FAILED}
    return {path: state.get("last_error") or cause for path, state in failed.items()}


def position_of(document: Mapping[str, Json], pointer: str) -> tuple[str, int, int] | None:
    """Return file, line and column of what a JSON Pointer into the document names."""
    states = _part(document, "states")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
    at = next((at for at in range(len(parts) - 1, -1, -1) if parts[at] in states), None)
    place = None if at is None else _deepest(document, parts[at], "/".join(parts[at + 1 :]))
    if place is None:
        return None
    file, line, column = place.rsplit(":", 2)
    return file, int(line), int(column)


def _deepest(document: Mapping[str, Json], name: str, field: str) -> str | None:
    """Return the place of a field of a state, or of what is around it, in the end of the state."""
    fields = _part(document, "fields").get(name)
    place = _part(document, "states").get(name)
    while field and isinstance(fields, Mapping):
        if field in fields:
            place = fields[field]
            break
        field = field.rpartition("/")[0]
    return place if isinstance(place, str) and place.count(":") > 1 else None


def _field_of(document: Mapping[str, Json], name: str, text: str, field: str) -> str:
    """Return the field of a state that has this expression; nothing if the failure is not that of this state."""
    path = field.replace("[", "/").replace("]", "")
    machine = document.get("asl", document)
    for state in _states_named(machine if isinstance(machine, Mapping) else {}, name):
        rules = [f"Choices/{at}/{path}" for at in range(len(state.get("Choices", ())))]
        for candidate in [path, *rules]:
            if text in str(_value_at(state, candidate)):
                return candidate
    return ""


def _value_at(value: Any, path: str) -> Any:
    for step in path.split("/"):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _states_named(machine: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the states of a name in a machine and in those within it."""
    states = machine.get("States", {})
    if name in states:
        yield states[name]
    for state in states.values():
        for inner in [*state.get("Branches", ()), *filter(None, [state.get("ItemProcessor")])]:
            yield from _states_named(inner, name)


def _part(document: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    source = document.get(SOURCE)
    part = source.get(name) if isinstance(source, Mapping) else None
    return part if isinstance(part, Mapping) else {}
