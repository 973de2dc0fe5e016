"""Hands the event of an outbox entry to the agents that may take its state. It does not record who was notified.

Every member of a pool with an inbox in Redis is notified: that is one packet, the first member to acquire the lease
works, and the inboxes of the others drop outdated events. A message to a remote platform wakes an agent, often
a model that costs money, without success if another member was faster. So a member there is notified if it has its
turn, and another one only if no member took the event so far.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dcf.core.access.provenance import mark_of_event
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.notices import NoticeKind, talk_kind
from dcf.ports import Deliverer, Delivery, Post, Undelivered
from dcf.runs.notifying.announcements import event_of, recipients
from dcf.runs.notifying.delivery_records import Target, target_of
from dcf.runs.notifying.prompt_delivery import DeliverAll, LanesOf, posts_of
from dcf.store.access.authors import current_author
from dcf.store.events.outbox import OutboxEntry
from dcf.store.keys.table import RunKeys
from dcf.values.json_text import Json

_MOST_ASKED: Final = 10
"""Most members of a pool that are tried, one after the other, for one event: each may take seconds."""

_MOST_TOGETHER: Final = 200
"""Events in one packet."""

_ANOTHER_MAY: Final = frozenset(
    {Undelivered.BUSY, Undelivered.UNKNOWN_AGENT, Undelivered.NO_PLATFORM, Undelivered.AGENT_UNAVAILABLE}
)
"""Failures that concern one agent only, so that the next member of the pool is tried."""

_ByAgent: TypeAlias = Mapping[str, Delivery]
"""The deliveries of one event, by agent."""


class Sender:
    """Tells agents of events: through `together` those with inboxes, else through their platforms one by one.

    An agent that the platforms do not know is notified through `people`, if it may be a person.
    """

    def __init__(
        self, platform: Deliverer, together: DeliverAll | None, people: Deliverer | None, lanes_of: LanesOf
    ) -> None:
        self._platform = platform
        self._together = together
        self._people = people
        self._lanes_of = lanes_of

    def send(self, workflow_id: str, entry: OutboxEntry, snapshot: Snapshot, payload: Json) -> Target:
        """Send the event of one entry."""
        (target,) = self.send_all(workflow_id, [entry], snapshot, payload)
        return target

    def send_all(
        self, workflow_id: str, entries: Sequence[OutboxEntry], snapshot: Snapshot, payload: Json
    ) -> list[Target]:
        """Send each entry's event; to the agents with inboxes all together, where that is possible."""
        posts = [_posts(workflow_id, entry, snapshot, payload) for entry in entries]
        is_single = len(entries) == 1
        made = self._deliver_together([self._at_once(of, is_single=is_single) for of in posts])
        return [self._send(*each) for each in zip(entries, posts, made, strict=True)]

    def _at_once(self, posts: Sequence[Post], *, is_single: bool) -> Sequence[Post]:
        """Return the posts that are delivered whatever comes of others: of a pool, those to inboxes."""
        if self._together is None or not posts:
            return ()
        if len(posts) == 1:
            return () if is_single else posts
        lanes = self._lanes_of([post.agent_id for post in posts])
        return [post for post, lane in zip(posts, lanes, strict=True) if lane is None]

    def _deliver_together(self, groups: Sequence[Sequence[Post]]) -> list[_ByAgent]:
        posts = [post for group in groups for post in group]
        deliveries = list[Delivery]()
        for start in range(0, len(posts), _MOST_TOGETHER):
            assert self._together is not None, "without it nothing is delivered at once"
            deliveries += self._together(posts[start : start + _MOST_TOGETHER])
        each = iter(deliveries)
        return [{post.agent_id: next(each) for post in group} for group in groups]

    def _send(self, entry: OutboxEntry, posts: Sequence[Post], made: _ByAgent) -> Target:
        """Offer the event to the agents in turn, except to those that `made` says the outcome of.

        If no agent takes it, prefer the failure of a known agent.
        """
        sent, failed, away = list[tuple[str, Delivery]](), list[tuple[str, Delivery]](), set[str | None]()
        tries, is_stopped = 0, False
        for post in posts:
            delivery = made.get(post.agent_id)
            if delivery is None:
                is_left_out = bool(sent) or is_stopped or tries == _MOST_ASKED
                if is_left_out or (away and self._lane_of(post) in away):
                    continue
                delivery, tries = self._deliver(entry, post), tries + 1
            if delivery.failure is None:
                sent.append((post.agent_id, delivery))
                continue
            failed.append((post.agent_id, delivery))
            if delivery.failure is Undelivered.PLATFORM_UNAVAILABLE:
                away.add(self._lane_of(post))  # a member of the pool elsewhere may take it
            elif delivery.failure not in _ANOTHER_MAY:
                is_stopped = True
        if sent:
            return target_of(entry, *sent[0], failed, others=sent[1:])
        if not failed:
            return Target(state=entry.state, agent_id=None, reason=entry.reason)
        hopeful = (each for each in failed if each[1].failure is not Undelivered.UNKNOWN_AGENT)
        return target_of(entry, *next(hopeful, failed[0]), failed)

    def _lane_of(self, post: Post) -> str | None:
        return self._lanes_of((post.agent_id,))[0]

    def _deliver(self, entry: OutboxEntry, post: Post) -> Delivery:
        delivered = self._platform.deliver(post.agent_id, post.event_id, post.event)
        kind = talk_kind(entry.type)
        may_be_person = entry.type == NoticeKind.ASKED or kind in (NoticeKind.QUESTION, NoticeKind.GATE)
        is_person = delivered.failure is Undelivered.UNKNOWN_AGENT and may_be_person
        if not is_person or self._people is None:
            return delivered
        return self._people.deliver(post.agent_id, post.event_id, post.event)


def _posts(workflow_id: str, entry: OutboxEntry, snapshot: Snapshot, payload: Json) -> list[Post]:
    """Return the entry's event for each agent that may take it, in the order to ask."""
    mark = mark_of_event(current_author(), snapshot.existing_meta)
    doc = None if entry.state is None else snapshot.states.get(entry.state)
    event = event_of(RunKeys(workflow_id), entry, snapshot.now, payload, mark, doc, snapshot.existing_meta.status)
    return posts_of(event, recipients(workflow_id, entry, snapshot))
