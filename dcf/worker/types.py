"""Checks the input and the output of task functions that name dataclasses, pydantic models, dates or enums as types.

pydantic is imported when a function names such a type, not before. Messages name the place and the rule, never the
value, because the history of the run records them.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, get_args, get_origin
from uuid import UUID

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, dump
from dcf.worker.failure import TaskFailed
from dcf.worker.results import INVALID_OUTPUT

INVALID_INPUT: Final = "DCF.InvalidInput"

_TEXTS: Final = (date, time, timedelta, Decimal, UUID, Enum)
"""Types whose values are text (or numbers) in JSON: a function gets the value itself, not its text."""

_MOST_PROBLEMS: Final = 5


def is_checked(annotation: Any) -> bool:
    """Return True for a dataclass, a pydantic model, what JSON has as text, or a type made with one, such as a list."""
    for kind in (annotation, get_origin(annotation)):  # the origin of Page[int] is Page
        if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "__pydantic_core_schema__")):
            return True
        if isinstance(kind, type) and issubclass(kind, _TEXTS):
            return True
    return any(is_checked(part) for part in get_args(annotation))


def reader_of(annotation: Any, where: str) -> Callable[[Json], Any]:
    """Return what makes a value of this type of a state's input, or raises TaskFailed with DCF.InvalidInput."""
    from pydantic import ValidationError

    adapter = _adapter(annotation, where)

    def read(task_input: Json) -> Any:
        try:
            return adapter.validate_json(dump(task_input))
        except ValidationError as error:
            raise TaskFailed(INVALID_INPUT, f"The input is not as {where} wants it: {_problems(error)}") from None

    return read


def writer_of(annotation: Any, where: str) -> Callable[[Any], Json]:
    """Return what makes JSON of a value of this type, or raises TaskFailed with DCF.InvalidOutput."""
    from pydantic import ValidationError
    from pydantic_core import PydanticSerializationError

    adapter, anew = _adapter(annotation, where), _adapter(annotation, where, is_anew=True)

    def write(output: Any) -> Json:
        below = 0
        try:
            value = adapter.validate_python(output)
            try:
                return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
            except PydanticSerializationError:  # a dataclass holds what its fields do not say: Python never checks that
                below = 1
                (value,) = anew.validate_python((value,))
                return adapter.dump_python(value, mode="json", by_alias=True, warnings=False)
        except ValidationError as error:
            why = f"The output is not as {where} promises it: {_problems(error, below)}"
            raise TaskFailed(INVALID_OUTPUT, why) from None
        except ValueError:  # PydanticSerializationError
            raise TaskFailed(INVALID_OUTPUT, f"The output of {where} has a value that JSON cannot hold.") from None

    return write


def _adapter(annotation: Any, where: str, *, is_anew: bool = False) -> Any:
    """Return an adapter for values of the type. `is_anew`: in a tuple, and values of the type are checked too."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        if is_anew:
            return TypeAdapter(tuple[annotation], config=ConfigDict(revalidate_instances="always"))
        return TypeAdapter(annotation)
    except (PydanticUserError, TypeError, NameError) as error:
        raise InvalidArgument(
            f"The types of {where} cannot be checked: {str(error).splitlines()[0]}",
            "Take dataclasses or pydantic models of JSON values, or leave the annotation out.",
        ) from None


def _problems(error: Any, below: int = 0) -> str:
    """Return the first problems of a pydantic ValidationError, in words and without the values.

    `below` is how deep in what was checked the value stands.
    """
    errors_found = error.errors(include_url=False, include_input=False, include_context=False)
    reasons = [
        f"{'.'.join(map(str, error['loc'][below:])) or 'the whole'}: {error['msg']}"
        for error in errors_found[:_MOST_PROBLEMS]
    ]
    more = len(errors_found) - len(reasons)
    return "; ".join(reasons) + (f"; and {more} more." if more else ".")
