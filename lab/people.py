"""The people of the lab: a process in which two persons find tasks that wait for them and answer, often both at once.

An answer follows from its question, so that the expected result of a run does not depend on who is first.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcf.core.documents.operations import RunAnswer
from dcf.errors import DcfError
from dcf.features.people.answering import Answerer, HumanAnswer
from dcf.features.people.listing import HumanTaskQuery, HumanTaskRow
from dcf.features.people.operations import People
from dcf.features.people.storage import HumanTasks
from dcf.features.questions.asking import QuestionAnswer
from dcf.features.questions.model import Question
from dcf.features.questions.operations import Talking
from dcf.store.events.history import History
from lab.expectation import PEOPLE, answer_of
from lab.process import Dcf, Place, opened
from lab.recording import Recorder
from lab.verbs import Heard, Recorded

_PAGE = 20
_MOST_PAST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleDuty:
    """Input of the process of the people."""

    place: Place
    calls: Path
    runs: frozenset[str]
    number: int


def main(duty: PeopleDuty) -> None:
    """Answer, each person on a thread, until killed."""
    with opened(duty.place) as dcf:
        recorder = Recorder(duty.calls, "people")
        for name in PEOPLE:
            person = Person(duty=duty, dcf=dcf, recorder=recorder, name=name)
            threading.Thread(target=person.work, daemon=True).start()
        threading.Event().wait()


@dataclass(kw_only=True)
class Person:
    """Looks for tasks and answers them. `past` are answers that may be given again."""

    duty: PeopleDuty
    dcf: Dcf
    recorder: Recorder
    name: str
    past: list[Callable[[], Heard]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.luck = random.Random(f"{self.name} {self.duty.number}")
        self.people = People(self.dcf.plane, History(self.dcf.connections), HumanTasks(self.dcf.connections))
        self.talking = Talking(self.dcf.plane)
        self.recorded = Recorded(None, self.recorder, self.name)  # type: ignore[arg-type]  # it makes no worker's calls

    def work(self) -> None:
        """Look and answer, without end."""
        while True:
            try:
                rows = self.people.list_human_tasks(HumanTaskQuery(limit=_PAGE, person=self.name)).rows
            except DcfError:
                rows = ()
            mine = [row for row in rows if row.workflow_id in self.duty.runs]
            for row in self.luck.sample(mine, min(len(mine), 3)):
                self.answer(row)
            if self.past and self.luck.random() < 0.1:
                self.luck.choice(self.past)()
            time.sleep(self.luck.uniform(0.01, 0.05))

    def answer(self, row: HumanTaskRow) -> None:
        """Answer a task as a person would, until its effect is known."""
        if row.question is not None:
            self.reply(row.workflow_id, row.question)
        if row.task is None:
            return
        answer = answer_of(row.state.rpartition("/")[2], row.task.details)[1]
        request_id, epoch = uuid.uuid4().hex, row.doc.lease.epoch
        by = Answerer(name=self.name)
        wish = HumanAnswer(state=row.state, choice="approve", by=by, answer=answer, epoch=epoch)
        note: dict[str, Any] = {
            "agent": self.name,
            "state": row.state,
            "content": {"request": request_id, "epoch": epoch},
        }

        def call() -> Heard:
            return self.recorded.noted(
                "answer",
                row.workflow_id,
                note,
                lambda: _heard(self.people.answer_human_task(row.workflow_id, wish, request_id=request_id), row.state),
            )

        self.past = [*self.past[-_MOST_PAST:], call]
        self.recorded.surely(call)

    def reply(self, run: str, question: Question) -> None:
        """Answer a question; each person says something else."""
        request_id, answer = uuid.uuid4().hex, f"{self.name} says so"
        wish = QuestionAnswer(question_id=question.question_id, answer=answer, by=self.name, is_person=True)
        content = {"request": request_id, "question": question.question_id, "answer": answer}
        note: dict[str, Any] = {"agent": self.name, "state": question.state, "content": content}

        def call() -> Heard:
            return self.recorded.noted(
                "reply",
                run,
                note,
                lambda: _heard(self.talking.answer_question(run, wish, request_id=request_id), question.state),
            )

        self.past = [*self.past[-_MOST_PAST:], call]
        self.recorded.surely(call)


def _heard(answer: object, state: str) -> Heard:
    if isinstance(answer, RunAnswer):
        return Heard(code="ok", state=state, repeated=answer.repeated)
    return Heard(code=str(getattr(answer, "code", "")), state=state)
