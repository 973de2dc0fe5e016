"""Lets others answer a human task too if there is no answer in time, and notifies them. Pure."""

from typing import Final

from dcf.core.completing.waiting import next_look, person_notice
from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import StateDoc
from dcf.features.people.model import Asking, asking_of

ESCALATED: Final = "human_task_escalated"
"""Reason of the notices to the people who are asked because there was no answer in time."""


def look(snapshot: Snapshot, state: str, doc: StateDoc) -> Decision[Owed] | None:
    """Ask others too, if a human task was not answered in time. None if that is not due."""
    asking = asking_of(doc)
    due = None if asking is None else asking.due_in(doc)
    if asking is None or due is None or due > snapshot.now:
        return None
    return _escalated(state, doc, asking, snapshot.now)


def _escalated(state: str, doc: StateDoc, asking: Asking, now: int) -> Decision[Owed]:
    """Let those of the escalation answer too, and tell those of them who do not know of the task."""
    wider = doc.attaching(asking.escalated())
    fresh = [name for name in asking.escalates_to.names if name not in asking.to.names]
    data = {"epoch": doc.lease.epoch, "to": [*asking.escalates_to.people], "groups": [*asking.escalates_to.groups]}
    return Decision(
        answer=Owed(states=(state,), fired="outside"),
        changes=WriteSet(
            states={state: wider},
            events=[Event(type="HumanTaskEscalated", state=state, data=data)],
            notices=[person_notice(name, state, doc, ESCALATED) for name in fresh],
            timers={state: next_look(wider, now)},
        ),
    )
