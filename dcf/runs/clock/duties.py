"""Work of the timer loop and of the reconciliation for capabilities: types, and the table of duties.

`features/installed_runs.py` fills the table before the first timer loop is made.
"""

from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeAlias

from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections
from dcf.store.events.outbox import Attention
from dcf.values.tables import Tables

Duty: TypeAlias = Callable[[int], None]
"""Called in each pass of the timer loop with the server time. Any process may do it, and may repeat each step."""

MakeDuty: TypeAlias = Callable[[ControlPlane, Connections], Duty]
"""Makes a duty for the timer loop of a process."""

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


class DutyExtensions(Tables):
    """The duties of capabilities, in the order in which the timer loop does them."""

    filled_by = "dcf.features.installed_runs"
    makers: tuple[MakeDuty, ...]

    def install(self, makers: Iterable[MakeDuty]) -> None:
        """Fill the table."""
        self.makers = tuple(makers)


DUTIES: Final = DutyExtensions()
