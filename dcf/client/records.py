"""The results of a client's methods: frozen records of the tools' answers, field by field under the same names.

They leave out `code` (a refusal is raised) and the sentence in `status`, for which a program has no use. Times are
server times, with their zone. They are data only, and importing them imports nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dcf.features.journal.records import BlockingIssue
from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName, StateStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDetails:
    """Where one state of a run stands. `type` is set for an open state that is not leased, such as a Wait or a Map."""

    status: StateStatusName
    ready: bool = False
    attempts: int = 0
    type: str | None = None
    owner_agent_id: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentState:
    """The state of another run that started this one; `how` is the suffix of its Resource, `depth` counts from 1."""

    run: str
    state: str
    epoch: int
    how: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSignal:
    """A signal that came early and waits for its state."""

    number: int
    name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """Where a run stands. `output` is set once it succeeded, `error` and `cause` once it did not.

    A child run has a `parent`; `signals` are those that wait for a state. `states` has the states of the workflow by
    name, and the open ones inside Parallel and Map by path. `usage` is what its work used up and `budget` what it may;
    `definition_ref` names the definition of the catalogue that it is carried out by.
    """

    workflow_id: str
    workflow_name: str | None = None
    status: RunStatusName
    output: Json = None
    error: str | None = None
    cause: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    finalized_at: datetime | None = None
    paused_at: datetime | None = None
    paused_because: str | None = None
    blocked_by: tuple[BlockingIssue, ...] = ()
    budget: Mapping[str, Json] | None = None
    usage: Mapping[str, Json] | None = None
    tags: tuple[str, ...] = ()
    rerun_of: str | None = None
    project: str | None = None
    definition_ref: Mapping[str, Json] | None = None
    parent: ParentState | None = None
    signals: tuple[WaitingSignal, ...] = ()
    planner_agent_id: str | None = None
    states: Mapping[str, StateDetails] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """True if the run has ended, however it did."""
        return self.status != "running"
