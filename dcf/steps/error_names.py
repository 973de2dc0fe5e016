"""The names under which errors arrive in a state machine, which knows no classes."""

from collections.abc import Sequence
from typing import Any, Final

from dcf.steps.value_types import STR, Field, ValueType
from dcf.steps.vocabulary import ERROR_NAMES

PROBLEM: Final = ValueType("obj", None, (Field("Error", STR), Field("Cause", STR)), declared=Exception)
"""The type of the variable of an except clause."""


def error_names(kind: type[BaseException] | str) -> Sequence[str]:
    """Return the names of the errors of a class: its own, and those of all subclasses that are loaded."""
    if isinstance(kind, str):
        return [kind]
    if kind in ERROR_NAMES:
        return [ERROR_NAMES[kind]]
    names = [kind.__name__]
    if kind is TimeoutError:
        names.append("States.Timeout")
    for subclass in kind.__subclasses__():
        names.extend(error_names(subclass))
    return list(dict.fromkeys(names))


def is_error(value: Any) -> bool:
    """Return True for a class of errors."""
    return isinstance(value, type) and issubclass(value, BaseException)
