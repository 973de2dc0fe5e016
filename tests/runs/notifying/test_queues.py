"""A lane of deliveries: what it holds, and what becomes of that when a delivery breaks."""

import time

import pytest

from dcf.errors import StoreUnavailable
from dcf.runs.notifying.queues import MOST_WAITING, Lane
from dcf.store.events.outbox import OutboxEntry


def entries(count: int) -> list[OutboxEntry]:
    return [
        OutboxEntry(entry_id=f"{number}-0", type="ready", state=f"S{number}", epoch=0, source=None, reason="initial")
        for number in range(count)
    ]


def test_a_delivery_that_breaks_leaves_room_for_other_runs() -> None:
    """Redis away for a moment: what waited behind is taken over by any process, so it may not fill this lane."""
    settled = list[str]()

    def settle(workflow_id: str, entry: OutboxEntry) -> int:
        if workflow_id == "broken":
            raise StoreUnavailable("Redis does not answer.")
        settled.append(entry.entry_id)
        return 1

    lane = Lane(settle, 0, time.monotonic)
    with pytest.raises(StoreUnavailable):
        lane.put("broken", entries(MOST_WAITING))
    assert lane.put("other", entries(3)) == (3, [])
    assert settled == ["0-0", "1-0", "2-0"]
