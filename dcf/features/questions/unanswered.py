"""What the clock does about an open state, with the questions about it that nobody answered in time. Pure.

Such a question is given up, and its author is notified. All else is decided by `attention`. The states of a run on hold
are left as they are.
"""

from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.leasing import attention
from dcf.features.questions.asking import closed
from dcf.features.questions.model import NO_TALK
from dcf.values.records import replace


def look(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Decide what to do about an open state whose timer is due."""
    if _is_on_hold(snapshot, state):
        later = WriteSet(timers={state: snapshot.now + attention.PAUSED_DELAY})
        return Decision(answer=Owed(fired="paused"), changes=later)
    if _is_due(snapshot, state):
        return _give_up(snapshot, state)
    return Decision(answer=Owed(fired="gate")) if _awaits_verdict(snapshot, state) else attention.look(snapshot, state)


def _is_on_hold(snapshot: Snapshot, state: str) -> bool:
    """Return True for an open state of a held run that is due: what would be done about it may end this process too."""
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status is not RunStatus.RUNNING or doc.status.is_terminal:
        return False
    return meta.hold is not None and snapshot.timers.get(state, attention.NEVER) <= now


def _is_due(snapshot: Snapshot, state: str) -> bool:
    """Return True if a question about an open state is to be given up, and nothing ends the state before."""
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or meta is None or meta.status is not RunStatus.RUNNING or doc.status.is_terminal:
        return False
    is_first = snapshot.timers.get(state, attention.NEVER) <= now and doc.timed_out(now) is None
    return is_first and doc.question_due is not None and doc.question_due <= now


def _awaits_verdict(snapshot: Snapshot, state: str) -> bool:
    """Return True if a verdict is to be asked for again, and nothing ends the state before."""
    doc, meta, now = snapshot.states.get(state), snapshot.meta, snapshot.now
    if doc is None or doc.gate_due is None or meta is None or meta.status is not RunStatus.RUNNING:
        return False
    is_first = snapshot.timers.get(state, attention.NEVER) <= now and doc.timed_out(now) is None
    return is_first and doc.gate_due <= now


def _give_up(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Give up what is due. A state that was given back for an answer can be taken again, without one."""
    doc, talk = snapshot.states[state], snapshot.talk or NO_TALK
    assert snapshot.meta is not None, "the clock looks at runs that exist"
    assert doc.questions is not None, "a question about it is due"
    due = [one.question_id for one in doc.questions.open if one.until <= snapshot.now]
    found = [talk.question(question_id) for question_id in due]
    questions = tuple(replace(one, is_given_up=True) for one in found if one is not None)
    if not questions:  # somebody removed the document by hand
        left = replace(doc, questions=doc.questions.without(due))
        return Decision(answer=Owed(fired="unanswered"), changes=WriteSet(states={state: left}))
    for one in questions:
        talk = talk.with_question(one)
    changes = replace(
        closed(snapshot, snapshot.meta, doc, questions),
        talk=talk,
        events=[
            Event(type="QuestionExpired", state=state, data={"question": one.question_id, "agent": one.asked_by})
            for one in questions
        ],
    )
    return Decision(answer=Owed(states=(state,), fired="unanswered"), changes=changes)
