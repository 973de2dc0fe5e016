"""Decides whether a process may make a risky evaluation, by the marks of those that began one before. Pure.

A process marks a risky evaluation before it makes it, and takes the mark off with what it writes then. A mark that
stays is the trace of a process that died. So at most two processes at a time evaluate for a state. After two deaths
no process does: the run is put on hold (`core/lifecycle/holding.py`), and the other runs continue.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from dcf.values.instants import SECOND
from dcf.values.records import record

MOST_DEATHS: Final = 2
"""After this number of deaths no process evaluates for the state."""

LONGEST_EVALUATION: Final = 15 * SECOND
"""An evaluation that has not ended by then never will: its process died, or hangs."""


@record(frozen=True, slots=True, kw_only=True)
class Mark:
    """A process evaluates for a state since this time of the server, in microseconds."""

    mark_id: str
    state: str
    process: str
    since: int


class Leave(Enum):
    """Answer to a process: it evaluates, waits until others have ended, or puts the run on hold."""

    GO = auto()
    WAIT = auto()
    HOLD = auto()


@record(frozen=True, slots=True, kw_only=True)
class Ruled:
    """The answer, and the marks of processes that died while they evaluated for this state."""

    leave: Leave
    deaths: tuple[Mark, ...]


def may_evaluate(own: Mark, marks: Sequence[Mark]) -> Ruled:
    """Return whether the process that set its own mark may evaluate; `marks` are those that were there just then.

    Its own process has not died. A time ahead of the server's was left before its clock stepped back, and is ignored.
    """
    same = [mark for mark in marks if mark.state == own.state and mark.since <= own.since]
    others = [mark for mark in same if mark.process != own.process]
    deaths = tuple(mark for mark in others if own.since - mark.since > LONGEST_EVALUATION)
    if len(deaths) >= MOST_DEATHS:
        return Ruled(leave=Leave.HOLD, deaths=deaths)
    return Ruled(leave=Leave.GO if len(others) < MOST_DEATHS else Leave.WAIT, deaths=deaths)
