"""Tools that begin runs: start one, repeat one, let one go on. They only parse arguments, call and format."""

from collections.abc import Callable
from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import Definition, read_given
from dcf.core.documents.answers import Created
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.starting import Start, check_tags, request_to_start
from dcf.errors import InvalidArgument
from dcf.features.catalogue.references import DefinitionRef
from dcf.features.gates.verbs import RunGates, read_run_gates
from dcf.runs.starting import id_for
from dcf.values.identifiers import MAX_STATE_PATH, check_agents, check_id
from dcf.values.json_text import Json, parse, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import AGENTS_MAP, WORKFLOW, WORKFLOW_FORMS, defaulted, next_calls, warnings_of
from dcf.verbs.callers import bound_to, current_caller, require_planner, whose_requests
from dcf.verbs.registry import (
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    ProjectId,
    WorkflowId,
    no_run,
    refused,
    tool,
)
from dcf.verbs.run_requests import Reason, RequestId


class StartRun(Arguments):
    """Start a run in one call: validates the workflow, creates the run and tells the agents of its first states.

    Give a document (workflow_json) or the name of one that was started before (definition). Repeating a call with the
    same request_id or workflow_id returns the same run.
    """

    workflow_json: JsonObject | None = Field(
        default=None,
        description=WORKFLOW_FORMS,
        examples=[WORKFLOW],
    )
    definition: str | None = Field(
        default=None, max_length=300, description="Instead of a document: 'name@version', 'name' (newest) or its hash."
    )
    workflow_id: WorkflowId | None = Field(default=None, description="Id of the run; default: a new one.")
    input_json: Any = Field(default=None, description="Input of the run: any JSON value, or JSON text; default {}.")
    agents_map_json: JsonObject | None = Field(default=None, description=AGENTS_MAP)
    planner_agent_id: AgentId | None = Field(
        default=None, description="Agent that is told when the run ends; default: the agent of your key."
    )
    project: ProjectId | None = Field(default=None, description="Project that the run belongs to.")
    definition_ref: DefinitionRef = None
    tags_json: JsonArray | None = Field(default=None, description='Short names to find the run by: ["nightly"].')
    expiry_secs: int | None = Field(
        default=None, ge=1, le=31_536_000, description="Seconds that the run's keys outlive its finalization."
    )
    max_attempts: int = Field(default=10, ge=1, le=1000, description="Leases of one state before the run fails.")
    gates: RunGates = None
    keep: bool = Field(default=True, description="Keep the document, to be started again by its name.")
    request_id: RequestId = None
    reason: Reason = None


class RunStarted(Answer):
    """The run. `existed`: it was there before this call. `defaulted`: what was left open, and what was taken instead.

    `problems` lists all that is wrong with the workflow.
    """

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    existed: bool | None = None
    definition: dict[str, Any] | None = None
    problems: list[dict[str, str]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    defaulted: list[str] = Field(default_factory=list)


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=StartRun,
    answer=RunStarted,
    runs_named=no_run,
)
def start_run(app: Application, args: StartRun) -> RunStarted:
    """Start a run of a document or of a kept definition."""
    wish_for = _reader(app, args)
    given = _given(app, args)
    document = None if given is None else read_given(given)
    entry = app.starting.resolve(str(args.definition), args.project, document)
    definition = entry.definition
    workflow_id = args.workflow_id or id_for(definition, args.request_id, whose_requests())
    wish = wish_for(definition, workflow_id)
    request = None if args.request_id is None else request_to_start(wish, args.request_id)
    start_request = Start(wish=wish, request=request, reason=args.reason, bound_to=bound_to())
    answer = app.starting.start(start_request, to_keep=entry if document is None or args.keep else None)
    if isinstance(answer, Refusal):
        return refused(RunStarted, answer, workflow_id=workflow_id)
    if answer.existed:
        require_planner(app, workflow_id)
    chosen = None if args.workflow_id is not None else workflow_id
    defaults = defaulted(given, definition, wish.agents, chosen_id=chosen)
    return started(answer, definition, workflow_id).model_copy(update={"defaulted": defaults})


def started(answer: Created, definition: Definition, workflow_id: str) -> RunStarted:
    """Return the answer about a run that was started, now or before."""
    status = read_meta(dict(answer.meta)).status
    verb = "exists" if answer.existed else "started"
    return RunStarted(
        status=f"Run '{workflow_id}' of '{definition.name}' {verb}.",
        workflow_id=workflow_id,
        run_status=status,
        existed=answer.existed,
        definition={"name": definition.name, "version": definition.version, "sha256": definition.sha256},
        warnings=warnings_of(definition, answer.meta),
        hint=_hint(status),
        next=next_calls(workflow_id, definition, answer.meta),
    )


def _given(app: Application, args: StartRun) -> Json:
    """Return the workflow that was sent; None where a kept one was named."""
    if (args.workflow_json is None) == (args.definition is None):
        raise InvalidArgument(
            "Either workflow_json or definition must be given, and not both.",
            "Pass the workflow document, or the name of one that was started before.",
        )
    if args.workflow_json is None:
        return None
    return parse_workflow(args.workflow_json, name="workflow_json", max_bytes=app.settings.max_document_bytes)


def _reader(app: Application, args: StartRun) -> Callable[[Definition, str], Create]:
    """Read what does not depend on the workflow; return what makes the wish for one."""
    caller, most = current_caller(), app.settings.max_output_bytes
    run_input = {} if args.input_json is None else parse(args.input_json, name="input_json", max_bytes=most)
    agents = {} if args.agents_map_json is None else parse(args.agents_map_json, name="agents_map_json")
    tags = () if args.tags_json is None else check_tags(parse(args.tags_json, name="tags_json"), name="tags_json")

    gates = read_run_gates(args.gates)

    def wish(definition: Definition, workflow_id: str) -> Create:
        return Create(
            workflow_id=check_id(workflow_id, "workflow_id"),
            definition=definition,
            run_input=run_input,
            agents=check_agents(agents, set(definition.skills)),
            planner_agent_id=args.planner_agent_id or caller.agent_id,
            retention_s=args.expiry_secs,
            max_attempts=args.max_attempts,
            created_by=caller.name,
            tags=tags,
            gates=gates,
            project=args.project,
            definition_ref=app.catalogue.pin(args.definition_ref, args.project),
        )

    return wish


def _hint(status: RunStatus) -> str:
    if status is RunStatus.RUNNING:
        return "Its agents are told by themselves; await_workflow_event tells its planner when it is over."
    return f"It is {status.value} already: read_workflow_control_plane shows its output."


class RerunRun(Arguments):
    """Repeat a run as a new one, of the same definition: from its beginning, or from a state (from_state).

    With from_state the states before it are kept with their outputs, and it gets the input that it had. Works for runs
    that go on and for ended ones; both runs name each other.
    """

    workflow_id: WorkflowId
    new_workflow_id: WorkflowId | None = Field(default=None, description="Id of the new run; default: a new one.")
    from_state: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_STATE_PATH,
        description="State of the workflow itself (not inside a Parallel or Map) to begin with.",
    )
    input_json: Any = Field(default=None, description="Another input; not with from_state. Default: the same.")
    agents_map_json: JsonObject | None = Field(default=None, description="Agents in place of those assigned before.")
    request_id: RequestId = None
    reason: Reason = None


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=RerunRun,
    answer=RunStarted,
)
def rerun(app: Application, args: RerunRun) -> RunStarted:
    """Repeat a run as a new one."""
    if args.from_state is not None and args.input_json is not None:
        raise InvalidArgument(
            "With from_state the state gets the input that it had.", "Leave out input_json, or from_state."
        )
    most = app.settings.max_output_bytes
    given = () if args.input_json is None else (parse(args.input_json, name="input_json", max_bytes=most),)
    agents = {} if args.agents_map_json is None else parse(args.agents_map_json, name="agents_map_json")
    require_planner(app, args.workflow_id)
    definition = app.control_plane.run(args.workflow_id).definition
    new = args.new_workflow_id or id_for(definition, args.request_id, whose_requests(), args.workflow_id)
    asked = Rerun(
        workflow_id=new,
        run_input=given,
        from_state=args.from_state,
        agents=check_agents(agents, set(definition.skills)),
        created_by=current_caller().name,
        reason=args.reason,
    )
    answer = app.starting.rerun(args.workflow_id, asked, args.request_id)
    if isinstance(answer, Refusal):
        return refused(RunStarted, answer, workflow_id=new)
    return started(answer, definition, new)


class RetryRun(Arguments):
    """Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is corrected.

    Only an operator releases a run that is on hold. All that succeeded is kept, iterations and branches too. The
    rest is entered again with the input it had, all its attempts and retries. A finalized run is not retried: repeat
    it with rerun.
    """

    workflow_id: WorkflowId
    reason: Reason = None
    request_id: RequestId = None


class RunRetried(Answer):
    """What goes on (`states`), and how often the run was retried. `repeated`: it is the first answer to the request."""

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    retried: int | None = None
    states: list[str] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="operations", scope=Scope.PLAN, profiles=("planner", "operator"), arguments=RetryRun, answer=RunRetried)
def retry_run(app: Application, args: RetryRun) -> RunRetried:
    """Let a run go on that did not succeed."""
    require_planner(app, args.workflow_id)
    is_operator = Scope.OPERATE in current_caller().scopes
    answer = app.retrying.retry(
        args.workflow_id, reason=args.reason, request_id=args.request_id, may_release=is_operator
    )
    if isinstance(answer, Refusal):
        return refused(RunRetried, answer, workflow_id=args.workflow_id)
    return RunRetried(
        status=f"Run '{args.workflow_id}' goes on.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
