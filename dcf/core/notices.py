"""Kinds of notifications, as written in the outbox and in event ids, and the notices that tell holders to stop.

A kind may have a number, as in `reminder-2`, so that each repetition has a new event id. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum

from dcf.core.decision import Notice
from dcf.core.model import StateDoc


class NoticeKind(StrEnum):
    """Reasons for a notification.

    To a state's agents: it is `READY`, or can be taken `AGAIN` or by others; it was not leased yet (`REMINDER`), its
    lease was lost (`LEASE_EXPIRED`), or its holder may stop (`CANCELLED`). To the planner: the run has ended
    (`FINISHED`), was not started (`UNSTARTED`), or does not move because no agent takes a state (`UNTAKEN`) or a
    state's agent does not exist (`UNKNOWN_AGENT`). To people: a task waits for them (`ASKED`).
    """

    READY = "state_ready"
    AGAIN = "again"
    REMINDER = "reminder"
    LEASE_EXPIRED = "lease_expired"
    CANCELLED = "cancelled"
    FINISHED = "run_finished"
    UNSTARTED = "unstarted"
    UNTAKEN = "untaken"
    UNKNOWN_AGENT = "unknown_agent"
    ASKED = "human_task"

    def numbered(self, number: int) -> str:
        """Return the kind with this number, for a repetition."""
        return f"{self}-{number}"


def ready_again(state: str, doc: StateDoc, now: int, reason: str) -> Notice:
    """Return a notice that a ready state can be taken, though its agents may have been told so before.

    Its type has the time, so that its event id is new, and the number of the latest reminder, which it does not
    outdate.
    """
    kind = f"{NoticeKind.AGAIN}.{now}-{doc.reminders}"
    return Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=reason)


def stop_notices(states: Mapping[str, StateDoc]) -> list[Notice]:
    """Return a notice to each holder of these states, whose leases end, that it may stop."""
    kind = NoticeKind.CANCELLED.value
    return [
        Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=kind, agent_id=doc.lease.owner_agent_id)
        for state, doc in states.items()
        if doc.lease.token is not None and doc.lease.owner_agent_id is not None
    ]
