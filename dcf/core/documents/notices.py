"""Kinds of notifications, as written in the outbox and in event ids, and the notices that tell holders to stop.

A kind may have a number, as in `reminder-2`, so that each repetition has a new event id. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dcf.core.documents.decision import Notice
from dcf.core.documents.model import Lease, Meta, StateDoc, Status
from dcf.values.json_text import Json


class NoticeKind(StrEnum):
    """Reasons for a notification.

    To a state's agents: it is `READY`, or can be leased `AGAIN` or by others. It was not leased yet (`REMINDER`), or
    its lease has expired (`LEASE_EXPIRED`). To its holder alone: the work is no longer wanted (`CANCELLED`), or the
    lease is lost (`LEASE_LOST`).

    To the planner: the run has ended (`FINISHED`) or was not started (`UNSTARTED`). No agent leases a state
    (`UNTAKEN`), or a state's agent does not exist (`UNKNOWN_AGENT`). A note was left (`NOTE`), or an issue blocks the
    run (`BLOCKED`). To people: a task waits for them (`ASKED`). To them or to the planner: a holder asks a question
    (`QUESTION`); to the holder: its answer (`ANSWERED`). To reviewers: a gate waits for a verdict (`GATE`); to the
    worker: its output was sent back (`NEEDS_WORK`).

    To another run, and so to dcf itself: a state's child is to be started or stopped (`CHILD_START`, `CHILD_STOP`). To
    the parent: a child was started or has ended (`CHILD_STARTED`, `CHILD_OVER`).
    """

    READY = "state_ready"
    AGAIN = "again"
    REMINDER = "reminder"
    LEASE_EXPIRED = "lease_expired"
    CANCELLED = "cancelled"
    LEASE_LOST = "lease_lost"
    FINISHED = "run_finished"
    UNSTARTED = "unstarted"
    UNTAKEN = "untaken"
    UNKNOWN_AGENT = "unknown_agent"
    ASKED = "human_task"
    NOTE = "note"
    QUESTION = "question"
    ANSWERED = "question_answered"
    GATE = "gate_opened"
    NEEDS_WORK = "needs_work"
    BLOCKED = "run_blocked"
    CHILD_START = "child_start"
    CHILD_STOP = "child_stop"
    CHILD_STARTED = "child_started"
    CHILD_OVER = "child_over"

    def numbered(self, number: int) -> str:
        """Return the kind with this number, for a repetition."""
        return f"{self}-{number}"


TO_RUNS: Final = frozenset(
    {NoticeKind.CHILD_START, NoticeKind.CHILD_STOP, NoticeKind.CHILD_STARTED, NoticeKind.CHILD_OVER}
)
"""Kinds of which no agent is notified: dcf carries them out itself."""

TO_HOLDERS: Final = frozenset({NoticeKind.CANCELLED.value, NoticeKind.LEASE_LOST.value})
"""Kinds that tell the holder of a lease to stop."""


TO_ANYBODY: Final = "anybody."
"""How the kind begins of an event that tells waiting agents of a state that no agent is assigned to."""

GATES: Final = frozenset({NoticeKind.GATE, NoticeKind.NEEDS_WORK})
"""Kinds about the verdicts of gates; what they are about follows, as in `needs_work.3`."""

_FOR_WORKERS: Final = frozenset({NoticeKind.READY, NoticeKind.AGAIN, NoticeKind.REMINDER, NoticeKind.LEASE_EXPIRED})

TALK: Final = frozenset({NoticeKind.NOTE, NoticeKind.QUESTION, NoticeKind.ANSWERED, NoticeKind.BLOCKED}) | GATES
"""Kinds of what workers, people and planner tell each other; a number or an id follows, as in `note.3`."""


def is_for_workers(type_: str) -> bool:
    """Return True for an entry of the outbox that says that any agent of a state may take it."""
    return type_.partition(".")[0].partition("-")[0] in _FOR_WORKERS


def talk_kind(type_: str) -> str | None:
    """Return the kind of talk that an entry of the outbox brings; None for one of another kind."""
    kind = type_.partition(".")[0]
    return kind if kind in TALK else None


def notice_about(
    kind: NoticeKind,
    key: str | int,
    state: str | None,
    epoch: int,
    content: Mapping[str, Json],
    agent_id: str | None = None,
) -> Notice:
    """Return a notice about a state, to an agent or else to the planner. `key` tells it from others of its kind."""
    type_ = f"{kind.value}.{key}"
    return Notice(
        type=type_, state=None, epoch=epoch, reason=kind.value, agent_id=agent_id, about=state, content=content
    )


def start_child(state: str, doc: StateDoc) -> list[Notice]:
    """Return the notice that the child run of a state is to be started; none for a state that has no child."""
    kind = NoticeKind.CHILD_START.value
    return [Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=kind)] if _awaits_child(doc) else []


def stop_children(states: Mapping[str, StateDoc]) -> list[Notice]:
    """Return a notice for each of these states that waits for a child run, and waits no longer."""
    kind = NoticeKind.CHILD_STOP.value
    return [
        Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=kind)
        for state, doc in states.items()
        if _awaits_child(doc)
    ]


def tell_parent(meta: Meta, epoch: int) -> list[Notice]:
    """Return the notice that a child has ended; none for a run whose end no other run awaits."""
    kind = NoticeKind.CHILD_OVER.value
    awaits = meta.parent is not None and meta.parent.awaits_end
    return [Notice(type=kind, state=None, epoch=epoch, reason=kind)] if awaits else []


def _awaits_child(doc: StateDoc) -> bool:
    return doc.kind == "Child" and doc.status is Status.RUNNING


def ready_after(state: str, epoch: int, source: str | None) -> Notice:
    """Return the notice that a state is ready since the one before it, `source`, was done."""
    kind = NoticeKind.READY.value
    return Notice(type=kind, state=state, epoch=epoch, source=source, reason="upstream_done")


def ready_again(state: str, doc: StateDoc, now: int, reason: str) -> Notice:
    """Return a notice that a ready state can be leased, though its agents may have been notified before.

    Its type has the time, so that its event id is new, and the number of the latest reminder, which it does not
    outdate.
    """
    kind = f"{NoticeKind.AGAIN}.{now}-{doc.reminders}"
    return Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=reason)


def stop_notices(states: Mapping[str, StateDoc]) -> list[Notice]:
    """Return a notice to each holder of these states, whose leases end, that it may stop; also for child runs."""
    kind = NoticeKind.CANCELLED.value
    return stop_children(states) + [
        notice for state, doc in states.items() for notice in _to_holder(kind, state, doc.lease, kind)
    ]


def lost_notices(state: str, lease: Lease, reason: str, by: str | None = None) -> list[Notice]:
    """Return the notice to the holder of a lease that ends without it; none if the agent `by` took it from itself."""
    return [] if by is not None and by == lease.owner_agent_id else _to_holder(_LOST, state, lease, reason)


def _to_holder(kind: str, state: str, lease: Lease, reason: str) -> list[Notice]:
    if lease.token is None or lease.owner_agent_id is None:
        return []
    return [Notice(type=kind, state=state, epoch=lease.epoch, reason=reason, agent_id=lease.owner_agent_id)]


_LOST: Final = NoticeKind.LEASE_LOST.value
