"""The answers of the verbs about people. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName, StateStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTask:
    """The tasks and questions for people. `to` has persons, and groups as `{"group": name}`; `epoch` names this visit.

    `choices` are names, or `{"name": ..., "comment": "required"}`; `schema` is the JSON Schema of the answer.
    `details` are there if the call named the run and the state. With a `question_id` it is a question of the
    worker `asked_by`, and its `title` the question (`answer_question`); with a `gate` it is an
    output to be judged (`decide_gate`). With an `issue` it blocks its run (`resolve_issue`), and has
    neither state nor epoch.
    """

    workflow_id: str
    state: str | None = None
    epoch: int | None = None
    title: str
    to: tuple[str | Mapping[str, str], ...] = ()
    since: datetime | None = None
    deadline: datetime | None = None
    escalates_at: datetime | None = None
    default: str | None = None
    instructions: str | None = None
    choices: tuple[str | Mapping[str, str], ...] = ()
    schema: Json = None
    not_by: tuple[str | Mapping[str, bool], ...] = ()
    on_reject: str | None = None
    details: Json = None
    question_id: str | None = None
    asked_by: str | None = None
    gate: str | None = None
    issue: str | None = None
    content_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTasks:
    """Open tasks and questions, then verdicts and issues; `epoch` names the visit of the state, for its answer."""

    tasks: tuple[ListedTask, ...] = ()
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTask:
    """The answer, its author, and how the run continues. `repeated`: this is the first answer to the same request."""

    workflow_id: str
    state: str
    state_status: StateStatusName
    run_status: RunStatusName
    choice: str
    answered_by: str
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None
