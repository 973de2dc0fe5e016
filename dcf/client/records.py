"""What a client's methods return: frozen records of the tools' answers, field by field under the same names.

Left out is what a program has no use for: `code` (a refusal is raised) and the sentence in `status`. Times are texts in
ISO 8601, of the server's clock. They are data only, and importing them loads nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dcf.errors import Problem
from dcf.values.json_text import Json

RunStatusName: TypeAlias = Literal["running", "succeeded", "failed", "cancelled", "partial"]
StateStatusName: TypeAlias = Literal["pending", "running", "succeeded", "failed", "skipped", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionName:
    """The workflow of a run: its name, its version if it has one, and the hash of the document."""

    name: str
    version: str | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run that `start` or `rerun` began; `existed`: an earlier, identical call did.

    `defaulted` is what the call left open, and what was taken instead.
    """

    workflow_id: str
    run_status: RunStatusName
    existed: bool = False
    definition: DefinitionName | None = None
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDetails:
    """Where one state of a run stands. `type` is set for one that is open and not leased, such as a Wait or a Map."""

    status: StateStatusName
    ready: bool = False
    attempts: int = 0
    type: str | None = None
    owner_agent_id: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
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
class BlockingIssue:
    """An open issue that blocks its run: its id in the journal, the beginning of its text, and since when."""

    issue: str
    text: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSignal:
    """A signal that came early and waits for its state."""

    number: int
    name: str
    at: str


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
    created_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    finalized_at: str | None = None
    paused_at: str | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run on the list. `states_done` of `states` have ended, None where the workflow has very many."""

    workflow_id: str
    workflow_name: str | None = None
    version: str | None = None
    definition: str = ""
    status: RunStatusName | Literal["unreadable"]
    paused: bool = False
    blocked: bool = False
    stuck: bool = False
    states_done: int | None = None
    states: int | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    project: str | None = None
    created_at: str | None = None
    finished_at: str | None = None
    finalized: bool = False
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """Something that happened in a run. `id` orders events and is the cursor to go on from; `by` is who did it.

    `data` is what else the event tells, such as `agent_id`, `epoch` or `error`.
    """

    id: str
    at: str
    type: str
    state: str | None = None
    by: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatedRun:
    """A run that was cancelled, paused or resumed. `repeated`: an earlier call with this request id did it.

    `announced` counts the states whose agents are told.
    """

    workflow_id: str
    run_status: RunStatusName
    paused_at: str | None = None
    announced: int | None = None
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedRun:
    """A run that goes on after it had ended, in these `states`; `retried` counts how often it was."""

    workflow_id: str
    run_status: RunStatusName
    retried: int = 0
    states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedState:
    """A state that was ended by hand or given to other agents, and the Tasks entered by it."""

    workflow_id: str
    state: str
    state_status: StateStatusName
    run_status: RunStatusName
    next_states: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    announced: int | None = None
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRemedy:
    """What helps: a sentence, the command that does it, and the tool call (`tool`, `arguments`)."""

    sentence: str
    command: str | None = None
    call: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCause:
    """One reason why a run does not move. `cause` is a stable code; `stuck`: somebody has to do something."""

    cause: str
    sentence: str
    remedy: SuggestedRemedy
    stuck: bool
    state: str | None = None
    since: str | None = None
    count: int = 1
    evidence: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun:
    """Why a run is where it is, what is stuck first; without findings nothing holds it up."""

    workflow_id: str
    run_status: RunStatusName | Literal["paused", "blocked"]
    stuck: bool
    at: str
    findings: tuple[ExplainedCause, ...] = ()
    unread_states: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedState:
    """A state whose lease is free; `outcome` is `lease_released`, or `lease_already_clear` if nobody held it."""

    workflow_id: str
    state: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedAgent:
    """Who was told of a state. If nobody was, `reason` says why."""

    state: str
    agent_id: str | None = None
    sent: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedAgents:
    """What became of each agent that was to be told."""

    workflow_id: str
    targets: tuple[NotifiedAgent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRun:
    """A run that is gone; `existed` is False if it was gone before."""

    workflow_id: str
    existed: bool
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A run that is on hold or released; `changed` is False if it was so before."""

    workflow_id: str
    hold: bool
    changed: bool
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedRun:
    """A run that is closed. `audit` is the stored record, and `agents` are those that were deleted with it."""

    workflow_id: str
    summary: Mapping[str, Any] = field(default_factory=dict)
    audit: Mapping[str, Any] = field(default_factory=dict)
    agents: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExport:
    """All of a run, for reading elsewhere: `head` has the run as a whole, the others its states, history and so on.

    Of `artifacts` short ones have their content, others say why not.
    """

    head: Mapping[str, Json]
    states: Mapping[str, Json]
    events: tuple[Mapping[str, Json], ...]
    journal: tuple[Mapping[str, Json], ...] = ()
    artifacts: tuple[Mapping[str, Json], ...] = ()

    @property
    def document(self) -> dict[str, Json]:
        """What `dcf export` writes, and `dcf show --file` reads."""
        lists = {"events": self.events, "journal": self.journal, "artifacts": self.artifacts}
        found = {name: [dict(one) for one in parts] for name, parts in lists.items()}
        return {**self.head, "states": dict(self.states), **found}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedWorkflow:
    """What is wrong with a workflow: nothing, if `ok`. `defaulted` is what it leaves open, and what a run takes."""

    ok: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)
    resolution: Mapping[str, Any] = field(default_factory=dict)
