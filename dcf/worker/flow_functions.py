"""The task functions of a flow as a worker calls them: by state, with arguments that are taken apart and typed."""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from dcf.steps.plain_values import plain
from dcf.worker.context import TaskContext
from dcf.worker.functions import TaskFunction
from dcf.worker.state_functions import PlacedFunctions
from dcf.worker.types import is_checked, reader_of, writer_of

if TYPE_CHECKING:
    from dcf.flow.compiling import CompiledFlow
    from dcf.steps.vocabulary import Task

_CONTEXT: Final = "context"


def functions_of(compiled: "CompiledFlow") -> dict[str, TaskFunction]:
    """Return the function of each state of one flow that calls one; it takes the state's input and a context."""
    return {state: called_by_state(task) for state, task in compiled.functions.items()}


def functions_of_all(flows: "Iterable[CompiledFlow]") -> dict[str, PlacedFunctions]:
    """Return what a worker of these flows has for each state: its functions, by the places that Resources name."""
    placed: dict[str, dict[str, TaskFunction]] = {}
    for state, task in (pair for flow in flows for pair in flow.functions.items()):
        placed.setdefault(state, {})[task.place] = called_by_state(task)
    return {state: PlacedFunctions(by_place) for state, by_place in placed.items()}


@functools.lru_cache(maxsize=1024)
def called_by_state(task: "Task[..., Any]") -> TaskFunction:
    """Return a task as the function of a state: the input holds the arguments by name."""
    if task.is_whole:
        return task.function
    hints = typing.get_type_hints(task.function, include_extras=True)
    where = f"{task.function.__name__}()"
    contexts = [name for name in inspect.signature(task.function).parameters if _is_context(name, hints)]
    typed = {name: hint for name, hint in hints.items() if name not in {"return", *contexts}}
    readers = {name: reader_of(hint, where) for name, hint in typed.items() if is_checked(hint)}
    returned = hints.get("return")
    write = writer_of(returned, where) if is_checked(returned) else plain
    arguments = functools.partial(_arguments, readers, contexts)
    call = _awaited if inspect.iscoroutinefunction(task.function) else _called
    return call(task.function, arguments, write)


def _is_context(name: str, hints: Mapping[str, Any]) -> bool:
    return name == _CONTEXT or hints.get(name) is TaskContext


def _arguments(
    readers: Mapping[str, Callable[[Any], Any]], contexts: list[str], state_input: Any, context: TaskContext
) -> dict[str, Any]:
    arguments = {name: readers[name](value) if name in readers else value for name, value in state_input.items()}
    return {**arguments, **dict.fromkeys(contexts, context)}


def _called(
    function: Callable[..., Any], arguments: Callable[..., dict[str, Any]], write: Callable[[Any], Any]
) -> TaskFunction:
    def call(state_input: Any, context: TaskContext) -> Any:
        return write(function(**arguments(state_input, context)))

    return _named(call, function)


def _awaited(
    function: Callable[..., Any], arguments: Callable[..., dict[str, Any]], write: Callable[[Any], Any]
) -> TaskFunction:
    async def call(state_input: Any, context: TaskContext) -> Any:
        return write(await function(**arguments(state_input, context)))

    return _named(call, function)


def _named(call: TaskFunction, function: Callable[..., Any]) -> TaskFunction:
    call.__name__ = function.__name__
    return call
