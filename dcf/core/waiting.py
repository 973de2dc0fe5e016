"""How a Task is opened that waits for something outside, and what every open Task gets of its timeouts. Pure.

People who are asked are told at once, also before the run is started: they need no lease, and may take their time.
"""

from dataclasses import replace
from typing import Final

from dcf.asl.human import HumanTask
from dcf.asl.steps import OpenTask
from dcf.core.asking import asked_by
from dcf.core.decision import Changes, Notice
from dcf.core.model import StateDoc, Status
from dcf.core.notices import NoticeKind
from dcf.values.instants import SECOND

ASKED: Final = "human_task"
"""Reason of the notices to those who are asked first."""

NO_LOOK: Final = 2**53
"""A timer that never fires: the state stays listed as open, and no clock needs to look at it."""


def limited(doc: StateDoc, step: OpenTask, now: int, epoch: int) -> StateDoc:
    """Return the document of an entered Task with its timeouts, and what its task token names."""
    if step.gets_token:
        doc = replace(doc, visit=epoch)
    if step.timeout_s is None and step.heartbeat_s is None:
        return doc
    deadline = None if step.timeout_s is None else now + step.timeout_s * SECOND
    return replace(doc, deadline=deadline, timeout_s=step.timeout_s, heartbeat_s=step.heartbeat_s)


def wait_outside(writes: Changes, step: OpenTask, doc: StateDoc, now: int) -> None:
    """Let an entered Task wait for the outside from now on, and tell those of the people whom it asks."""
    assert step.waits_as is not None, "the caller looked"
    writes.states[step.path] = waits = begun(doc, step.waits_as, now, step.human)
    writes.timers[step.path] = next_look(waits)
    writes.notices.extend(asking_notices(step.path, waits))


def begun(doc: StateDoc, kind: str, now: int, human: HumanTask | None = None) -> StateDoc:
    """Return the document of a Task that waits from now on; a heartbeat is due from now on too.

    `kind` says what it waits for (`asl/resources.py: WAITING`), `human` what is asked of people. Nobody holds it.
    """
    doc = doc if human is None else replace(doc, asked=asked_by(human, now))
    lease = replace(doc.lease, token=None, owner_agent_id=None, ts=now, ttl_s=None, expires_at=None)
    started_at = doc.started_at or now
    return replace(doc, status=Status.RUNNING, kind=kind, lease=lease, started_at=started_at, claim=None, reminders=0)


def asking_notices(state: str, doc: StateDoc) -> list[Notice]:
    """Return a notice to each person and group that a state waits for from now on; none if it waits for no person."""
    return [] if doc.asked is None else [told_to(name, state, doc, ASKED) for name in doc.asked.to.names]


def told_to(name: str, state: str, doc: StateDoc, reason: str) -> Notice:
    """Return a notice to a person or group that a state waits for them."""
    return Notice(type=NoticeKind.ASKED.value, state=state, epoch=doc.lease.epoch, reason=reason, agent_id=name)


def next_look(doc: StateDoc) -> int:
    """Return when the clock must look at a state that waits for something outside: when a timeout of it passes."""
    return doc.attention(NO_LOOK)
