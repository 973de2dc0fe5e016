"""Notifies agents that wait for work that no agent is assigned to. The lease decides which of them does it.

Nothing is recorded of it: the outbox entry stays, for an agent that is assigned later, and until the state is taken.
It is offered again with each reminder, under a new event id. A wait that no notification reached looks for such work
itself when it begins and when it ends, so a lost notification costs time, and no work.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from dcf.asl.state_paths import name_of
from dcf.core.access.provenance import mark_of_event
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.notices import TO_ANYBODY
from dcf.features.work.taker_storage import Takers
from dcf.features.work.takers import spread
from dcf.ports import Delivery, Post
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.announcements import event_of
from dcf.store.access.authors import current_author
from dcf.store.events.outbox import OutboxEntry
from dcf.store.keys.table import RunKeys
from dcf.values.records import replace

ToInboxes: TypeAlias = Callable[[Sequence[Post]], Sequence[Delivery]]
"""Puts several events into inboxes, in one packet."""


class UnassignedWork:
    """Offers states that no agent is assigned to."""

    def __init__(self, plane: ControlPlane, takers: Takers, to_inboxes: ToInboxes) -> None:
        self._plane = plane
        self._takers = takers
        self._to_inboxes = to_inboxes

    def offer(self, workflow_id: str, entries: Sequence[OutboxEntry], seen: Snapshot) -> int:
        """Notify waiting agents that see this run of states that are ready. Return how many were notified."""
        takers = self._takers.of(self._plane.run(workflow_id).project, seen.now)
        mark, run = mark_of_event(current_author(), seen.existing_meta), RunKeys(workflow_id)
        posts: list[Post] = []
        for number, agent_id in spread([name_of(entry.state or "") for entry in entries], takers):
            entry = replace(entries[number], type=f"{TO_ANYBODY}{entries[number].type}")
            event = event_of(run, entry, seen.now, None, mark)
            posts.append(Post(agent_id=agent_id, event_id=str(event["event_id"]), event=event))
        deliveries = self._to_inboxes(posts) if posts else ()
        return sum(delivery.failure is None and not delivery.duplicate for delivery in deliveries)
