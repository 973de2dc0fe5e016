"""Compiles a flow to a workflow document, and says which line each of its states is from."""

import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcf.core.definitions.sources import SOURCE
from dcf.flow.expressions import atoms, functions, operators
from dcf.flow.program import Place, Program
from dcf.flow.refusals import InvalidFlow
from dcf.flow.source import lines_of
from dcf.flow.states import attempts, branching, loops, statements
from dcf.flow.states.nested import body_of
from dcf.steps.arguments import input_schema
from dcf.steps.vocabulary import Flow, Task
from dcf.values.json_text import Json
from dcf.values.records import record

_SYNTAX = (atoms, functions, operators, attempts, branching, loops, statements)
"""The modules that know a kind of syntax; each registers with `scope` when it is imported."""


@record(frozen=True, slots=True, kw_only=True)
class CompiledFlow:
    """A flow as a workflow document.

    `places` has the place of each state, `functions` the task function of each state that calls one.
    """

    flow: Flow[..., Any]
    document: dict[str, Json]
    places: Mapping[str, Place]
    functions: Mapping[str, Task[..., Any]]


def compile_flow(flow: Flow[..., Any]) -> CompiledFlow:
    """Compile a flow; raise InvalidFlow with all that cannot become a state machine."""
    program = Program()
    body = body_of(flow, program, None, None)
    if program.complaints:
        raise InvalidFlow(program.complaints)
    limits: dict[str, Json] = {} if flow.timeout is None else {"TimeoutSeconds": flow.timeout}
    facts: dict[str, Json] = {"workflow_name": flow.name, **({} if flow.version is None else {"version": flow.version})}
    facts["workflow_input_schema"] = input_schema(flow.function, typing.get_type_hints(flow.function))
    return CompiledFlow(
        flow=flow,
        document={**facts, "QueryLanguage": "JSONata", **limits, **body.machine, SOURCE: _source(program.places)},
        places=program.places,
        functions=program.functions,
    )


def _source(places: Mapping[str, Place]) -> dict[str, Json]:
    """Return the places of the states, and the lines of code there, as the document has them."""
    states = {name: f"{Path(place.file).name}:{place.line}:{place.column}" for name, place in places.items()}
    lines = {f"{Path(place.file).name}:{place.line}": lines_of(place.file)[place.line - 1] for place in places.values()}
    return {"states": states, "lines": lines}
