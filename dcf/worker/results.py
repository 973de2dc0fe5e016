"""Turns the output or the exception of a task function into the arguments that report it to the control plane.

An exception of a user's function fails the state, never the worker. The error is named by the class of the exception,
so that Retry and Catch can name it.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.steps.plain_values import plain
from dcf.values.json_text import Json, dump, parse
from dcf.worker.failure import TaskFailed

log = logging.getLogger(__name__)

Result: TypeAlias = Mapping[str, Json]
"""The arguments that report the outcome of a state."""

USAGE: Final = "usage_json"
"""Argument that reports what the function used up, if it said so."""

INVALID_OUTPUT: Final = "DCF.InvalidOutput"
"""ASL error of a state whose function returned no JSON, or what the Task's OutputSchema does not allow."""

_LONGEST_ERROR: Final = 200
_LONGEST_CAUSE: Final = 20_000


def succeeded(output: Json) -> Result:
    """Return what reports an output. It is sent as JSON text, so that a string stays a string."""
    try:
        text = dump(parse([plain(output)], name="the output")[0])
    except InvalidArgument as error:
        return _failure(INVALID_OUTPUT, error.message)
    return {"new_status": "succeeded", "output_json": text}


def failed(error: Exception, about: str) -> Result:
    """Return what reports an exception; `about` says of what, for the log of the worker."""
    if isinstance(error, TaskFailed):
        return _failure(error.error, error.cause)
    log.error("%s failed", about, exc_info=error)
    return _failure(type(error).__name__, _in_words(error))


def mismatched(problems: Sequence[Mapping[str, Json]], refused: Result) -> Result:
    """Return what reports that an output was refused, since it does not match the Task's OutputSchema."""
    reasons = "; ".join(f"{problem.get('path') or 'the output'}: {problem.get('message')}" for problem in problems)
    failure = _failure(INVALID_OUTPUT, f"The output does not match the OutputSchema: {reasons}")
    return failure | {USAGE: refused[USAGE]} if USAGE in refused else failure


def _failure(error: str, cause: str) -> dict[str, Json]:
    name = sendable(error, _LONGEST_ERROR) or "States.TaskFailed"
    return {"new_status": "failed", "error_name": name, "error_message": sendable(cause, _LONGEST_CAUSE)}


def _in_words(error: Exception) -> str:
    try:
        return str(error) or f"{type(error).__name__} was raised without a message."
    except Exception:  # noqa: BLE001 - an exception of a user may fail even at saying what it is
        return f"{type(error).__name__} was raised."


def sendable(text: str, longest: int) -> str:
    """Shorten a text and replace invalid Unicode: neither may prevent the report of a failure."""
    return str(text)[:longest].encode(errors="replace").decode()
