"""Which open human tasks a caller wants to see, in which order, and what is shown of each. Pure.

The lists of open tasks may have stale entries (`features/people/storage.py`). So a page is made from the documents of
the states that they name, and `HumanTaskQuery.wants` leaves out the others.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dcf.asl.tasks.askees import Askees
from dcf.core.documents.model import StateDoc
from dcf.core.listing.cursors import parts_of_cursor
from dcf.core.listing.waiting import WaitingPlace
from dcf.errors import InvalidArgument
from dcf.features.gates.model import OpenGate, submission_of
from dcf.features.people.answering import waits_for_person
from dcf.features.people.description import HumanTask
from dcf.features.people.model import asking_of
from dcf.features.questions.model import Question
from dcf.values.instants import to_text
from dcf.values.json_text import Json, without_nulls
from dcf.values.records import record

LONGEST_PAGE: Final = 1000
_CURSOR: Final = re.compile(r"([0-9]{1,16}):([A-Za-z0-9][A-Za-z0-9_.-]{0,63}/[^\x00-\x1f\x7f]{1,1200})\Z")


class Source(StrEnum):
    """The lists, in their order."""

    TASKS = "tasks"
    VERDICTS = "verdicts"
    ISSUES = "issues"


@record(frozen=True, slots=True, kw_only=True)
class InboxPlace:
    """The place where a page begins: in which list, and after which of its entries; None: at its beginning."""

    source: Source
    after: str | None = None

    def __str__(self) -> str:
        return str(self.after) if self.source is Source.TASKS else f"{self.source}!{self.after or ''}"


def read_inbox_place(cursor: str | None) -> InboxPlace:
    """Read the cursor of an earlier answer; the reader of its list reports what is wrong with it."""
    source, sign, after = (cursor or "").partition("!")
    if sign and source in (Source.VERDICTS, Source.ISSUES):
        return InboxPlace(source=Source(source), after=after or None)
    return InboxPlace(source=Source.TASKS, after=cursor)


class TaskCursor(WaitingPlace):
    """A place in a list of open tasks: when the task before it was opened (its epoch), and its entry."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.at}:{self.entry}"


def read_place(text: str | None) -> TaskCursor | None:
    """Read the cursor of an earlier answer; raise InvalidArgument for anything else."""
    parts = parts_of_cursor(_CURSOR, text)
    return None if parts is None else TaskCursor(at=int(parts[1]), entry=parts[2])


@record(frozen=True, slots=True, kw_only=True)
class HumanTaskQuery:
    """Request for a page of open human tasks, oldest first.

    With a `person` or `groups`, the tasks that this person, or one of the groups, may answer. With a `run`, the tasks
    of the run, and with a `project` the tasks of its runs.
    """

    limit: int
    person: str | None = None
    groups: tuple[str, ...] = ()
    run: str | None = None
    state: str | None = None
    project: str | None = None
    place: TaskCursor | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit <= LONGEST_PAGE:
            raise InvalidArgument(f"limit is not between 1 and {LONGEST_PAGE}.", "Page on with the cursor.")

    def wants(self, workflow_id: str, state: str, doc: StateDoc) -> bool:
        """Return True if a state that a list names is open, and wanted."""
        if not waits_for_person(doc) or self.run not in (None, workflow_id) or self.state not in (None, state):
            return False
        asking = asking_of(doc)
        assert asking is not None, "it waits for a person"
        return self._is_for(asking.to)

    def wants_question(self, workflow_id: str, question: Question) -> bool:
        """Return True if an open question that a list names is wanted."""
        if self.run not in (None, workflow_id) or self.state not in (None, question.state):
            return False
        return self._is_for(question.to)

    def wants_gate(self, workflow_id: str, state: str, gate: OpenGate) -> bool:
        """Return True if a gate that waits for people, as a list names it, is wanted."""
        if self.run not in (None, workflow_id) or self.state not in (None, state):
            return False
        return self._is_for(gate.people)

    def _is_for(self, to: Askees) -> bool:
        if self.person is None and not self.groups:
            return True
        return self.person in to.people or not set(self.groups).isdisjoint(to.groups)


@record(frozen=True, slots=True, kw_only=True)
class HumanTaskRow:
    """One open human task, or a `question`, or a `gate` that people decide, and its place in the list.

    `task` is None for these two, and where a description was damaged by hand.
    """

    place: TaskCursor
    workflow_id: str
    state: str
    doc: StateDoc
    task: HumanTask | None
    question: Question | None = None
    gate: OpenGate | None = None
    project: str | None = None

    def is_wanted(self, query: HumanTaskQuery) -> bool:
        """Return True if the query asks for it."""
        if query.project not in (None, self.project):
            return False
        if self.gate is not None:
            return query.wants_gate(self.workflow_id, self.state, self.gate)
        if self.question is not None:
            return query.wants_question(self.workflow_id, self.question)
        return query.wants(self.workflow_id, self.state, self.doc)

    def as_json(self, *, whole: bool = True) -> dict[str, Json]:
        """Return it as JSON; without what may be long unless it is asked for `whole`."""
        if self.gate is not None:
            return gate_row(self.workflow_id, self.state, self.doc, self.gate)
        if self.question is not None:
            return _asked_by_holder(self.workflow_id, self.question)
        asking, task = asking_of(self.doc), self.task
        assert asking is not None, "a row is made of a state that waits for a person"
        shown: dict[str, Json] = {
            "workflow_id": self.workflow_id,
            "state": self.state,
            "epoch": self.doc.lease.epoch,
            "title": asking.title,
            "to": asking.to.listed,
            "since": to_text(asking.since),
            "deadline": None if self.doc.deadline is None else to_text(self.doc.deadline),
            "escalates_at": None if asking.escalates_at is None else to_text(asking.escalates_at),
            "default": asking.default,
        }
        shown |= {} if task is None else _asked(task, whole=whole)
        return without_nulls(shown)


def _asked_by_holder(workflow_id: str, question: Question) -> dict[str, Json]:
    """Return a question as JSON, under the names that a human task has; what is empty is left out."""
    shown: dict[str, Json] = {
        "workflow_id": workflow_id,
        "state": question.state,
        "epoch": question.epoch,
        "title": question.text,
        "question_id": question.question_id,
        "asked_by": question.asked_by,
        "to": question.to.listed,
        "since": to_text(question.at),
        "deadline": to_text(question.until),
        "choices": list(question.choices) or None,
    }
    return without_nulls(shown)


def gate_row(workflow_id: str, state: str, doc: StateDoc, gate: OpenGate) -> dict[str, Json]:
    """Return a gate as JSON, under the names that a human task has; what is empty is left out."""
    submission = submission_of(doc)
    shown: dict[str, Json] = {
        "workflow_id": workflow_id,
        "state": state,
        "epoch": doc.lease.epoch,
        "title": f"Judge the output of '{doc.extra.get('title') or state}' (gate '{gate.name}')",
        "gate": gate.name,
        "content_sha256": None if submission is None else submission.sha256,
        "asked_by": doc.lease.owner_agent_id,
        "to": [*gate.to, *gate.people.listed],
        "since": to_text(gate.since),
        "deadline": None if gate.due is None else to_text(gate.due),
        "choices": ["pass", "fail"],
    }
    return without_nulls(shown)


def _asked(task: HumanTask, *, whole: bool) -> Mapping[str, Json]:
    """Return what is asked; data to look at are long, and so only part of a whole one."""
    excluded = [*task.not_by, *([{"producers": True}] if task.not_by_producers else [])]
    return {
        "instructions": task.instructions,
        "choices": [
            {"name": choice.name, "comment": "required"} if choice.needs_comment else choice.name
            for choice in task.choices
        ],
        "schema": task.schema,
        "not_by": excluded or None,
        "on_reject": "fail" if task.reject_fails else None,
        "details": task.details if whole else None,
    }


@record(frozen=True, slots=True, kw_only=True)
class HumanTaskPage:
    """Open tasks, oldest first. A page may be short, even empty: only `next_place` says whether there are more."""

    now: int
    rows: tuple[HumanTaskRow, ...]
    next_place: TaskCursor | None
