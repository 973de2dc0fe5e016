"""Tools of the planner: create a run and finalize it. They only parse arguments, call, and format the answer."""

from typing import Any, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import Definition, read_given
from dcf.core.documents.answers import Created
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.stored_values import object_of
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.dismissals import NONE_TO_DELETE
from dcf.core.lifecycle.finalization import Finalize
from dcf.features.gates.verbs import RunGates, read_run_gates
from dcf.runs.starting import id_for
from dcf.values.identifiers import check_agents, check_id
from dcf.values.json_text import Json, parse, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import AGENTS_MAP, WORKFLOW, WORKFLOW_FORMS, defaulted, next_calls, warnings_of
from dcf.verbs.callers import current_caller, require_planner
from dcf.verbs.registry import AgentId, Answer, Arguments, JsonObject, ProjectId, WorkflowId, no_run, refused, tool
from dcf.verbs.unlisted import UNLISTED


class CreateWorkflowControlPlane(Arguments):
    """Create a run without starting it: notify_next_worker_agent then does. start_run is both in one call.

    Validates the workflow, stores its documents, and makes the first state ready. Repeated with its workflow_id it
    finds the run; the same workflow_id with a different workflow or input is refused with code conflict.
    """

    workflow_json: JsonObject = Field(description=WORKFLOW_FORMS, examples=[WORKFLOW])
    workflow_id: WorkflowId | None = Field(
        default=None, description="Id of this run; default: the document's workflow_id, or else a new one."
    )
    input_json: Any = Field(default=None, description="Input of the run: any JSON value, or JSON text; default {}.")
    agents_map_json: JsonObject | None = Field(default=None, description=AGENTS_MAP)
    planner_agent_id: AgentId | None = Field(
        default=None, description="Agent that is told when the run ends; usually your own id."
    )
    project: ProjectId | None = Field(default=None, description="Project that the run belongs to.")
    expiry_secs: int | None = Field(
        default=None, ge=1, le=31_536_000, description="Seconds that the run's keys outlive its finalization."
    )
    max_attempts: int = Field(
        default=10, ge=1, le=1000, description="How often one state may be leased before the run fails."
    )
    gates: RunGates = None


class ControlPlaneCreated(Answer):
    """The keys of the run and its meta document. `started` is false until notify_next_worker_agent starts the run.

    `defaulted`: what was left open, and what was taken instead. `problems` lists all that is wrong with the workflow.
    """

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    started: bool | None = None
    created_keys: list[str] | None = None
    existing_keys: list[str] | None = None
    meta_sample: dict[str, Any] | None = None
    problems: list[dict[str, str]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    defaulted: list[str] = Field(default_factory=list)


@tool(
    toolset="planning",
    scope=Scope.PLAN,
    profiles=("planner",),
    arguments=CreateWorkflowControlPlane,
    answer=ControlPlaneCreated,
    runs_named=no_run,
)
def create_workflow_control_plane(app: Application, args: CreateWorkflowControlPlane) -> ControlPlaneCreated:
    """Create the documents of a run."""
    given = parse_workflow(args.workflow_json, name="workflow_json", max_bytes=app.settings.max_document_bytes)
    definition = read_given(given)
    caller = current_caller()
    named = args.workflow_id or definition.workflow_id
    workflow_id = named or id_for(definition, None, caller.name)
    request = Create(
        workflow_id=check_id(workflow_id, "workflow_id"),
        definition=definition,
        run_input={} if args.input_json is None else _input(app, args.input_json),
        agents=check_agents(
            {} if args.agents_map_json is None else parse(args.agents_map_json, name="agents_map_json"),
            set(definition.skills),
        ),
        planner_agent_id=args.planner_agent_id,
        retention_s=args.expiry_secs,
        max_attempts=args.max_attempts,
        created_by=caller.name,
        gates=read_run_gates(args.gates),
        project=args.project,
    )
    answer = app.control_plane.create(request)
    if isinstance(answer, Refusal):
        return refused(ControlPlaneCreated, answer, workflow_id=workflow_id)
    if answer.existed:
        require_planner(app, workflow_id)
    keys = app.runs.key_names(workflow_id, definition.machine.states)
    meta = read_meta(dict(answer.meta))
    return ControlPlaneCreated(
        status=f"{_done(answer, definition, workflow_id)}{_standing(meta)}",
        workflow_id=workflow_id,
        run_status=meta.status,
        started=meta.is_started or meta.status is not RunStatus.RUNNING,
        created_keys=[] if answer.existed else keys,
        existing_keys=keys if answer.existed else [],
        meta_sample=dict(answer.meta),
        warnings=warnings_of(definition, answer.meta),
        defaulted=defaulted(given, definition, request.agents, chosen_id=None if named else workflow_id),
        next=next_calls(workflow_id, definition, answer.meta),
    )


def _done(answer: Created, definition: Definition, workflow_id: str) -> str:
    verb = "exists" if answer.existed else "created"
    return f"Control plane {verb} for run '{workflow_id}' with {len(definition.machine.states)} states."


def _standing(meta: Meta) -> str:
    """Return the sentence about a run that nobody has started; nothing for others."""
    if meta.is_started or meta.status is not RunStatus.RUNNING:
        return ""
    return " It is not started: notify_next_worker_agent starts it."


def _input(app: Application, given: Any) -> Json:
    return parse(given, name="input_json", max_bytes=app.settings.max_output_bytes)


class FinalizeWorkflow(Arguments):
    """Close a run and write its audit record: call this when the run has ended, or to cancel it.

    Open states become cancelled, unreached ones skipped; afterwards no worker can change anything. A second call
    returns the first result.
    """

    workflow_id: WorkflowId
    close_open_states: bool = Field(
        default=True, description="Cancel states that are still open.", json_schema_extra=UNLISTED
    )
    overall_status: Literal["succeeded", "failed", "partial", "cancelled"] | None = Field(
        default=None, description="Final status instead of the computed one."
    )
    finalize_note: str | None = Field(
        default=None, max_length=2000, description="Why, for the audit record and the history."
    )
    delete_worker_agents: bool = Field(
        default=True, description="Delete the agents that create_worker_agents made for this run, and no others."
    )
    preserve_planner: bool = Field(default=True, description="Never delete the planner.", json_schema_extra=UNLISTED)


class WorkflowFinalized(Answer):
    """How the run ended. `audit` is the stored record."""

    workflow_id: str | None = None
    summary: dict[str, Any] | None = None
    agents: list[dict[str, Any]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    audit: dict[str, Any] | None = None


@tool(
    toolset="planning",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=FinalizeWorkflow,
    answer=WorkflowFinalized,
    destructive=True,
    audit=("workflow_id",),
)
def finalize_workflow(app: Application, args: FinalizeWorkflow) -> WorkflowFinalized:
    """Finalize the run; a second call returns the first result."""
    require_planner(app, args.workflow_id)
    request = Finalize(
        workflow_id=args.workflow_id,
        close_open_states=args.close_open_states,
        status=None if args.overall_status is None else RunStatus(args.overall_status),
        note=args.finalize_note,
    )
    closed = app.closing.close(request, delete_agents=args.delete_worker_agents, preserve_planner=args.preserve_planner)
    if isinstance(closed, Refusal):
        return refused(WorkflowFinalized, closed, workflow_id=args.workflow_id)
    audit = dict(closed.audit)
    return WorkflowFinalized(
        status="finalized",
        workflow_id=args.workflow_id,
        summary=_summary(audit),
        agents=[agent.as_json() for agent in closed.agents],
        warnings=list(closed.warnings),
        audit=audit,
    )


def _summary(audit: dict[str, Json]) -> dict[str, Json]:
    agents = object_of(audit.get("agents"))
    return {
        "states": audit.get("counts"),
        "agents": {name: agents.get(name) for name in NONE_TO_DELETE},
        "final_status": audit.get("final_status"),
        "amsp": None,
    }
