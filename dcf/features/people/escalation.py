"""Lets others answer a human task too if there is no answer in time, and notifies them. Pure."""

from dataclasses import replace
from typing import Final

from dcf.core.completing.waiting import next_look, told_to
from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import StateDoc

ESCALATED: Final = "human_task_escalated"
"""Reason of the notices to the people who are asked because there was no answer in time."""


def look(snapshot: Snapshot, state: str, doc: StateDoc) -> Decision[Owed] | None:
    """Ask others too, if a human task was not answered in time. None if that is not due."""
    is_due = doc.asked is not None and doc.escalates_at is not None and doc.escalates_at <= snapshot.now
    return _escalated(state, doc, snapshot.now) if is_due else None


def _escalated(state: str, doc: StateDoc, now: int) -> Decision[Owed]:
    """Let those of the escalation answer too, and tell those of them who do not know of the task."""
    asked = doc.asked
    assert asked is not None, "the caller looked"
    wider = replace(doc, asked=asked.escalated())
    fresh = [name for name in asked.escalates_to.names if name not in asked.to.names]
    told = {"epoch": doc.lease.epoch, "to": [*asked.escalates_to.people], "groups": [*asked.escalates_to.groups]}
    return Decision(
        answer=Owed(states=(state,), fired="outside"),
        changes=WriteSet(
            states={state: wider},
            events=[Event(type="HumanTaskEscalated", state=state, data=told)],
            notices=[told_to(name, state, doc, ESCALATED) for name in fresh],
            timers={state: next_look(wider, now)},
        ),
    )
