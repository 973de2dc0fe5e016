"""What a task function may know of the call besides its input, and whether it asks for it.

A function that may be called again uses it to make an effect outside dcf happen once. It knows nothing of tools.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dcf.values.json_text import Json

_NAME: Final = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """Which call of a function this is: a function with a parameter `context` gets it.

    `state` is the path of the state, such as `Each/17/Score`. `attempt` counts the leases of the state, from 1. `epoch`
    grows with each lease: whoever is called outside keeps the largest and refuses smaller ones, so that a worker that
    was replaced without knowing it changes nothing.
    """

    workflow_id: str
    state: str
    attempt: int
    epoch: int


def wants_context(function: Callable[..., Json]) -> bool:
    """Return True if a function has a parameter `context`."""
    try:
        return _has_parameter(function)
    except TypeError:  # an object that is called like a function, and has no hash
        return _has_parameter.__wrapped__(function)


@lru_cache(maxsize=1024)
def _has_parameter(function: Callable[..., Json]) -> bool:
    try:
        return _NAME in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C cannot say
        return False
