"""What notifications are owed for, as words in the outbox and in event ids. Words only.

A kind may be followed by a number, as in `reminder-2`, which makes the event id of each repetition new.
"""

from enum import StrEnum


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
