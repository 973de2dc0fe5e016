"""The rules by which the lab judges errands: what must have come of each, whatever struck meanwhile.

One function each, named for what must hold. It yields a sentence for each violation it finds.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lab.polling import FrozenPoll

_FIRST_TERM_S: Final = 60
"""Seconds that a client may hold what was granted to it in a wait, before any sign of it; 15, and time to spare."""


def a_frozen_client_holds_a_task_shortly(poll: "FrozenPoll") -> Iterator[str]:
    """A lease that is granted through a wait has a short first term."""
    if poll.term_s > _FIRST_TERM_S:
        yield f"a client that does not read holds a task for {poll.term_s:.0f} s"


def the_next_client_gets_the_task(poll: "FrozenPoll") -> Iterator[str]:
    """Another client of the agent gets the task, and does it."""
    if poll.status not in {None, "succeeded"}:
        yield f"the run is {poll.status}, since no other client of the agent got the task"
