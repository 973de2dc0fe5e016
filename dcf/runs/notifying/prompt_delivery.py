"""Tells agents of states that a commit made ready for them at once, in the thread that has committed.

Another thread delivers the run's outbox a millisecond after a commit: too late for work that goes from one agent to the
next. Only inboxes in Redis are filled here, in one packet, and not that of the agent that wrote: its answer contains
its next work. The recipients are chosen as for any delivery. The outcome is kept until the outbox entry is settled. If
this process dies before, another one delivers the entry under the same event id, which the inbox drops.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from dcf.values.json_text import Json
from dcf.values.records import record

_MOST: Final = 8
"""Most states that are announced at once; for more, as when a Map opens, the other thread does it."""

_MOST_POSTS: Final = 32
"""Most agents that are notified at once; for larger pools the other thread does it."""

_MOST_KEPT: Final = 4096

DeliverAll: TypeAlias = Callable[[Sequence[Post]], Sequence[Delivery]]
"""Delivers several events in one call, each independently."""

LanesOf: TypeAlias = Callable[[Sequence[str | None]], Sequence[str | None]]
"""Returns the lane of each agent: None for an agent with an inbox in Redis."""

_Event: TypeAlias = tuple[str, str, str | None, int]
"""A run, and the type, state and epoch of an outbox entry."""

_Pool: TypeAlias = tuple[OutboxEntry, Sequence[str]]
"""An outbox entry, and its possible recipients."""


@record(frozen=True, slots=True)
class ToldAtOnce:
    """The agents that were notified of a state at this server time, and those that could not be notified."""

    told: Sequence[tuple[str, Delivery]]
    failed: Sequence[tuple[str, Delivery]]
    at: int


class PromptDelivery:
    """Fills the inboxes of agents right after commits."""

    def __init__(self, lanes_of: LanesOf, deliver_all: DeliverAll) -> None:
        self._lanes_of = lanes_of
        self._deliver_all = deliver_all
        self._lock = threading.Lock()
        self._told: dict[_Event, ToldAtOnce] = {}

    def tell(self, workflow_id: str, notices: Sequence[Notice], seen: Snapshot, writer: str) -> None:
        """Notify the agents of the states that became ready. Failures are left to the delivery from the outbox.

        In a paused or blocked run no agent can lease them: their agents are notified when the run continues.
        """
        entries = [entry for entry in map(_entry, notices) if entry is not None]
        if not entries or len(entries) > _MOST or seen.meta is None or seen.meta.is_halted:
            return
        pools = [(entry, _others(workflow_id, entry, seen, writer)) for entry in entries]
        try:
            here = self._with_inboxes(pools)
            if not 0 < sum(len(agents) for _, agents in here) <= _MOST_POSTS:
                return
            mark = mark_of_event(current_author(), seen.meta)
            events = [event_of(RunKeys(workflow_id), entry, seen.now, None, mark) for entry, _ in here]
            posts = [post for event, (_, agents) in zip(events, here, strict=True) for post in posts_of(event, agents)]
            deliveries = iter(self._deliver_all(posts))
        except DcfError:
            return
        for entry, agents in here:
            done = list(zip(agents, deliveries, strict=False))
            successes = [each for each in done if each[1].failure is None]
            if successes:
                failed = [each for each in done if each[1].failure is not None]
                self._keep(workflow_id, entry, ToldAtOnce(successes, failed, seen.now))

    def _with_inboxes(self, pools: Sequence[_Pool]) -> list[_Pool]:
        """Return of each pool the agents whose inboxes are in Redis; none if an agent elsewhere has its turn."""
        lanes = iter(self._lanes_of([agent for _, agents in pools for agent in agents]))
        placed = [(entry, [(agent, next(lanes)) for agent in agents]) for entry, agents in pools]
        return [
            (entry, [agent for agent, lane in agents if lane is None] if agents and agents[0][1] is None else [])
            for entry, agents in placed
        ]

    def take(self, workflow_id: str, entry: OutboxEntry) -> ToldAtOnce | None:
        """Return the outcome for an entry of the outbox, and forget it; None if no agent was notified at once."""
        with self._lock:
            return self._told.pop(_event(workflow_id, entry), None)

    def _keep(self, workflow_id: str, entry: OutboxEntry, delivered: ToldAtOnce) -> None:
        with self._lock:
            self._told[_event(workflow_id, entry)] = delivered
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


def _others(workflow_id: str, entry: OutboxEntry, seen: Snapshot, writer: str) -> Sequence[str]:
    """Return the possible recipients; none if the writer may take the state, or if no agent is assigned."""
    agents = recipients(workflow_id, entry, seen)
    return () if writer in agents else agents


def posts_of(event: Mapping[str, Json], agents: Iterable[str]) -> list[Post]:
    """Return an event for each of these agents."""
    return [Post(agent_id=agent_id, event_id=str(event["event_id"]), event=event) for agent_id in agents]
