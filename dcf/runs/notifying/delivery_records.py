"""Converts the outcome of a notification to records for a run's history. It must not read, write or send."""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.decision import Event, Notice
from dcf.core.documents.notices import TO_HOLDERS, NoticeKind
from dcf.ports import Delivery, Undelivered
from dcf.store.events.notified import Announcement, FailedAnnouncement, Told
from dcf.store.events.outbox import NOTHING_TOLD, OutboxEntry, TellingOutcome
from dcf.values.json_text import Json
from dcf.values.records import record, replace

_NOT_DELIVERED: Final = Delivery()


@record(frozen=True, slots=True, kw_only=True)
class Target:
    """Outcome of notifying the agents of a state: the first that was notified, and the `others` of a pool.

    `failed` lists deliveries that did not reach their agents.
    """

    state: str | None
    agent_id: str | None
    reason: str
    sent: bool = False
    skipped_not_ready: bool = False
    delivery: Delivery = _NOT_DELIVERED
    others: tuple[tuple[str, Delivery], ...] = ()
    failed: tuple[tuple[str, Delivery], ...] = ()

    @property
    def told(self) -> Sequence[tuple[str, Delivery]]:
        """The agents that were notified, each with its delivery."""
        return ((self.agent_id, self.delivery), *self.others) if self.sent and self.agent_id is not None else ()


def target_of(
    entry: OutboxEntry,
    agent_id: str,
    delivery: Delivery,
    failed: Sequence[tuple[str, Delivery]],
    *,
    others: Sequence[tuple[str, Delivery]] = (),
) -> Target:
    """Return the outcome of an entry of which this delivery is the result.

    `others` were notified too, and the deliveries to `failed` failed.
    """
    return Target(
        state=entry.state,
        agent_id=agent_id,
        reason=entry.reason,
        sent=delivery.failure is None,
        delivery=delivery,
        others=tuple(others),
        failed=tuple(failed),
    )


def outcome_name(target: Target) -> str:
    """Return the outcome of a notification in a word, for counting."""
    if target.agent_id is None:
        return "nobody"
    failure = target.delivery.failure
    return "sent" if failure is None else failure.value


def outcome_of(entry: OutboxEntry, target: Target, now: int, recorded: Told) -> TellingOutcome:
    """Return what to record: that the agent was notified, or why not; each reason is recorded once per visit.

    `recorded` has the records so far that matter.
    """
    if target.agent_id is None:
        return NOTHING_TOLD
    is_announcement = target.sent and entry.type != NoticeKind.LEASE_LOST
    announcement = (
        announcement_of(entry, target, now, entry.number + 1).after(recorded.sent) if is_announcement else None
    )
    sent = (Event(type="NotificationSent", state=entry.state, data=_shown(entry, target.agent_id) | _pool(target)),)
    if not target.failed or entry.type in TO_HOLDERS:
        return TellingOutcome(events=sent if target.sent else (), told=announcement)
    before = recorded.failed
    known = before.known if before is not None and before.epoch == entry.epoch else ()
    news = {_reason(*failure): failure for failure in target.failed if _is_worth_telling(failure[1])}
    news = {reason: failure for reason, failure in news.items() if reason not in known}
    missed = _missed(entry, target, now, (*known, *news))
    is_lost = target.delivery.failure is Undelivered.UNKNOWN_AGENT and entry.state is not None
    is_lost = is_lost and entry.type != NoticeKind.ASKED
    return TellingOutcome(
        events=(*(_failure(entry, *failure) for failure in news.values()), *(sent if target.sent else ())),
        notices=(_loss(entry),) if is_lost and news else (),
        told=announcement,
        failed=None if before is not None and missed == replace(before, at=missed.at) else missed,
    )


def _is_worth_telling(delivery: Delivery) -> bool:
    """Return True if the failure belongs in the history: not if an agent is busy, or another process delivers to it."""
    return delivery.failure not in {Undelivered.BUSY, Undelivered.UNDER_WAY, Undelivered.NO_PLATFORM}


def _reason(agent_id: str, delivery: Delivery) -> str:
    return f"{delivery.failure}:{agent_id}"


def _failure(entry: OutboxEntry, agent_id: str, delivery: Delivery) -> Event:
    why = {"failure": str(delivery.failure), "error": delivery.error}
    return Event(type="NotificationFailed", state=entry.state, data=_shown(entry, agent_id) | why)


def _loss(entry: OutboxEntry) -> Notice:
    """Return a notice to the planner that a state's agent does not exist, so that it can have the agent made again."""
    kind = NoticeKind.UNKNOWN_AGENT.value
    return Notice(type=kind, state=None, epoch=entry.epoch, reason=kind, about=entry.state)


def announcement_of(entry: OutboxEntry, target: Target, now: int, number: int) -> Announcement:
    """Return the record of the `number`th notification in this visit; each agent of a pool was notified once."""
    agents = [agent for agent, _ in target.told]
    counts = dict.fromkeys(agents, 1) if target.others else {}
    return Announcement(epoch=entry.epoch, number=number, agent_id=agents[0], at=now, counts=counts)


def _missed(entry: OutboxEntry, target: Target, now: int, known: tuple[str, ...]) -> FailedAnnouncement:
    agent_id, delivery = target.failed[-1]
    return FailedAnnouncement(
        epoch=entry.epoch,
        number=entry.number + 1,
        agent_id=agent_id,
        at=now,
        reason=str(delivery.failure),
        error=delivery.error or "",
        known=known,
    )


def _shown(entry: OutboxEntry, agent_id: str) -> dict[str, Json]:
    return {"agent": agent_id, "reason": entry.reason, "epoch": entry.epoch}


def _pool(target: Target) -> dict[str, Json]:
    """Return all agents that were notified, where it is more than the agent that an event names anyway."""
    return {"agents": [agent for agent, _ in target.told]} if target.others else {}
