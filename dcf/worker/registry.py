"""The task functions that a user's code registers, by state, and where: two for one state are refused.

A function that cannot be called with a state's input is refused as well, while the code is imported.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from dcf.errors import InvalidArgument
from dcf.worker.functions import TaskFunction, check_shape

Function = TypeVar("Function", bound=TaskFunction)

FUNCTIONS: dict[str, TaskFunction] = {}
"""The functions registered in this process, by state name."""

_PLACES: dict[str, str] = {}
"""The place in code where each function was registered, by state name."""


def task(state: str) -> Callable[[Function], Function]:
    """Register the function for the states of this name, wherever in the workflow they stand.

    The function gets the state's input and returns its output, both JSON values; it may be async. A parameter
    `context`, or one of the type TaskContext, gets a `TaskContext`. Where input or output are annotated with
    dataclasses or pydantic models, they are checked. Raises InvalidArgument if the name is missing, if other code has
    registered a function for it, or if the function cannot be called with an input.
    """
    if not isinstance(state, str) or not state:
        name = getattr(state, "__name__", None)
        above = "" if name is None else f" above {name}()"
        raise InvalidArgument(f"@task{above} was not given the name of a state.", 'Write @task("StateName").')
    caller = sys._getframe(1)  # noqa: SLF001 - documented, and the only way to tell two places from one that runs again
    place = f"{caller.f_code.co_filename}, line {caller.f_lineno}"
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
