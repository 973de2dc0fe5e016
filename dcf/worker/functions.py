"""The shape of task functions, found once for each: whether it is async, takes a context, has types to check.

A function of the wrong shape is rejected when it is registered or when a worker starts, not at its first state.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, get_args, get_type_hints

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.worker.context import TaskContext
from dcf.worker.types import is_checked, reader_of, writer_of

TaskFunction: TypeAlias = Callable[..., Any]

_CONTEXT: Final = "context"
_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_BY_PLACE: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
_HINT: Final = "Write def work(given): ... or def work(given, context: TaskContext): ..."


@record(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """How a function is called. `read` and `write` check its input and output; None: JSON values as they are."""

    call: Callable[[Any, TaskContext | None], Any]
    is_async: bool = False
    takes_context: bool = False
    read: Callable[[Json], Any] | None = None
    write: Callable[[Any], Json] | None = None


@record(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The parameters of a function: which one takes the input, and which the context, if any."""

    given: Parameter | None
    context: Parameter | None = None
    is_context_first: bool = False


def check_shape(function: TaskFunction, state: str) -> None:
    """Raise InvalidArgument if the function cannot be called with a state's input."""
    _shape_of(function, state)
    written = _written(function)
    if inspect.isgeneratorfunction(written) or inspect.isasyncgenfunction(written):
        raise _misshapen(function, state, "it is a generator, and a worker does not read its values")


def plan_of(function: TaskFunction, state: str) -> TaskPlan:
    """Return how the function is called for the states of this name; raise InvalidArgument if it cannot be."""
    check_shape(function, state)
    shape = _shape_of(function, state)
    where = f"{_name(function)}()"
    given_type, output_type = _types(function, shape, where)
    return TaskPlan(
        call=_caller(function, shape),
        is_async=inspect.iscoroutinefunction(_written(function)),
        takes_context=shape.context is not None,
        read=reader_of(given_type, where) if is_checked(given_type) else None,
        write=writer_of(output_type, where) if is_checked(output_type) else None,
    )


def _shape_of(function: TaskFunction, state: str) -> _Shape:
    if not callable(function) or isinstance(function, type):
        raise _misshapen(function, state, "it is no function")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C cannot say
        return _Shape(given=None)
    context = next((item for item in parameters if _wants_context(item)), None)
    first = next((item for item in parameters if item is not context and item.kind in _BY_PLACE), None)
    if first is None:
        raise _misshapen(function, state, "it takes no input")
    for parameter in parameters:
        if parameter not in (context, first) and parameter.default is Parameter.empty and parameter.kind not in _REST:
            raise _misshapen(function, state, f"its parameter '{parameter.name}' would get no value")
    is_first = context is not None and parameters.index(context) < parameters.index(first)
    return _Shape(given=first, context=context, is_context_first=is_first)


def _wants_context(parameter: Parameter) -> bool:
    """Return True for a parameter of this type, also where the type is written as text, or of this name."""
    annotation = parameter.annotation
    if parameter.kind in _REST:
        return False
    if isinstance(annotation, str):
        return parameter.name == _CONTEXT or "TaskContext" in annotation
    return parameter.name == _CONTEXT or annotation is TaskContext or TaskContext in get_args(annotation)


def _caller(function: TaskFunction, shape: _Shape) -> Callable[[Any, TaskContext | None], Any]:
    """Return the function as one of input and context; the fewest calls where it takes the input alone."""
    context = shape.context
    if context is None:
        return lambda task_input, _: function(task_input)
    if context.kind is Parameter.POSITIONAL_ONLY:
        if shape.is_context_first:
            return lambda task_input, context_of_task: function(context_of_task, task_input)
        return function
    if shape.is_context_first and shape.given is not None:
        name = shape.given.name
        if context.kind is Parameter.POSITIONAL_OR_KEYWORD and shape.given.kind is not Parameter.VAR_POSITIONAL:
            return lambda task_input, context_of_task: function(context_of_task, **{name: task_input})
        return lambda task_input, context_of_task: function(context_of_task, task_input)
    return lambda task_input, context_of_task: function(task_input, **{context.name: context_of_task})


def _types(function: TaskFunction, shape: _Shape, where: str) -> Sequence[Any]:
    """Return the annotations of input and output, those that are text evaluated."""
    written = _written(function)
    annotations = getattr(written, "__annotations__", {})
    names = ("return",) if shape.given is None else (shape.given.name, "return")
    types_wanted = {name: annotations[name] for name in names if name in annotations}
    try:
        own = SimpleNamespace(__annotations__=types_wanted)
        known = get_type_hints(own, globalns=getattr(written, "__globals__", {}), include_extras=True)
    except Exception as error:  # noqa: BLE001 - whatever evaluating a user's annotation raises
        raise InvalidArgument(
            f"The annotations of {where} cannot be read: {error}.",
            "Import what they name where the function can see it, not only for type checkers.",
        ) from None
    return [known.get("" if shape.given is None else shape.given.name), known.get("return")]


def _written(function: TaskFunction) -> Any:
    """Return what was written with `def`: behind functools.partial, functools.wraps, or an object that is called."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and callable(function):
        function = type(function).__call__
    is_outer_async = inspect.iscoroutinefunction(function)
    inner = inspect.unwrap(function)
    return inner if inspect.iscoroutinefunction(inner) is is_outer_async else function


def _name(function: TaskFunction) -> str:
    return str(getattr(_written(function), "__name__", None) or type(function).__name__)


def _misshapen(function: TaskFunction, state: str, why: str) -> InvalidArgument:
    name = getattr(function, "__name__", None) or type(function).__name__
    return InvalidArgument(f"{name}() cannot be the function of the state '{state}': {why}.", _HINT)
