"""The task functions that a user's code registers, by state, and where: two for one state are refused.

A function that cannot be called with a state's input is refused as well, while the code is imported.
"""

import sys
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, overload

from dcf.errors import InvalidArgument
from dcf.steps.suggestions import near
from dcf.steps.vocabulary import Retries, Task, step_of
from dcf.worker.functions import TaskFunction, check_shape

Function = TypeVar("Function", bound=TaskFunction)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

FUNCTIONS: dict[str, TaskFunction] = {}
"""The functions registered in this process, by state name."""

_OPTIONS: Final = ("name", "retry", "timeout", "heartbeat", "callback")

_PLACES: dict[str, str] = {}
"""The place in code where each function was registered, by state name."""


@overload
def task(state: str, /) -> Callable[[Function], Function]: ...
@overload
def task(function: Callable[Parameters, Result], /) -> Task[Parameters, Result]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry: Retries = 0,
    timeout: int | None = None,
    heartbeat: int | None = None,
    callback: bool = False,
) -> Callable[[Callable[Parameters, Result]], Task[Parameters, Result]]: ...
def task(state_or_function: Any = None, /, **options: Any) -> Any:
    """Make a function a step of flows (`@task`, `@task(retry=3)`), or that of a state of a document (`@task("Name")`).

    With the name of a state the function is registered for the states of this name, wherever in the workflow they
    stand: it gets the state's input and returns its output, both JSON values; it may be async. A parameter `context`,
    or one of the type TaskContext, gets a `TaskContext`. Where input or output are annotated with dataclasses or
    pydantic models, they are checked. Raises InvalidArgument if other code has registered a function for the state, or
    if the function cannot be called with an input.

    Without a name it is a step that a flow calls as any function, with any parameters.
    """
    if isinstance(state_or_function, str):
        caller = sys._getframe(1)  # noqa: SLF001 - documented, and the only way to tell two places from one that runs again
        place = f"{caller.f_code.co_filename}, line {caller.f_lineno}"
        return _registration(state_or_function, place)
    unknown = next((name for name in options if name not in _OPTIONS), None)
    if unknown is not None:
        raise InvalidArgument(f"@task has no '{unknown}'.{near(unknown, _OPTIONS)}", f"It has {', '.join(_OPTIONS)}.")
    if state_or_function is None:
        return lambda function: step_of(function, **options)
    if not callable(state_or_function):
        raise InvalidArgument("@task takes no value but a function or the name of a state.", "Write @task above it.")
    return step_of(state_or_function)


def _registration(state: str, place: str) -> Callable[[Function], Function]:
    if not state:
        raise InvalidArgument("@task was not given the name of a state.", 'Write @task("StateName").')
    before = _PLACES.get(state)
    if state in FUNCTIONS and before not in {None, place}:
        raise InvalidArgument(
            f"Two functions are registered for the state '{state}': at {before}, and at {place}.",
            "Keep one of them; a state has one function.",
        )

    def register(function: Function) -> Function:
        check_shape(function, state)
        FUNCTIONS[state], _PLACES[state] = function, place
        return function

    return register
