"""Which Retrier or Catcher an error meets, and when a failed state is tried again."""

import math
from collections.abc import Iterable
from typing import Final, TypeVar

from dcf.asl.state_parts import Catcher, Retrier
from dcf.asl.surroundings import SECOND, Chance

RUNTIME: Final = "States.Runtime"
_TIMEOUTS: Final = ("States.Timeout", "States.HeartbeatTimeout")
_MAX_DELAY_S: Final = 31_622_400 * 100

_Rule = TypeVar("_Rule", Retrier, Catcher)


def first_match(rules: Iterable[_Rule], error: str | None) -> tuple[int, _Rule] | None:
    """Find the first rule that names the error, and its index."""
    return next(((at, rule) for at, rule in enumerate(rules) if _names(rule.errors, error)), None)


def used_up(retrier: Retrier, count: int) -> bool:
    """Tell whether a Retrier that was used `count` times may not be used again."""
    return count >= retrier.max_attempts


def counted(retries: tuple[int, ...], at: int) -> tuple[int, ...]:
    """Count one more use of the Retrier at an index."""
    filled = retries + (0,) * (at + 1 - len(retries))
    return (*filled[:at], filled[at] + 1, *filled[at + 1 :])


def delay_micros(retrier: Retrier, count: int, chance: Chance) -> int:
    """Work out how long to wait before retry number `count` + 1 of a Retrier."""
    try:
        delay = retrier.interval * retrier.rate**count
    except OverflowError:
        delay = math.inf
    delay = min(delay, _MAX_DELAY_S if retrier.max_delay is None else retrier.max_delay)
    if retrier.jitter:
        delay *= chance.fraction()
    return round(delay * SECOND)


def _names(errors: tuple[str, ...], error: str | None) -> bool:
    if error == RUNTIME:
        return False
    if error in errors or "States.ALL" in errors:
        return True
    if "States.TaskFailed" in errors and error not in _TIMEOUTS:
        return True
    # A missed heartbeat is a kind of timeout, so whoever handles timeouts handles it.
    return error == "States.HeartbeatTimeout" and "States.Timeout" in errors
