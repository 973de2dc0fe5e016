"""The answers of the verbs for notes, questions and corrections. Imports the standard library only: clients read it."""

from dataclasses import dataclass
from datetime import datetime

from dcf.verbs.records.runs import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftNote:
    """The number of the note, how many more the run takes, and the planner that is notified; None: only the history."""

    workflow_id: str
    note: int
    notes_left: int
    planner_agent_id: str | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """The question's id, whom it is for, and until when it waits."""

    workflow_id: str
    state: str
    question_id: str
    asked: str
    waits_until: datetime
    gave_back: bool
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """The answer, its author, and the author of the question."""

    workflow_id: str
    state: str
    question_id: str
    answer: str
    answered_by: str
    asked_by: str
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedResult:
    """The corrected state, and the states whose input has changed."""

    workflow_id: str
    state: str
    run_status: RunStatusName
    next_states: tuple[str, ...] = ()
    repeated: bool = False
