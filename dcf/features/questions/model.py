"""The messages of workers, people and planner in a run: the count of notes, and the questions. Data only.

The run's document `talk` has all of it. The open questions of a state are in its own document too (`Questioned`), so
that timer loop, diagnosis and lists need no other document. A lease costs no further read if there was no question.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar, Final

from dcf.asl.tasks.askees import Askees
from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part, every_name, last
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
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
    for_planner: bool = False
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
    def whom(self) -> str:
        """In words, who is asked."""
        return opened(self).whom

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
    for_planner: bool = False

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the lists that it is on, besides that of all and that of its run."""
        return self.to.queues

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
        return min((question.until for question in self.open), default=None)

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        return _QUESTIONED.write(self)

    def due_in(self, doc: Holder) -> int | None:  # noqa: ARG002 - whatever else the state waits for
        """Return when the next of them is given up; None if none waits."""
        return self.due

    def awaits_answer(self) -> bool:
        """Return True if a question waits."""
        return bool(self.open)

    def waits_for(self, question_id: str) -> bool:
        """Return True if this question still waits for its answer."""
        return any(question.question_id == question_id for question in self.open)

    def without(self, question_ids: Iterable[str]) -> "Questioned":
        """Return what is left once these are answered or given up."""
        removed = set(question_ids)
        return replace(self, open=tuple(question for question in self.open if question.question_id not in removed))


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
        return next((question for question in self.questions if question.question_id == question_id), None)

    def with_question(self, changed: Question) -> "Questions":
        """Return it with this question in place of the one of its number."""
        return replace(
            self,
            questions=tuple(changed if question.number == changed.number else question for question in self.questions),
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


_OPEN: Final = RecordCodec(
    Open,
    "question_id title asked_at until to.people to.groups for_planner",
    named={"question_id": "id", "asked_at": "since", "to.people": "to", "for_planner": "planner"},
    times="asked_at until",
    left_out="defaults",
)
_QUESTIONED: Final = RecordCodec(Questioned, left_out="defaults", codecs={"open": _OPEN})
_QUESTION: Final = RecordCodec(
    Question,
    "number state visit epoch asked_by text at until choices gave_back answer comment answered_by answered_at "
    "is_given_up to.people to.groups for_planner",
    named={"is_given_up": "given_up", "to.people": "to", "for_planner": "planner"},
    times="at until answered_at",
    left_out="defaults",
)
_TALK: Final = RecordCodec(Questions, codecs={"questions": _QUESTION})

write_talk: Final = _TALK.write
"""Write the run's document."""


def read_questioned(document: Json) -> Questioned | None:
    """Read what a state's document says; None for anything else."""
    return _QUESTIONED.read(document) if isinstance(document, dict) else None


def read_talk(document: Json) -> Questions:
    """Read the run's document; what is no question in it is left out."""
    talk = _TALK.read(document)
    questions = [question for question in talk.questions if question.number]
    return talk if len(questions) == len(talk.questions) else replace(talk, questions=tuple(questions))
