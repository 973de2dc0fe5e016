"""A trap: the next process of an agent that comes to a step of the protocol strikes itself there.

So a strike hits a step exactly: just before its call, or when its answer has come and nothing was done with it.
"""

import mmap
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STEPS: Final = ("grant", "reserve", "call", "beat", "limit", "settle", "write", "park")
MOMENTS: Final = ("before", "after")
_FORM: Final = struct.Struct("<BBBB")
_DISARMED: Final = bytes(_FORM.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Where a process is struck, and whether it is frozen or killed. `agent` is the number of its agent."""

    agent: int
    step: str
    moment: str
    is_frozen: bool


class Traps:
    """One trap in a file that all processes map. `set` arms it, the process that comes there disarms it."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_DISARMED)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)

    def set(self, trap: Trap) -> None:
        """Arm it."""
        place = STEPS.index(trap.step) * len(MOMENTS) + MOMENTS.index(trap.moment)
        self._map[:] = _FORM.pack(1, trap.agent, place, trap.is_frozen)

    def disarm(self) -> None:
        """Let everybody pass."""
        self._map[:] = _DISARMED

    @property
    def is_armed(self) -> bool:
        """True until a process comes there."""
        return self._map[0] == 1

    def strikes(self, agent: int, step: str, moment: str) -> signal.Signals | None:
        """Disarm it if it is for this place; return the signal that the process then sends to itself."""
        is_armed, its_agent, place, is_frozen = _FORM.unpack(self._map[:])
        if not is_armed or (its_agent, place) != (agent, STEPS.index(step) * len(MOMENTS) + MOMENTS.index(moment)):
            return None
        self.disarm()
        return signal.SIGSTOP if is_frozen else signal.SIGKILL


def strike_oneself(number: signal.Signals) -> None:
    """Die, or stop."""
    os.kill(os.getpid(), number)
