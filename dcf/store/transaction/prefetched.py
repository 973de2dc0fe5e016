"""Reads of a later transaction, made along with the commit before it: so it needs one round trip instead of two.

A worker that leases its next state with a completion will soon complete that state. The reads of that completion are
known, and are sent in the packet of the commit. The completion is then decided on these replies, and committed by a
script if Redis still has the same data (`guards`). No decision may rest on them without that check. Each record is used
once.
"""

import time
from collections.abc import Sequence
from typing import Final

from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.store.connection.commands import Reply
from dcf.store.transaction.guards import Unchanged
from dcf.store.transaction.reading import Reading
from dcf.values.instants import SECOND
from dcf.values.records import record

WORTHWHILE_S: Final = 0.0005
"""Round trip from which one packet is faster than two: on loopback the script and the reading ahead cost more."""

_MOST: Final = 256
_FORGETTING: Final = 1.01
_PACE: Final = 1
"""Server seconds in a second; the lab changes it."""


@record(frozen=True, slots=True, kw_only=True)
class Prefetched:
    """The replies to the commands of `reading`, and when they came, by this process's clock that only runs forward."""

    reading: Reading
    replies: Sequence[Reply]
    received_at: float

    def snapshot(self) -> Snapshot:
        """Return what was read, at the time that the server has now if its clock ran as this process's did."""
        passed = int((time.monotonic() - self.received_at) * SECOND) * _PACE
        return self.reading.snapshot(self.replies, passed=passed)

    def unchanged(self, now: int) -> Unchanged:
        """Return the condition under which this may be written upon: the same replies, at about this server time."""
        return self.reading.all_unchanged(self.replies, now)


class Prefetches:
    """Prefetched replies, by run and by the read set of the later transaction; beyond 256 the oldest are dropped."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ReadSet], Prefetched] = {}

    def keep(self, workflow_id: str, reads: ReadSet, reading: Reading, replies: Sequence[Reply]) -> None:
        """Keep what was just read, for the transaction on this run that reads the same; nothing if a read failed."""
        if any(isinstance(reply, Exception) for reply in replies):
            return
        prefetched = Prefetched(reading=reading, replies=replies, received_at=time.monotonic())
        self._kept[workflow_id, reads] = prefetched
        if len(self._kept) > _MOST:
            for oldest in list(self._kept)[:-_MOST]:
                self._kept.pop(oldest, None)

    def take(self, workflow_id: str, reads: ReadSet) -> Prefetched | None:
        """Return what was read ahead for such a transaction, and forget it."""
        return self._kept.pop((workflow_id, reads), None) if self._kept else None


class RoundTrips:
    """How long a packet is on its way: the shortest of late, so that a busy server or process does not count."""

    def __init__(self) -> None:
        self.shortest_s = 0.0

    def note(self, seconds: float) -> None:
        """Take one round trip into account. Longer ones count slowly."""
        self.shortest_s = min(seconds, self.shortest_s * _FORGETTING) if self.shortest_s else seconds
