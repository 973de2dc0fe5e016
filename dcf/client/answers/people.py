"""What a client's methods return about people who are asked: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.client.records import RunStatusName, StateStatusName
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTask:
    """A task that waits for people. `to` has persons, and groups as `{"group": name}`; `epoch` names this visit.

    `choices` are names, or `{"name": ..., "comment": "required"}`; `schema` is the JSON Schema of the answer.
    `details` are there for one that was asked for by its run and state. With a `question_id` it is a question of the
    worker `asked_by`, and its `title` the question (`answer_question`); with a `gate` it is an
    output to be judged (`decide_gate`).
    """

    workflow_id: str
    state: str
    epoch: int
    title: str
    to: tuple[str | Mapping[str, str], ...] = ()
    since: str | None = None
    deadline: str | None = None
    escalates_at: str | None = None
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
    content_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTask:
    """What a person answered, and how the run goes on."""

    workflow_id: str
    state: str
    state_status: StateStatusName
    run_status: RunStatusName
    choice: str
    answered_by: str
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None
