"""What notifications are owed for, as words in the outbox and in event ids, and the one that tells holders to stop.

A kind may be followed by a number, as in `reminder-2`, which makes the event id of each repetition new. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum

from dcf.core.decision import Notice
from dcf.core.model import StateDoc


class NoticeKind(StrEnum):
    """Why somebody is to be told.

    Of a state: it is `READY`, nobody took it (`REMINDER`), its lease was lost (`LEASE_EXPIRED`), or its holder may stop
    (`CANCELLED`). To the planner: the run is over (`FINISHED`), was never kicked off (`UNSTARTED`), or stands because
    nobody takes a state (`UNTAKEN`) or its agent does not exist (`UNKNOWN_AGENT`).
    """

    READY = "state_ready"
    REMINDER = "reminder"
    LEASE_EXPIRED = "lease_expired"
    CANCELLED = "cancelled"
    FINISHED = "run_finished"
    UNSTARTED = "unstarted"
    UNTAKEN = "untaken"
    UNKNOWN_AGENT = "unknown_agent"

    def numbered(self, number: int) -> str:
        """Name the repetition of this number."""
        return f"{self}-{number}"


def stop_notices(states: Mapping[str, StateDoc]) -> list[Notice]:
    """Owe those who hold these states, which are taken from them, the news that they may stop."""
    kind = NoticeKind.CANCELLED.value
    return [
        Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=kind, agent_id=doc.lease.owner_agent_id)
        for state, doc in states.items()
        if doc.lease.token is not None and doc.lease.owner_agent_id is not None
    ]
