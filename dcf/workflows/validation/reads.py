"""Finds the paths that a state reads, as written: into its input, its result or a variable, with the place in the JSON.

In a JSONata expression only literal paths are found, such as `$states.input.order.id`; computed paths are not followed.
Instructions read the worker's input.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from dcf.asl.expressions.intrinsic_syntax import Call
from dcf.asl.expressions.paths import Path
from dcf.asl.expressions.query_templates import OPENING
from dcf.asl.expressions.templates import read_reference
from dcf.asl.jsonata.expressions import Query
from dcf.asl.jsonata.text import without_literals
from dcf.asl.machine import State, Task, Workable
from dcf.asl.syntax.fields import token
from dcf.values.json_text import Json
from dcf.values.records import record

Source = Literal["raw", "input", "effective", "result", "output", "variable"]
"""What is read: the raw input, what InputPath leaves of it, what the worker gets, the result, what OutputPath reads."""


@record(frozen=True, slots=True, kw_only=True)
class Read:
    """A path that a state reads; `tail` is a JSON Pointer from the state, `text` the path as written.

    `is_tested`: the state looks whether there is anything.
    """

    source: Source
    steps: tuple[str | int, ...]
    tail: str
    text: str
    variable: str = ""
    is_tested: bool = False


PLAIN_PATH: Final = re.compile(r"\$states\.(?P<part>input|result)(?P<names>(?:\.[A-Za-z_][A-Za-z0-9_]*)*)")
"""A JSONata path to a part of the input or the result, and nothing more."""

_PATH: Final = re.compile(
    r"(?P<test>\$(?:exists|boolean|type)\(\s*)?"
    r"\$(?P<root>[A-Za-z_][A-Za-z0-9_]*)(?P<names>(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?!\s*:=|[\w(])"
    r"(?P<after>\s*(?:\?|=|!=|in\b|and\b|or\b))?"
)
_BOUND: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\s*:=|function\s*\(([^)]*)\)|λ\s*\(([^)]*)\)")

_UNREAD: Final = frozenset(
    {
        *("Type", "Comment", "Resource", "AgentBinding", "Credentials", "Branches", "ItemProcessor", "Iterator"),
        *("OutputSchema", "Errors", "Skills", "Retry", "Result", "Error", "Cause"),
    }
)
_PATHS: Final[Mapping[str, Source]] = {
    "InputPath": "raw",
    "OutputPath": "output",
    "ItemsPath": "input",
    "SecondsPath": "input",
    "TimestampPath": "input",
    "TimeoutSecondsPath": "input",
    "HeartbeatSecondsPath": "input",
    "MaxConcurrencyPath": "input",
}
_OF_CHOICE: Final = ("And", "Or", "Choices")


def reads_of(state: State, document: Mapping[str, Json]) -> Iterator[Read]:
    """Yield what a state reads."""
    if isinstance(state, Task) and state.brief is not None and state.brief.instructions is not None:
        for piece in state.brief.instructions.pieces:
            if isinstance(piece, Query):
                yield from _of_expression(piece.compiled.text, "/Instructions", "effective")
    if state.flow.jsonata:
        for name, value in document.items():
            if name not in _UNREAD and name != "Instructions":
                yield from _of_json(value, f"/{token(name)}")
    else:
        yield from _of_paths(state, document)


def _of_json(value: Json, tail: str) -> Iterator[Read]:
    """Yield what the JSONata expressions in a field read."""
    if isinstance(value, str) and value.startswith(OPENING):
        yield from _of_expression(value[2:-2], tail, "raw")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _of_json(inner, f"{tail}/{token(name)}")
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _of_json(inner, f"{tail}/{at}")


def _of_expression(text: str, tail: str, source_given: Source) -> Iterator[Read]:
    bare = without_literals(text)
    bound = {
        name.strip(" $") for result in _BOUND.finditer(bare) for part in result.groups("") for name in part.split(",")
    }
    for match in _PATH.finditer(bare):
        steps = tuple(match["names"].split(".")[1:])
        is_tested = match["test"] is not None or match["after"] is not None
        shown = f"${match['root']}{match['names']}"
        if match["root"] == "states" and steps[:1] in (("input",), ("result",)):
            source: Source = "result" if steps[0] == "result" else source_given
            yield Read(source=source, steps=steps[1:], tail=tail, text=shown, is_tested=is_tested)
        elif match["root"] != "states" and match["root"] not in bound:
            yield Read(
                source="variable", variable=match["root"], steps=steps, tail=tail, text=shown, is_tested=is_tested
            )


def _of_paths(state: State, document: Mapping[str, Json]) -> Iterator[Read]:
    """Yield what the paths of a state in JSONPath mode read."""
    for name, source in _PATHS.items():
        if isinstance(document.get(name), str):
            yield from _of_text(document[name], f"/{name}", source)
    assigned: Source = "result" if isinstance(state, Workable) else "input"
    templates: Mapping[str, Source] = {
        "Parameters": "input",
        "ItemSelector": "input",
        "ResultSelector": "result",
        "Assign": assigned if state.kind() != "Pass" else "variable",
    }
    for name, source in templates.items():
        if source != "variable":
            yield from _of_template(document.get(name), f"/{name}", source)
    tested = {path for rule, _ in _rules(document, "") if "IsPresent" in rule for path in [rule.get("Variable")]}
    for rule, tail in _rules(document, ""):
        for name, value in rule.items():
            if isinstance(value, str) and (name == "Variable" or name.endswith("Path")):
                yield from _of_text(value, f"{tail}/{name}", "input", is_tested=value in tested)


def _rules(rule: Mapping[str, Json], tail: str) -> Iterator[tuple[Mapping[str, Json], str]]:
    """Yield the rules of a Choice that look at a value, with their places."""
    for name in _OF_CHOICE:
        for at, inner in enumerate(rule.get(name, ())):
            yield from _rules(inner, f"{tail}/{name}/{at}")
    if isinstance(rule.get("Not"), dict):
        yield from _rules(rule["Not"], f"{tail}/Not")
    if "Variable" in rule:
        yield rule, tail


def _of_template(value: Json, tail: str, source: Source) -> Iterator[Read]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith(".$") and isinstance(inner, str):
                yield from _of_text(inner, f"{tail}/{token(name)}", source)
            else:
                yield from _of_template(inner, f"{tail}/{token(name)}", source)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _of_template(inner, f"{tail}/{at}", source)


def _of_text(text: str, tail: str, source: Source, *, is_tested: bool = False) -> Iterator[Read]:
    try:
        reference = read_reference(text)
    except ValueError:
        return
    for path in _paths_in(reference):
        if path.variable is not None:
            variable: Source = "variable"
            yield Read(source=variable, variable=path.variable, steps=path.steps, tail=tail, text=path.text)
        elif path.in_document:
            yield Read(source=source, steps=path.steps, tail=tail, text=path.text, is_tested=is_tested)


def _paths_in(call: Path | Call) -> Iterator[Path]:
    if isinstance(call, Path):
        yield call
    else:
        for part in call.arguments:
            if isinstance(part, Path | Call):
                yield from _paths_in(part)
