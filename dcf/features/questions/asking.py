"""Questions of workers: a holder asks the planner or people, and the first answer counts. Pure.

A question stays with its state: a later lease holder sees it with its answer. Its asker keeps the lease, or releases
the state (`give_back`), which then waits for the answer and counts no attempt. After its time the question
is given up (`unanswered`).
"""

from typing import Final

from dcf.asl.tasks.askees import Askees
from dcf.core.access.provenance import marked
from dcf.core.definitions.scopes import entry_epoch_of
from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.documents.notices import NoticeKind, notice_about, ready_again
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER, unless_holder
from dcf.core.leasing.attention import latest_look
from dcf.core.leasing.first_terms import signed
from dcf.core.leasing.lease import Release, release
from dcf.errors import InvalidArgument
from dcf.features.journal.authors import check_text
from dcf.features.questions import refusals
from dcf.features.questions.model import (
    LONGEST_ANSWER,
    LONGEST_CHOICE,
    LONGEST_TEXT,
    MOST_CHOICES,
    MOST_KEPT,
    MOST_OF_VISIT,
    NO_TALK,
    TALK,
    Question,
    Questioned,
    Questions,
    opened,
    questioned_of,
)
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, without_nulls
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

DEFAULT_WAIT_S: Final = 86_400
LONGEST_WAIT_S: Final = 30 * 86_400

ANSWERED: Final = "question_answered"
"""Reason of the notice that a state can be taken again."""


@record(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question of a lease holder: to the planner, or to the people in `to`. It is given up after `timeout_s`."""

    state: str
    token: str
    text: str
    choices: tuple[str, ...] = ()
    to: Askees | None = None
    give_back: bool = True
    timeout_s: int = DEFAULT_WAIT_S

    def __post_init__(self) -> None:
        check_text(self.text, "question", LONGEST_TEXT)
        if len(self.choices) > MOST_CHOICES or any(not 0 < len(choice) <= LONGEST_CHOICE for choice in self.choices):
            raise InvalidArgument(
                f"choices has more than {MOST_CHOICES} texts, or one is empty or over {LONGEST_CHOICE} characters.",
                "Offer few and short ones, or none: then any text is an answer.",
            )
        if not 0 < self.timeout_s <= LONGEST_WAIT_S:
            raise InvalidArgument(
                f"timeout_s is not between 1 and {LONGEST_WAIT_S}.", "Leave it out: a question waits for a day."
            )

    def arguments(self) -> dict[str, Json]:
        """Return what is asked, for its fingerprint."""
        to: Json = None if self.to is None else [list(self.to.people), list(self.to.groups)]
        arguments = [self.text, list(self.choices), to, self.give_back, self.timeout_s]
        return {"state": self.state, "told": arguments}


@record(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """An answer to a question. `by` gives it, for `groups`; as a person, and (or) as a caller that may plan runs."""

    question_id: str
    answer: str
    by: str
    comment: str | None = None
    groups: frozenset[str] = frozenset()
    is_person: bool = False
    may_plan: bool = False

    def __post_init__(self) -> None:
        check_text(self.answer, "answer", LONGEST_ANSWER)
        if self.comment is not None:
            check_text(self.comment, "comment", LONGEST_ANSWER)

    def arguments(self) -> dict[str, Json]:
        """Return what is answered, for its fingerprint."""
        return {"question": self.question_id, "told": [self.answer, self.comment], "by": self.by}


def shown(question: Question) -> dict[str, Json]:
    """Return a question for the worker on its state, without empty fields. The answer is marked as another's."""
    members: dict[str, Json] = {
        "question_id": question.question_id,
        "question": question.text,
        "asked_by": question.asked_by,
        "choices": list(question.choices) or None,
        "answer": question.answer,
        "comment": question.comment,
        "answered_by": question.answered_by,
        "unanswered": True if question.is_given_up else None,
        "waits_until": to_text(question.until) if question.is_open else None,
        "provenance": None if question.answer is None else marked(question.answered_by),
    }
    return without_nulls(members)


def of_visit(talk: Questions, state: str, visit: int) -> tuple[Question, ...]:
    """Return the questions that were asked in this visit of a state, the oldest first."""
    return tuple(question for question in talk.questions if question.state == state and question.visit == visit)


@decided_once
def ask(snapshot: Snapshot, request: RunRequest, wish: Ask) -> RunDecision:
    """Keep the question, tell whom it is for, and give the state back if its holder wishes so."""
    state, doc, meta, now = wish.state, snapshot.states[wish.state], snapshot.existing_meta, snapshot.now
    talk = snapshot.part(TALK) or NO_TALK
    refusal = unless_holder(doc, meta, state, wish.token) or _unless_room(doc, talk, state, now)
    if refusal is not None:
        return Decision(answer=refusal)
    question = Question(
        number=talk.asked + 1,
        state=state,
        visit=entry_epoch_of(state, snapshot.states.get, meta),
        epoch=doc.lease.epoch,
        asked_by=doc.lease.owner_agent_id or "",
        text=wish.text,
        at=now,
        until=now + wish.timeout_s * SECOND,
        choices=wish.choices,
        to=_askees(wish, meta),
        for_planner=wish.to is None,
        gave_back=wish.give_back,
    )
    before = questioned_of(doc) or Questioned(count=0)
    asking = Questioned(count=before.count + 1, open=(*before.open, opened(question)))
    changes = _given_back(snapshot, wish) if wish.give_back else WriteSet()
    after = changes.states.get(state, signed(doc, now)).attaching(asking)
    if wish.give_back:
        after = replace(after, not_before=question.until, delay_s=wish.timeout_s, tries_from=doc.tries_from + 1)
    data: dict[str, Json] = {"question": question.question_id, "agent": question.asked_by, "text": question.text}
    data |= {"choices": list(question.choices)} if question.choices else {}
    data |= {"to": opened(question).whom, "gave_back": wish.give_back, "epoch": question.epoch}
    return Decision(
        answer=RunAnswer(answer=_ANSWER.write(question), at=now),
        changes=replace(
            changes,
            parts=TALK.written(replace(talk, asked=question.number, questions=(*_kept(talk, now), question))),
            states={state: after},
            events=[Event(type="QuestionAsked", state=state, data=request.told(**data)), *changes.events],
            notices=[*changes.notices, *_asking(question)],
            timers={state: latest_look(after, meta, now)},
        ),
    )


def _askees(wish: Ask, meta: Meta) -> Askees:
    if wish.to is not None:
        return wish.to
    return Askees() if meta.planner_agent_id is None else Askees(people=(meta.planner_agent_id,))


def _unless_room(doc: StateDoc, talk: Questions, state: str, now: int) -> Refusal | None:
    questioned = questioned_of(doc)
    if questioned is not None and questioned.count >= MOST_OF_VISIT:
        return refusals.TOO_MANY_QUESTIONS.refuse(state=state)
    return refusals.QUESTIONS_FULL.refuse() if len(_kept(talk, now)) >= MOST_KEPT else None


def _kept(talk: Questions, now: int) -> tuple[Question, ...]:
    """Return the questions without the oldest closed one, where there is no room for one more."""
    over = next((question for question in talk.questions if not question.is_open or question.until <= now), None)
    if over is None or len(talk.questions) < MOST_KEPT:
        return talk.questions
    return tuple(question for question in talk.questions if question is not over)


def _given_back(snapshot: Snapshot, wish: Ask) -> WriteSet:
    freed = release(snapshot, Release(state=wish.state, token=wish.token, reason="asked a question")).changes
    assert freed is not None, "the lease holder can release it"
    return freed


_ANSWER: Final = RecordCodec(
    Question,
    "question_id state whom until gave_back asked_by",
    named={"whom": "asked", "until": "waits_until"},
    times="until",
)


def _asking(question: Question) -> list[Notice]:
    """Return a notice to each agent or person that is asked."""
    content: dict[str, Json] = {
        "question_id": question.question_id,
        "from": question.asked_by,
        "question": question.text,
        **({"choices": list(question.choices)} if question.choices else {}),
        "waits_until": to_text(question.until),
    }
    return [
        notice_about(NoticeKind.QUESTION, question.question_id, question.state, question.epoch, content, name)
        for name in question.to.names
    ]


@decided_once
def answer(snapshot: Snapshot, request: RunRequest, reply: QuestionAnswer, question: Question) -> RunDecision:
    """Keep the answer and tell the asker. `question` is the one that was found before; it is read again."""
    meta, now, talk = snapshot.existing_meta, snapshot.now, snapshot.part(TALK) or NO_TALK
    doc, open_question = snapshot.states[question.state], talk.question(reply.question_id)
    if open_question is None:
        return Decision(answer=refusals.UNKNOWN_QUESTION.refuse(question_id=reply.question_id))
    refusal = _unless_open(meta, doc, open_question) or _why_not_this(meta, open_question, reply)
    if refusal is not None:
        return Decision(answer=refusal)
    done = replace(open_question, answer=reply.answer, comment=reply.comment, answered_by=reply.by, answered_at=now)
    data: dict[str, Json] = {"question": done.question_id, "agent": done.asked_by, "answered_by": reply.by}
    data |= {"answer": reply.answer} | ({} if reply.comment is None else {"comment": reply.comment})
    changes = closed(snapshot, meta, doc, (done,))
    details: dict[str, Json] = {"question_id": done.question_id, "state": done.state, "answered_by": reply.by}
    return Decision(
        answer=RunAnswer(answer={**details, "answer": reply.answer, "asked_by": done.asked_by}, at=now),
        changes=replace(
            changes,
            parts=TALK.written(talk.with_question(done)),
            events=[Event(type="QuestionAnswered", state=done.state, data=request.told(**data))],
        ),
    )


def _unless_open(meta: Meta, doc: StateDoc, question: Question) -> Refusal | None:
    if question.answer is not None:
        at = "" if question.answered_at is None else f" at {to_text(question.answered_at)}"
        return refusals.ALREADY_ANSWERED.refuse(question=question, at=at, answer=question.answer)
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if question.is_given_up:
        return refusals.GIVEN_UP.refuse(question=question)
    questioned = questioned_of(doc)
    is_current = questioned is not None and questioned.waits_for(question.question_id)
    return (
        refusals.STATE_MOVED_ON.refuse(question=question, doc=doc) if doc.status.is_terminal or not is_current else None
    )


def _why_not_this(meta: Meta, question: Question, reply: QuestionAnswer) -> Refusal | None:
    if not _may_answer(meta, question, reply):
        return refusals.NOT_ASKED.refuse(question=question, recipients=opened(question), answerer=reply.by)
    if question.choices and reply.answer not in question.choices:
        return refusals.NO_SUCH_CHOICE.refuse(
            question=question, answer=reply.answer, offered=", ".join(question.choices)
        )
    return None


def _may_answer(meta: Meta, question: Question, reply: QuestionAnswer) -> bool:
    """Return True if the answer is theirs to give: what the planner is asked, any person may answer too."""
    if question.for_planner:
        return reply.is_person or (reply.may_plan and reply.by == meta.planner_agent_id)
    is_named = reply.by in question.to.people or not reply.groups.isdisjoint(question.to.groups)
    return reply.is_person and is_named


def closed(snapshot: Snapshot, meta: Meta, doc: StateDoc, questions: tuple[Question, ...]) -> WriteSet:
    """Return what changes about a state when these of its questions are answered, or given up, without the events.

    A state that was released for the answer can be leased from now on. The asker and the state's agents are notified.
    """
    state, now = questions[0].state, snapshot.now
    questioned = questioned_of(doc)
    assert questioned is not None, "the caller looked"
    after = doc.attaching(questioned.without(question.question_id for question in questions))
    notices = [_told(question, doc) for question in questions]
    if any(_is_awaited(question, doc) for question in questions):
        after = replace(after, not_before=now, delay_s=None)
        notices.append(ready_again(state, after, now, ANSWERED))  # outdated while the run is paused; resuming tells
    return WriteSet(states={state: after}, notices=notices, timers={state: latest_look(after, meta, now)})


def _is_awaited(question: Question, doc: StateDoc) -> bool:
    """Return True if the state waits for this answer. A clock that stepped back may have changed until when."""
    is_free = doc.lease.token is None and doc.not_before is not None
    return question.gave_back and is_free and doc.delay_s == (question.until - question.at) // SECOND


def _told(question: Question, doc: StateDoc) -> Notice:
    """Return the notice to the asker; it is true as long as the visit lasts, so it has the epoch of its entry."""
    content: dict[str, Json] = {
        "question_id": question.question_id,
        "question": question.text,
        **(
            {"answer": None, "nobody_answered": True}
            if question.answer is None
            else {"from": question.answered_by, "answer": question.answer}
        ),
        **({} if question.comment is None else {"comment": question.comment}),
        "gave_back": question.gave_back,
    }
    about, key = question.state, question.question_id
    return notice_about(NoticeKind.ANSWERED, key, about, doc.entry_epoch, content, question.asked_by)
