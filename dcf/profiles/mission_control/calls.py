"""The arguments of the tools of the profile `mission-control`."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.config import JsonDict

from dcf.profiles.arguments import UNLISTED, ProfileArguments

_FROM_THE_HELPER: Final[JsonDict] = {UNLISTED: True}
"""Arguments that a helper on the agent's machine adds, which no model writes."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
WorkflowId = Annotated[str, Field(description="The workflow_id that start_workflow returned.")]
PhaseId = Annotated[str, Field(description="The phase_id that start_phase returned.")]
TaskId = Annotated[str, Field(description="The task_id that start_task returned.")]
Positive = Annotated[int, Field(gt=0)]
Place = Annotated[str, Field(max_length=200)]
"""Identity of a directory on an agent's machine."""

AgentId = Annotated[str, Field(min_length=1, max_length=64)]

_LONGEST_FILE: Final = 256 * 1024
_LONGEST_PATH: Final = 4096


class WorkflowFiles(ProfileArguments):
    """The files of `.claude/workflows/NAME`, and the agents that there are, each with the tools that it names."""

    workflow: Annotated[str, Field(max_length=_LONGEST_FILE)]
    definition: Annotated[str, Field(max_length=_LONGEST_FILE)] | None = None
    agents: dict[str, list[str] | None] = Field(default_factory=dict)


class SearchedProject(ProfileArguments):
    """The directory in which a helper looked for the files of a workflow, and the names of the workflows in it."""

    directory: Annotated[str, Field(max_length=_LONGEST_PATH)]
    workflows: list[str] = Field(default_factory=list)


class StartWorkflowCall(ProfileArguments):
    """Open a workflow (orchestrator). Then start_phase for each phase before its sub-agents are launched.

    With the name of a directory of .claude/workflows its phases, order and checkpoints are those of workflow.md.
    """

    name: Name | None = Field(default=None, description="Default: the only workflow in .claude/workflows.")
    description: str | None = None
    plan: str | None = Field(default=None, description="Legacy: a plan as JSON text.")
    objective: str | None = None
    profile: Literal["simple", "standard", "complex"] = "standard"
    total_phases: Annotated[int, Field(ge=1, le=20)] | None = Field(
        default=None, description="Default by profile: 2, 3 or 4 with an objective, else 1."
    )
    scope: str | None = None
    constraints: str | None = None
    workflow_files: WorkflowFiles | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
    searched: SearchedProject | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
    place: Place | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class StartPhaseCall(ProfileArguments):
    """Open a phase (orchestrator). The same number again returns the phase that is there.

    Where the plan has a checkpoint, this fails until a person has agreed: tell a person, and call it again.
    """

    workflow_id: WorkflowId
    number: Positive
    name: Name | None = Field(default=None, description="Default: its name in the plan.")
    description: str | None = None
    is_parallel: bool = Field(default=False, description="Several tasks at once; their areas should not overlap.")
    members: list[AgentId] | None = Field(
        default=None,
        max_length=50,
        description="Agent ids whose own keys may start tasks; the same phase again adds more.",
    )


class StartTaskCall(ProfileArguments):
    """Begin a task of an open phase (sub-agent): call this before you work, and complete_task when done.

    The same call again while the task is in progress returns the same task. Give name and goal, if your phase has
    several tasks.
    """

    phase_id: PhaseId
    workflow_id: str | None = Field(default=None, description="Default: the workflow of the phase.")
    parent_task_id: str | None = None
    caller_type: Literal["orchestrator", "subagent"] = "subagent"
    agent_name: str | None = Field(
        default=None, description="Your name; a subagent must give it, unless the plan has one agent for the phase."
    )
    name: Name | None = Field(default=None, description="Default: your name and that of the phase.")
    goal: str | None = Field(default=None, description="Default: your scope in the plan.")
    areas: list[str] | None = Field(
        default=None, description="Globs of the paths that this task changes, as src/api/**."
    )
    snapshot_id: str | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
    snapshot_type: str | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
    worktree: Place | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class LogMilestoneCall(ProfileArguments):
    """Log progress of a task; it also keeps the task yours."""

    task_id: TaskId
    message: Annotated[str, Field(min_length=1, max_length=500)]
    progress: Annotated[float, Field(ge=0, le=100)] | None = None
    metadata: dict[str, Any] | None = None


class LogDecisionCall(ProfileArguments):
    """Log a decision, with what else was considered."""

    task_id: TaskId
    category: Literal["architecture", "library_choice", "trade_off", "workaround", "other"]
    question: str
    options_considered: list[str] | None = None
    chosen: str
    reasoning: str
    trade_offs: str | None = None


class LogIssueCall(ProfileArguments):
    """Log an issue. With requires_human_review nobody begins anything in the workflow until a person resolves it."""

    task_id: TaskId
    type: Literal["documentation_gap", "bug_encountered", "dependency_conflict", "unclear_requirement", "other"]
    description: str
    resolution: str = Field(description="What you did about it, or what is needed.")
    requires_human_review: bool = False


class TaskOutcome(ProfileArguments):
    """The outcome of a task."""

    summary: str
    achievements: list[str] | None = None
    limitations: list[str] | None = None
    manual_review_needed: bool | None = None
    manual_review_reason: str | None = None
    next_steps: list[str] | None = None


class TaskCosts(ProfileArguments):
    """The work done for a task, and its cost."""

    packages_added: list[str] | None = None
    packages_removed: list[str] | None = None
    commands_executed: list[str] | None = None
    tests_status: Literal["passed", "failed", "not_run"] | None = None
    tokens_input: Annotated[int, Field(ge=0)] | None = None
    tokens_output: Annotated[int, Field(ge=0)] | None = None


class ChangedFiles(ProfileArguments):
    """Paths that a task changed, as git on the agent's machine tells."""

    added: list[str] = Field(default_factory=list)
    modified: list[str] = Field(default_factory=list)
    deleted: list[str] = Field(default_factory=list)


class CompleteTaskCall(ProfileArguments):
    """End your task and say what came of it."""

    task_id: TaskId
    status: Literal["success", "partial_success", "failed"]
    outcome: TaskOutcome
    metadata: TaskCosts | None = None
    files_changed: ChangedFiles | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class CompletePhaseCall(ProfileArguments):
    """End a phase (orchestrator), after all of its tasks. The outputs of its plan must be there."""

    phase_id: PhaseId
    status: Literal["completed", "failed"]
    summary: str | None = None
    outputs_found: list[str] | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class CompleteWorkflowCall(ProfileArguments):
    """End a workflow (orchestrator), after all of its phases."""

    workflow_id: str | None = Field(default=None, description="Default: the only one that you have in progress.")
    status: Literal["completed", "failed", "partial"] = "completed"
    summary: str | None = None
    achievements: list[str] | None = None
    limitations: list[str] | None = None
    place: Place | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class FilterCall(ProfileArguments):
    """Which entries are wanted; all that is given must hold."""

    agent: str | None = None
    phase: Positive | None = None
    since: str | None = Field(default=None, description="ISO 8601: what happened at this time or later.")


class GetContextCall(ProfileArguments):
    """Read where a workflow stands: after a restart, to monitor, and to check for blockers."""

    workflow_id: str | None = Field(default=None, description="Default: the only one in progress.")
    include: list[Literal["decisions", "milestones", "blockers", "tasks", "phase_summary"]] = Field(
        default=["phase_summary", "tasks", "blockers"]
    )
    filter: FilterCall | None = None
    place: Place | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
