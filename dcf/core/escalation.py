"""Tells people of tasks: whom when a task is opened, and who may answer too when nobody has in time. Pure."""

from dataclasses import replace
from typing import Final

from dcf.core.answers import Owed
from dcf.core.decision import Changes, Decision, Event, Notice
from dcf.core.model import StateDoc
from dcf.core.notices import NoticeKind
from dcf.core.waiting import next_look

_REASONS: Final = ("human_task", "human_task_escalated")


def asking_notices(state: str, doc: StateDoc) -> list[Notice]:
    """Return a notice to each person and group that a state waits for from now on; none if it waits for no person."""
    asked = doc.asked
    return [] if asked is None else [_notice(state, doc, name, _REASONS[0]) for name in asked.to.names]


def escalate(state: str, doc: StateDoc) -> Decision[Owed]:
    """Let those of the escalation answer too, and tell those of them who do not know of the task."""
    asked = doc.asked
    assert asked is not None, "the caller looked"
    wider = replace(doc, asked=asked.escalated())
    fresh = [name for name in asked.escalates_to.names if name not in asked.to.names]
    told = {"epoch": doc.lease.epoch, "to": [*asked.escalates_to.people], "groups": [*asked.escalates_to.groups]}
    return Decision(
        answer=Owed(states=(state,), fired="outside"),
        changes=Changes(
            states={state: wider},
            events=[Event(type="HumanTaskEscalated", state=state, data=told)],
            notices=[_notice(state, doc, name, _REASONS[1]) for name in fresh],
            timers={state: next_look(wider)},
        ),
    )


def _notice(state: str, doc: StateDoc, name: str, reason: str) -> Notice:
    kind = NoticeKind.ASKED.value
    return Notice(type=kind, state=state, epoch=doc.lease.epoch, reason=reason, agent_id=name)
