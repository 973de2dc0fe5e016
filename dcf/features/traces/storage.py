"""Notes which runs' traces were sent, so that one of several timer loops sends each. This module must not decide.

A mark says which end of the run was sent: a run that was retried ends again. The sender holds the mark for a while;
if it dies meanwhile, another sends the same spans again.
"""

from enum import Enum
from typing import Final

from dcf.store.connection.connections import Connections

_KEY: Final = "cp:idx:traced:"
_SENDING: Final = b"sending"
_HELD_MS: Final = 60_000
_AGAIN_MS: Final = 5_000
_KEPT_MS: Final = 2 * 24 * 3600 * 1000
"""Longer than a run is looked at after its end (`features/traces/operations.py`)."""


class TraceMark(Enum):
    """The sender of the trace of a run: the caller from now on, another process now, or none, since it was sent."""

    MINE = "mine"
    OTHERS = "others"
    SENT = "sent"


class TraceMarks:
    """The marks."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, workflow_id: str, finished_at: int) -> TraceMark:
        """Say that the caller sends the trace of a run that ended then, unless somebody does or did."""
        key = f"{_KEY}{workflow_id}"
        taken, stored = self._connections.send(("SET", key, _SENDING, "NX", "PX", _HELD_MS), ("GET", key))
        if taken is not None:
            return TraceMark.MINE
        if stored in {None, _SENDING}:
            return TraceMark.OTHERS
        if int(stored) == finished_at:
            return TraceMark.SENT
        self._connections.send(("SET", key, _SENDING, "PX", _HELD_MS))
        return TraceMark.MINE

    def settle(self, workflow_id: str, finished_at: int) -> None:
        """Note that the trace was sent, or is given up."""
        self._connections.send(("SET", f"{_KEY}{workflow_id}", finished_at, "PX", _KEPT_MS))

    def put_off(self, workflow_id: str) -> None:
        """Let anybody try again a little later."""
        self._connections.send(("SET", f"{_KEY}{workflow_id}", _SENDING, "PX", _AGAIN_MS))
