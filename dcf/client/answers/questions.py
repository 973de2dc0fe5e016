"""What a client's methods return about notes, questions and corrections: frozen records, as in `records.py`."""

from dataclasses import dataclass

from dcf.client.records import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftNote:
    """A note of a run, by its number. Without a planner it stands in the history only."""

    workflow_id: str
    note: int
    notes_left: int
    planner_agent_id: str | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that waits for its answer, until when, and of whom."""

    workflow_id: str
    state: str
    question_id: str
    asked: str
    waits_until: str
    gave_back: bool
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """What was answered, by whom, and who asked."""

    workflow_id: str
    state: str
    question_id: str
    answer: str
    answered_by: str
    asked_by: str
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedResult:
    """A result that was corrected, and the states whose input is another now."""

    workflow_id: str
    state: str
    run_status: RunStatusName
    next_states: tuple[str, ...] = ()
    repeated: bool = False
