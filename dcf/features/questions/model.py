"""The messages of workers, people and planner in a run: the count of notes, and the questions. Data only.

The run's document `talk` has all of it. The open questions of a state are in its own document too (`Questioned`), so
that timer loop, diagnosis and lists need no other document. A lease costs no further read if there was no question.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final

from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part, every_name, last
from dcf.features.people.description import Askees
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.text_pieces import clip

LONGEST_TEXT: Final = 2000
"""Most characters of a note, and of a question."""

LONGEST_ANSWER: Final = 4000
MOST_CHOICES: Final = 20
LONGEST_CHOICE: Final = 200

MOST_NOTES: Final = 200
"""Most notes of a run: each is kept in its history and sent to its planner."""

MOST_KEPT: Final = 100
"""Questions that a run keeps. The oldest closed one gives way to a new one."""

MOST_OF_VISIT: Final = 10
"""Most questions about a state in one visit."""

_LONGEST_TITLE: Final = 120
_NAMED: Final = 4


@record(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the holder of a lease. Times are the server's, in microseconds.

    It was asked in the visit of `state` that `visit` names (the epoch of what entered it), under the lease of `epoch`.
    It is for the run's planner, or for the people in `to`. `gave_back`: the state waits for the answer, without a lease
    holder. `until` is when it is given up; `is_given_up` says that it was.
    """

    number: int
    state: str
    visit: int
    epoch: int
    asked_by: str
    text: str
    at: int
    until: int
    choices: tuple[str, ...] = ()
    to: Askees = Askees()
    for_planner: bool = True
    gave_back: bool = False
    answer: str | None = None
    comment: str | None = None
    answered_by: str | None = None
    answered_at: int | None = None
    is_given_up: bool = False

    @property
    def question_id(self) -> str:
        """The id of the question in its run."""
        return f"q{self.number}"

    @property
    def is_open(self) -> bool:
        """True if an answer may still come."""
        return self.answer is None and not self.is_given_up


@record(frozen=True, slots=True, kw_only=True)
class Open:
    """The part of an open question in the document of its state. `to` are persons and groups."""

    question_id: str
    title: str
    asked_at: int
    until: int
    to: Askees = Askees()
    for_planner: bool = True

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the lists that it is on, besides that of all and that of its run."""
        return (*(f"person:{name}" for name in self.to.people), *(f"group:{name}" for name in self.to.groups))

    @property
    def whom(self) -> str:
        """In words, who is asked."""
        if self.for_planner:
            return "the planner"
        named = [*self.to.people, *(f"the group {name}" for name in self.to.groups)]
        return " or ".join([*named[:_NAMED], *(["others"] if named[_NAMED:] else [])])


@record(frozen=True, slots=True, kw_only=True)
class Questioned(Attached):
    """How many questions were asked in this visit of a state, and those that wait for their answers."""

    field: ClassVar[str] = "questions"

    count: int
    open: tuple[Open, ...] = ()

    @property
    def due(self) -> int | None:
        """When the next of them is given up; None if none waits."""
        return min((one.until for one in self.open), default=None)

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        waiting: list[Json] = [
            {
                "id": question.question_id,
                "title": question.title,
                "since": to_text(question.asked_at),
                "until": to_text(question.until),
                **_write_to(question.to, question.for_planner),
            }
            for question in self.open
        ]
        return {"count": self.count} | ({"open": waiting} if waiting else {})

    def due_in(self, doc: Holder) -> int | None:  # noqa: ARG002 - whatever else the state waits for
        """Return when the next of them is given up; None if none waits."""
        return self.due

    def awaits_answer(self) -> bool:
        """Return True if a question waits."""
        return bool(self.open)

    def waits_for(self, question_id: str) -> bool:
        """Return True if this question still waits for its answer."""
        return any(one.question_id == question_id for one in self.open)

    def without(self, question_ids: Iterable[str]) -> "Questioned":
        """Return what is left once these are answered or given up."""
        gone = set(question_ids)
        return replace(self, open=tuple(one for one in self.open if one.question_id not in gone))


def questioned_of(doc: StateDoc) -> Questioned | None:
    """Return what the document of a state says of its questions; None without questions."""
    return doc.attached_as(Questioned)


@record(frozen=True, slots=True, kw_only=True)
class Questions:
    """How many notes were left and how many questions were asked in a run, and the questions that it keeps."""

    notes: int = 0
    asked: int = 0
    questions: tuple[Question, ...] = field(default_factory=tuple)

    def question(self, question_id: str) -> Question | None:
        """Return the question of this id; None if there is none, or it is no longer kept."""
        return next((one for one in self.questions if one.question_id == question_id), None)

    def with_question(self, changed: Question) -> "Questions":
        """Return it with this question in place of the one of its number."""
        return replace(
            self, questions=tuple(changed if one.number == changed.number else one for one in self.questions)
        )


NO_TALK: Final = Questions()

TALK: Final = Part[tuple[str, ...], Questions, Questions](name="talk", both=every_name, after=last, together=last)
"""What is said in a run. It is watched."""


def opened(question: Question) -> Open:
    """Return what the document of its state says of a question."""
    return Open(
        question_id=question.question_id,
        title=clip(" ".join(question.text.split()), _LONGEST_TITLE),
        asked_at=question.at,
        until=question.until,
        to=question.to,
        for_planner=question.for_planner,
    )


def read_questioned(document: Json) -> Questioned | None:
    """Read what a state's document says; None for anything else."""
    if not isinstance(document, dict):
        return None
    waiting = document.get("open")
    found = tuple(
        Open(
            question_id=str(one.get("id")),
            title=str(one.get("title")),
            asked_at=from_text(one.get("since")) or 0,
            until=from_text(one.get("until")) or 0,
            to=_read_to(one),
            for_planner=one.get("planner") is True,
        )
        for one in (waiting if isinstance(waiting, list) else ())
        if isinstance(one, dict)
    )
    return Questioned(count=_count(document.get("count")), open=found)


def write_talk(talk: Questions) -> dict[str, Json]:
    """Write the run's document."""
    return {"notes": talk.notes, "asked": talk.asked, "questions": [_write(one) for one in talk.questions]}


def read_talk(document: Json) -> Questions:
    """Read the run's document; what is no question in it is left out."""
    found = document if isinstance(document, dict) else {}
    kept = found.get("questions")
    questions = (_read(one) for one in (kept if isinstance(kept, list) else ()) if isinstance(one, dict))
    return Questions(
        notes=_count(found.get("notes")),
        asked=_count(found.get("asked")),
        questions=tuple(one for one in questions if one.number),
    )


def _write(question: Question) -> dict[str, Json]:
    written: dict[str, Json] = {
        "number": question.number,
        "state": question.state,
        "visit": question.visit,
        "epoch": question.epoch,
        "asked_by": question.asked_by,
        "text": question.text,
        "at": to_text(question.at),
        "until": to_text(question.until),
        "choices": list(question.choices) or None,
        "gave_back": question.gave_back or None,
        "answer": question.answer,
        "comment": question.comment,
        "answered_by": question.answered_by,
        "answered_at": None if question.answered_at is None else to_text(question.answered_at),
        "given_up": question.is_given_up or None,
        **_write_to(question.to, question.for_planner),
    }
    return {name: value for name, value in written.items() if value is not None}


def _read(found: Mapping[str, Any]) -> Question:
    return Question(
        number=_count(found.get("number")),
        state=str(found.get("state")),
        visit=_count(found.get("visit")),
        epoch=_count(found.get("epoch")),
        asked_by=str(found.get("asked_by")),
        text=str(found.get("text")),
        at=from_text(found.get("at")) or 0,
        until=from_text(found.get("until")) or 0,
        choices=_names(found.get("choices")),
        to=_read_to(found),
        for_planner=found.get("planner") is True,
        gave_back=found.get("gave_back") is True,
        answer=_string(found.get("answer")),
        comment=_string(found.get("comment")),
        answered_by=_string(found.get("answered_by")),
        answered_at=from_text(found.get("answered_at")),
        is_given_up=found.get("given_up") is True,
    )


def _write_to(to: Askees, for_planner: bool) -> dict[str, Json]:
    people = {"to": list(to.people)} if to.people else {}
    groups = {"groups": list(to.groups)} if to.groups else {}
    return {**people, **groups, **({"planner": True} if for_planner else {})}


def _read_to(found: Mapping[str, Any]) -> Askees:
    return Askees(people=_names(found.get("to")), groups=_names(found.get("groups")))


def _names(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
