"""The arguments of the tools of the profile `midex`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from dcf.profiles.arguments import CamelArguments

Severity = Literal["info", "low", "medium", "high", "critical"]
Layer = Literal["orchestrator", "workflow", "step", "agent_task"]
Detail = Literal["name", "summary", "full"]
ExecutionId = Annotated[str, Field(description="The id that start_execution returned.")]
Least = Annotated[int, Field(ge=1)]
AgentId = Annotated[str, Field(min_length=1, max_length=64)]
Members = Annotated[
    list[AgentId] | None,
    Field(
        max_length=50,
        description="Agent ids whose keys may start and complete steps, besides those that the phases name.",
    ),
]


class PagedCall(CamelArguments):
    """The arguments of tools that list in pages."""

    page: Least = 1
    limit: Least = 50


class SearchWorkflowsCall(PagedCall):
    """Search workflows: all of the tags, any of the keywords, exactly the complexity."""

    tags: list[str] | None = None
    keywords: list[str] | None = None
    complexity: Literal["simple", "moderate", "high"] | None = None
    detail_level: Detail = "summary"


class ListProjectsCall(PagedCall):
    """List the projects that are known, the one used last first."""


class ContentCall(CamelArguments):
    """How content is returned."""

    detail_level: Detail = "summary"
    fields: list[str] | None = Field(default=None, description="Only these fields of the item.")
    content_mode: Literal["normalized", "raw", "synthesized", "mixed"] | None = None
    include_hash: bool = True
    if_none_match: str | None = Field(default=None, description="A fileHash: unchanged content is not sent again.")
    redact_policy: Literal["none", "pii", "secrets", "pii+secrets"] | None = Field(
        default=None, description="Default: secrets, of known shapes only."
    )


class GetWorkflowCall(ContentCall):
    """Get a workflow by its name, with its phases; null if there is none."""

    workflow_name: str


class GetAgentPersonaCall(ContentCall):
    """Get the persona of an agent by its name; null if there is none."""

    agent_name: str


class GetRelevantRulesCall(ContentCall, PagedCall):
    """Get rules: any of the tags, any of the file types, exactly alwaysApply."""

    tags: list[str] | None = None
    file_types: list[str] | None = None
    always_apply: bool | None = None


class GetProjectContextCall(CamelArguments):
    """Get the project at a path; null if none is known there."""

    project_path: str | None = None


class StartExecutionCall(CamelArguments):
    """Start an execution of a workflow; it is pending until transition_workflow_state makes it running."""

    workflow_name: str
    project_path: str | None = None
    project_id: int | None = None
    metadata: dict[str, Any] | None = None
    timeout_ms: Least | None = Field(default=None, description="How long it may be running.")
    members: Members = None


class TransitionWorkflowStateCall(CamelArguments):
    """Move an execution: pending to running or failed, running to completed, failed, timeout or escalated, and back.

    A move to the present state only adds members: so members are added at any time.
    """

    execution_id: ExecutionId
    new_state: Literal["pending", "running", "completed", "failed", "timeout", "escalated"]
    error: str | None = None
    members: Members = None


class StartStepCall(CamelArguments):
    """Start a step once the steps it depends on are completed. A failed step of this name is tried again."""

    execution_id: ExecutionId
    step_name: str
    phase_name: str | None = None
    depends_on: list[str] | None = Field(default=None, description="Ids of steps of this execution.")


class CompleteStepCall(CamelArguments):
    """Complete a step; its output must fulfil the contract StepOutput. With an error it failed."""

    step_id: str
    output: dict[str, Any] | None = None
    error: str | None = None


class CheckExecutionTimeoutCall(CamelArguments):
    """List the executions that have timed out, which happens automatically."""


class ResumeExecutionCall(CamelArguments):
    """Continue an execution that timed out or was escalated; its time starts again."""

    execution_id: ExecutionId


class CompleteExecutionCall(CamelArguments):
    """Complete an execution; its output must fulfil the contract WorkflowOutput. With an error it failed."""

    execution_id: ExecutionId
    output: dict[str, Any] | None = None
    error: str | None = None


class GetIncompleteExecutionsCall(CamelArguments):
    """List executions that are pending, running, timed out or escalated."""

    workflow_name: str | None = None


class LogExecutionCall(CamelArguments):
    """Log a line, once for each layer and layerId; contracts that are given are checked every time."""

    execution_id: ExecutionId
    layer: Layer
    layer_id: str
    log_level: Literal["debug", "info", "warn", "error"]
    message: str
    context: dict[str, Any] | None = None
    contract_input: dict[str, Any] | None = None
    contract_output: dict[str, Any] | None = None


class StoreArtifactCall(CamelArguments):
    """Store an artifact, which never changes."""

    execution_id: ExecutionId
    step_id: str | None = None
    name: str
    content_type: Literal["text", "markdown", "json", "binary"]
    content: str = Field(description="Base64 for binary.")
    metadata: dict[str, Any] | None = None


class StoreFindingCall(CamelArguments):
    """Store a finding, for this project or (isGlobal) for all."""

    execution_id: ExecutionId
    step_id: str | None = None
    severity: Severity
    category: str
    title: str
    description: str
    tags: list[str] | None = None
    is_global: bool = False
    project_id: int | None = None
    location: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class QueryFindingsCall(CamelArguments):
    """Search findings, newest first: of the project and global ones. All words must occur; quotes make phrases."""

    execution_id: str | None = None
    project_id: int | None = None
    severity: Severity | list[Severity] | None = None
    category: str | None = None
    tags: list[str] | None = None
    is_global: bool | None = Field(default=None, description="false: without global ones; true: only these.")
    search_text: str | None = None
    limit: Least | None = None
    offset: Annotated[int, Field(ge=0)] | None = None


class GetExecutionHistoryCall(CamelArguments):
    """List executions, newest first."""

    workflow_name: str | None = None
    project_id: int | None = None
    state: str | None = None
    limit: Least | None = None
    offset: Annotated[int, Field(ge=0)] | None = None


class GetExecutionDetailsCall(CamelArguments):
    """Read an execution with its steps, and if asked for its logs, artifacts and findings."""

    execution_id: ExecutionId
    include_steps: bool = True
    include_logs: bool = False
    include_artifacts: bool = False
    include_findings: bool = False
