"""Selects the Retrier or Catcher for an error, and computes the backoff before a retry. Pure."""

import math
from collections.abc import Sequence
from typing import Final

from dcf.asl.machine import State
from dcf.asl.states import Catcher, Retrier
from dcf.asl.surroundings import SECOND, Chance
from dcf.values.records import record

RUNTIME: Final = "States.Runtime"
TIMEOUT: Final = "States.Timeout"
HEARTBEAT: Final = "States.HeartbeatTimeout"
_MAX_DELAY_S: Final = 31_622_400 * 100


@record(frozen=True, slots=True, kw_only=True)
class Retrying:
    """A Retrier that will be used again: its earlier uses, and the counts of all Retriers including this use."""

    retrier: Retrier
    count: int
    retries: tuple[int, ...]


def met(
    state: State, retries: tuple[int, ...], error: str | None, *, worked: bool = False
) -> Retrying | Catcher | None:
    """Return the first Retrier that names the error, if it has attempts left; else a Catcher, or None.

    `worked`: the state's work succeeded, so the error is not the Task's, and `States.TaskFailed` does not name it.
    """
    at = _first(state.retriers, error, worked)
    if at is not None:
        filled = retries + (0,) * (at + 1 - len(retries))
        retrier, count = state.retriers[at], filled[at]
        if count < retrier.max_attempts:
            return Retrying(retrier=retrier, count=count, retries=(*filled[:at], count + 1, *filled[at + 1 :]))
    caught = _first(state.catchers, error, worked)
    return None if caught is None else state.catchers[caught]


def delay_micros(retrier: Retrier, count: int, chance: Chance) -> int:
    """Return the backoff before retry number `count` + 1 of a Retrier, in microseconds."""
    try:
        delay = retrier.interval * retrier.rate**count
    except OverflowError:
        delay = math.inf
    delay = min(delay, _MAX_DELAY_S if retrier.max_delay is None else retrier.max_delay)
    if retrier.jitter:
        delay *= chance.fraction()
    return round(delay * SECOND)


def _first(rules: Sequence[Retrier | Catcher], error: str | None, worked: bool) -> int | None:
    return next((at for at, rule in enumerate(rules) if _names(rule.errors, error, worked)), None)


def _names(errors: tuple[str, ...], error: str | None, worked: bool) -> bool:
    if error == RUNTIME:
        return False
    if error in errors or "States.ALL" in errors:
        return True
    if "States.TaskFailed" in errors and not worked and error not in (TIMEOUT, HEARTBEAT):
        return True
    # A missed heartbeat is a kind of timeout: a handler of timeouts also handles it.
    return error == HEARTBEAT and TIMEOUT in errors
