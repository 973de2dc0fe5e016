"""Repeats a call that could not be carried out: every tool is idempotent with the same token."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from dcf.errors import PASSING, DcfError, ToolCallFailed
from dcf.values.json_text import Json

Result = TypeVar("Result")

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Tries:
    """The attempts of a call: with growing pauses until the deadline, as long as the failure is a passing one."""

    def __init__(self, deadline_s: float) -> None:
        self._deadline = time.monotonic() + deadline_s
        self._pause_s = _FIRST_PAUSE_S

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - time.monotonic()

    def pause_after(self, error: DcfError) -> float:
        """Return how long to wait before the next try; raise the error if there is to be none."""
        if error.code not in PASSING or self.left_s <= 0:
            raise error
        pause, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return pause


def repeated(
    once: Callable[[float], Result], deadline_s: float, wait: Callable[[float], object] = time.sleep
) -> Result:
    """Return the answer of the first try that has one; raise when the call was invalid or the deadline passed.

    `once` is given the seconds that are left; `wait` sleeps between two tries.
    """
    tries = Tries(deadline_s)
    while True:
        try:
            return once(tries.left_s)
        except DcfError as error:
            pause = tries.pause_after(error)
        wait(pause)


async def repeated_async(
    once: Callable[[float], Awaitable[dict[str, Json]]], deadline_s: float, wait: Callable[[float], Awaitable[object]]
) -> dict[str, Json]:
    """Do the same without blocking the event loop."""
    tries = Tries(deadline_s)
    while True:
        try:
            return await once(tries.left_s)
        except DcfError as error:
            pause = tries.pause_after(error)
        await wait(pause)


def failure_of(payload: Mapping[str, Json]) -> ToolCallFailed:
    """Return the error for the answer to a call that was invalid or could not be carried out."""
    code = str(payload["code"])
    return ToolCallFailed(code, str(payload.get("error")).removeprefix(f"{code}: "), payload.get("hint"), payload)
