"""Limits on the work of one engine call before it pauses, and of a whole run before it is taken for an endless loop.

A pause keeps every transaction short; the caller continues with another call. Nothing here depends on the type of a
state.
"""

from typing import Final

from dcf.asl.steps import Entry
from dcf.values.records import replace

AT_ONCE: Final = 500
"""States in one call; then it pauses before the next silent state."""

MAX_EVENTS: Final = 25_000
"""Limit on events in a row without a Task or a wait, two per state as AWS counts: entered and exited."""

MAX_WORK: Final = 50_000
"""Limit on states in one call, including those that do not pause: what one Map may open at once."""


def is_enough(work: int) -> bool:
    """Return True if a call that has executed this many states should pause."""
    return work > AT_ONCE


def endless(entry: Entry, work: int) -> str | None:
    """Return why the run must fail before this state, as an endless loop; None where it may continue."""
    if 2 * entry.silent >= MAX_EVENTS:
        return f"More than {MAX_EVENTS} events of states in a row, without a Task or a Wait of some time among them."
    return f"More than {MAX_WORK} states were to be entered at once." if work > MAX_WORK else None


def recounted(entry: Entry) -> Entry:
    """Return the entry of a state that is waited for; silent states after it are counted from zero."""
    return replace(entry, silent=0) if entry.silent else entry
