"""The input of a run from the arguments of a flow: as a call in Python, or as `name=value` on a command line.

Whatever does not fit the signature is refused before anything starts.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from dcf.asl.json_schema.check import misfits
from dcf.errors import InvalidArgument
from dcf.steps.schemas import object_schema
from dcf.steps.suggestions import near
from dcf.steps.value_types import STR, type_of
from dcf.steps.vocabulary import IMPORTED_AS, Flow
from dcf.values.json_text import Json


def input_schema(function: Callable[..., Any], hints: Mapping[str, Any]) -> dict[str, Json]:
    """Return the JSON Schema of the input of a flow: an object with its parameters."""
    parameters = inspect.signature(function).parameters
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    return object_schema({name: hints.get(name, Any) for name in parameters}, required)


def checked_input(flow: Flow[..., Any], given_input: Json) -> dict[str, Json]:
    """Return the input if it fits the signature of the flow; raise InvalidArgument with every misfit."""
    call = _call_of(flow)
    parameters = inspect.signature(flow.function).parameters
    if not isinstance(given_input, dict):
        raise InvalidArgument(f"The input of {flow.name} is an object with its arguments by name.", f"It is {call}.")
    for name in given_input:
        if name not in parameters:
            raise InvalidArgument(f"{flow.name} has no argument '{name}'.{near(name, parameters)}", f"It is {call}.")
    schema = input_schema(flow.function, typing.get_type_hints(flow.function))
    problems = misfits(schema, given_input)
    if problems:
        text = "; ".join(f"{problem.pointer or 'the input'}: {problem.message}" for problem in problems)
        raise InvalidArgument(f"The input does not fit {flow.name}: {text}.", f"It is {call}.")
    return given_input


def _call_of(flow: Flow[..., Any]) -> str:
    return f"{flow.function.__name__}{inspect.signature(flow.function)}".replace(IMPORTED_AS, "").replace(
        "__main__.", ""
    )


def takes_text(flow: Flow[..., Any], name: str) -> bool:
    """Return True for an argument that is a string, whose text on a command line needs no quotes of JSON."""
    parameters = inspect.signature(flow.function).parameters
    if name not in parameters:
        message = f"{flow.name} has no argument '{name}'.{near(name, parameters)}"
        raise InvalidArgument(message, f"It is {_call_of(flow)}.")
    return type_of(typing.get_type_hints(flow.function).get(name, Any)).kind == STR.kind
