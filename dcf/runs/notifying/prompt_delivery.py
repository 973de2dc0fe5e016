"""Tells agents of states that a commit made ready for them at once, in the thread that has committed.

What a commit owes is delivered from the run's outbox by another thread, a millisecond later: too late for work that
goes from one agent to the next. Only inboxes in Redis are filled here, in one packet, and only of agents other than the
one that wrote: that one is given its next work with its answer. Who is told is decided as for any delivery. What was
told is kept until its outbox entry is settled. If this process dies before, the entry is delivered by another under the
same event id, which the inbox drops.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dcf.core.access.provenance import mark_of_event
from dcf.core.documents.decision import Notice, Snapshot
from dcf.core.documents.notices import NoticeKind
from dcf.errors import DcfError
from dcf.ports import Delivery, Post
from dcf.runs.notifying.announcements import event_of, recipients
from dcf.store.access.authors import current_author
from dcf.store.events.outbox import OutboxEntry
from dcf.store.keys.table import RunKeys
from dcf.values.records import record

_MOST: Final = 8
"""States that are told of at once; of more, as when a Map opens, agents are told by the other thread."""

_MOST_KEPT: Final = 4096

DeliverAll: TypeAlias = Callable[[Sequence[Post]], Sequence[Delivery]]
"""Delivers several events at once, each by itself."""

LanesOf: TypeAlias = Callable[[Sequence[str | None]], Sequence[str | None]]
"""Returns the lane of each agent: None for one whose inbox is in Redis."""

_Event: TypeAlias = tuple[str, str, str | None, int]
"""A run, and the type, state and epoch of an outbox entry."""


@record(frozen=True, slots=True)
class ToldAtOnce:
    """That an agent was told of a state, at this server time."""

    agent_id: str
    delivery: Delivery
    at: int


class PromptDelivery:
    """Fills the inboxes of agents right after commits."""

    def __init__(self, lanes_of: LanesOf, deliver_all: DeliverAll) -> None:
        self._lanes_of = lanes_of
        self._deliver_all = deliver_all
        self._lock = threading.Lock()
        self._told: dict[_Event, ToldAtOnce] = {}

    def tell(self, workflow_id: str, notices: Sequence[Notice], seen: Snapshot, writer: str) -> None:
        """Tell the agents of the states that became ready. What fails is left to the delivery from the outbox.

        In a run that is paused or blocked nobody can take them: their agents are told when it goes on.
        """
        entries = [entry for entry in map(_entry, notices) if entry is not None]
        if not entries or len(entries) > _MOST or seen.meta is None or seen.meta.is_halted:
            return
        found = [(entry, agent) for entry in entries if (agent := _other(workflow_id, entry, seen, writer)) is not None]
        try:
            lanes = self._lanes_of([agent for _, agent in found])
            here = [one for one, lane in zip(found, lanes, strict=True) if lane is None]
            posts = [_post(workflow_id, entry, agent, seen) for entry, agent in here]
            deliveries = self._deliver_all(posts) if posts else ()
        except DcfError:
            return
        for (entry, agent), delivery in zip(here, deliveries, strict=True):
            if delivery.failure is None:
                self._keep(workflow_id, entry, ToldAtOnce(agent, delivery, seen.now))

    def take(self, workflow_id: str, entry: OutboxEntry) -> ToldAtOnce | None:
        """Return who was told of an entry of the outbox, and forget it; None if nobody was."""
        with self._lock:
            return self._told.pop(_event(workflow_id, entry), None)

    def _keep(self, workflow_id: str, entry: OutboxEntry, told: ToldAtOnce) -> None:
        with self._lock:
            self._told[_event(workflow_id, entry)] = told
            if len(self._told) > _MOST_KEPT:
                self._told.pop(next(iter(self._told)), None)


def _event(workflow_id: str, entry: OutboxEntry) -> _Event:
    return workflow_id, entry.type, entry.state, entry.epoch


def _entry(notice: Notice) -> OutboxEntry | None:
    """Return the outbox entry of a state that became ready; None for a notice of another kind."""
    if notice.type != NoticeKind.READY or notice.state is None or notice.agent_id is not None:
        return None
    return OutboxEntry(
        entry_id="",
        type=notice.type,
        state=notice.state,
        epoch=notice.epoch,
        source=notice.source,
        reason=notice.reason,
    )


def _other(workflow_id: str, entry: OutboxEntry, seen: Snapshot, writer: str) -> str | None:
    """Return the agent that is first to be told; None if the writer may take the state, or if nobody is assigned."""
    agents = recipients(workflow_id, entry, seen)
    return None if writer in agents else next(iter(agents), None)


def _post(workflow_id: str, entry: OutboxEntry, agent_id: str, seen: Snapshot) -> Post:
    assert seen.meta is not None, "checked by the caller"
    event = event_of(RunKeys(workflow_id), entry, seen.now, None, mark_of_event(current_author(), seen.meta))
    return Post(agent_id=agent_id, event_id=str(event["event_id"]), event=event)
