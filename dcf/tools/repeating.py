"""Repeats a tool call that could not be carried out: every tool is idempotent with the same token."""

import time
from collections.abc import Callable, Mapping

from dcf.errors import PASSING, DcfError, ToolCallFailed
from dcf.values.json_text import Json

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


def repeated(
    once: Callable[[float], dict[str, Json]], deadline_s: float, wait: Callable[[float], object] = time.sleep
) -> dict[str, Json]:
    """Return the answer of the first try that has one; raise when the call was invalid or the deadline passed.

    `once` is given the seconds that are left; `wait` sleeps between two tries.
    """
    deadline = time.monotonic() + deadline_s
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return once(deadline - time.monotonic())
        except DcfError as error:
            if error.code not in PASSING or time.monotonic() >= deadline:
                raise
        wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def failure_of(payload: Mapping[str, Json]) -> ToolCallFailed:
    """Return the error for the answer to a call that was invalid or could not be carried out."""
    code = str(payload["code"])
    return ToolCallFailed(code, str(payload.get("error")).removeprefix(f"{code}: "), payload.get("hint"))
