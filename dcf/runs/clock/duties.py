"""The duties that the timer loop and the reconciliation have for capabilities: types only."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from dcf.store.events.outbox import Attention

Duty: TypeAlias = Callable[[int], None]
"""Called in each pass of the timer loop with the server time. Any process may do it, and may repeat each step."""

Cleaning: TypeAlias = Callable[[], object]
"""Called in each step of the reconciliation: removes things that no run needs, a few each time."""


class EndedRuns(Protocol):
    """Finalizes and deletes ended runs."""

    def look(self, workflow_id: str, seen: Attention) -> bool:
        """Do the due work on an ended run. Return True if the run changed."""

    def settle(self, workflow_id: str, seen: Attention) -> None:
        """Let the keys of a finalized run expire, or take their expiry off while it is on hold."""


class TimedStarts(Protocol):
    """Starts runs at scheduled times. `listed_in` is the key of the index of their names by scheduled time."""

    listed_in: str
    latest: int
    """The latest server time of a decision, in microseconds; the timer loop sets it back."""

    def look(self, name: str, *, has_stepped_back: bool = False) -> int:
        """Do the due work for a name. Return how many runs were started."""

    def names(self) -> list[str]:
        """Return all names."""


class Traces(Protocol):
    """Sends the traces of ended runs."""

    def is_settled(self, workflow_id: str, finished_at: int | None, now: int) -> bool:
        """Return True if the trace of an ended run was sent, or need not be; else have it sent."""
