"""How much one call of the engine does before it pauses, and how much a run does before it counts as endless.

A pause keeps every transaction short; the caller goes on with another call. Nothing here knows what a state does.
"""

from typing import Final

from dcf.asl.steps import Entry

AT_ONCE: Final = 500
"""States in one call; it pauses before the next that would be executed silently."""

MAX_EVENTS: Final = 25_000
"""Events of states in a row without a Task or a wait among them, two for each as AWS counts: entered and exited."""

MAX_WORK: Final = 50_000
"""States in one call, those that do not pause included: what one Map may open at once."""


def is_enough(work: int) -> bool:
    """Tell whether a call that came to its state of this number should pause."""
    return work > AT_ONCE


def endless(entry: Entry, work: int) -> str | None:
    """Tell why the run must not go on with this state; None where it may."""
    if 2 * entry.silent >= MAX_EVENTS:
        return f"More than {MAX_EVENTS} events of states in a row, without a Task or a Wait of some time among them."
    return f"More than {MAX_WORK} states were to be entered at once." if work > MAX_WORK else None
