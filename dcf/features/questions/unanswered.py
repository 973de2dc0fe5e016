"""Gives up questions that were not answered in time, and notifies their authors. Pure."""

from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import StateDoc
from dcf.features.questions.asking import closed
from dcf.features.questions.model import NO_TALK, TALK, questioned_of
from dcf.values.records import replace


def look(snapshot: Snapshot, state: str, doc: StateDoc) -> Decision[Owed] | None:
    """Give up the questions about an open state that are due. None if there are none."""
    questioned = questioned_of(doc)
    is_due = questioned is not None and questioned.due is not None and questioned.due <= snapshot.now
    return _give_up(snapshot, state) if is_due else None


def _give_up(snapshot: Snapshot, state: str) -> Decision[Owed]:
    """Give up the questions that are due. A state that was released for an answer can be leased again, without one."""
    doc, talk = snapshot.states[state], snapshot.part(TALK) or NO_TALK
    questioned = questioned_of(doc)
    assert questioned is not None, "a question about it is due"
    due = [item.question_id for item in questioned.open if item.until <= snapshot.now]
    open_questions_due = [talk.question(question_id) for question_id in due]
    questions = tuple(replace(item, is_given_up=True) for item in open_questions_due if item is not None)
    if not questions:  # somebody removed the document by hand
        left = doc.attaching(questioned.without(due))
        return Decision(answer=Owed(fired="unanswered"), changes=WriteSet(states={state: left}))
    for question in questions:
        talk = talk.with_question(question)
    changes = replace(
        closed(snapshot, snapshot.existing_meta, doc, questions),
        parts=TALK.written(talk),
        events=[
            Event(type="QuestionExpired", state=state, data={"question": item.question_id, "agent": item.asked_by})
            for item in questions
        ],
    )
    return Decision(answer=Owed(states=(state,), fired="unanswered"), changes=changes)
