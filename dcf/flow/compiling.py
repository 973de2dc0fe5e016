"""Compiles a flow to a workflow document, and says which line each of its states is from. It must not run the flow."""

import ast
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.core.definitions.sources import SOURCE
from dcf.flow.expressions import atoms, functions, operators
from dcf.flow.jsonata_code import Written
from dcf.flow.program import Program
from dcf.flow.refusals import InvalidFlow, Place, place_of
from dcf.flow.source import lines_of
from dcf.flow.states import attempts, branching, loops, statements
from dcf.flow.states.nested import body_of
from dcf.steps.arguments import input_schema
from dcf.steps.vocabulary import Flow, Task
from dcf.values.json_text import Json
from dcf.values.records import record

_SYNTAX = (atoms, functions, operators, attempts, branching, loops, statements)
"""The modules that know a kind of syntax; each registers with `scope` when it is imported."""

_MACHINES: Final = ("Branches", "ItemProcessor")


@record(frozen=True, slots=True, kw_only=True)
class CompiledFlow:
    """A flow as a workflow document. `functions` has the task function of each state that calls one."""

    flow: Flow[..., Any]
    document: dict[str, Json]
    functions: Mapping[str, Task[..., Any]]


def compile_flow(flow: Flow[..., Any]) -> CompiledFlow:
    """Compile a flow; raise InvalidFlow with all that cannot become a state machine."""
    program = Program(is_timed=flow.timeout is not None)
    body = body_of(flow, program, None, None)
    if program.complaints:
        raise InvalidFlow(program.complaints)
    limits: dict[str, Json] = {} if flow.timeout is None else {"TimeoutSeconds": flow.timeout}
    facts: dict[str, Json] = {"workflow_name": flow.name, **({} if flow.version is None else {"version": flow.version})}
    facts["workflow_input_schema"] = input_schema(flow.function, typing.get_type_hints(flow.function))
    return CompiledFlow(
        flow=flow,
        document={**facts, "QueryLanguage": "JSONata", **limits, **body.machine, SOURCE: _source(program)},
        functions=program.functions,
    )


def _source(program: Program) -> dict[str, Json]:
    """Return the places of the states, and of their fields on other lines, with the code of all these lines."""
    fields: dict[str, dict[str, Place]] = {}
    for name, state in program.states.items():
        there = program.places[name]
        places = {path: place_of(node, there.file) for path, node in _settled(state)}
        fields[name] = {path: place for path, place in places.items() if place.line != there.line}
    every = [*program.places.values(), *(place for places in fields.values() for place in places.values())]
    lines = {file: lines_of(file) for file in {place.file for place in every}}
    return {
        "states": {name: str(place) for name, place in program.places.items()},
        "fields": {name: {path: str(at) for path, at in places.items()} for name, places in fields.items() if places},
        "lines": {str(place).rpartition(":")[0]: lines[place.file][place.line - 1] for place in every},
    }


def _settled(holder: Any, path: str = "") -> Iterator[tuple[str, ast.expr]]:
    """Make the expressions in a state, but not in machines within it, plain text; yield each with what it is from."""
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, Written):
            holder[key] = str(value)
            if value.node is not None:
                yield f"{path}{key}", value.node
        elif isinstance(value, dict | list) and (path or key not in _MACHINES):
            yield from _settled(value, f"{path}{key}/")
