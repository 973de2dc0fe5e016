"""Tools on agents: create the agents of a run, find one by name, delete one."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.data import find_directory
from dcf.errors import Conflict, InvalidArgument, PlatformUnavailable, UnknownRun
from dcf.values.digest import definition_sha256
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import Json, parse, parse_workflow
from dcf.verbs.callers import current_caller, require, require_planner
from dcf.verbs.project_bounds import sees_agent
from dcf.verbs.registry import (
    ONLY_CONFIGURED,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    OtherAgentId,
    WorkflowId,
    refuse_other,
    tool,
)
from dcf.verbs.unlisted import UNLISTED
from dcf.workforce.crew.names import WORKER_TAG, runs_of
from dcf.workforce.crew.templates import read_staffing
from dcf.workforce.crew.workers import CrewWish, MadeWorkers, Staffed

_MAX_TAGS = 20
_MAX_TAG = 100


class CreateWorkerAgents(Arguments):
    """Create one agent per Task of a workflow after you created its run, and assign them.

    Repeating the call returns the agents that exist, and makes those again that are gone. When one cannot be made,
    those made by this call are deleted again and the answer says so.
    """

    workflow_json: JsonObject | None = Field(
        default=None, description="The workflow document (object or JSON text); leave out for a run that exists."
    )
    workflow_id: WorkflowId | None = Field(
        default=None, description="Id of the run; default: the document's workflow_id."
    )
    imports_base_dir: str | None = Field(
        default=None,
        max_length=1000,
        description=ONLY_CONFIGURED.format("directory of templates"),
        json_schema_extra=UNLISTED,
    )
    agent_name_prefix: str | None = Field(
        default=None, max_length=100, description="What the agents' names begin with; default: wf-, the run's id, -."
    )
    agent_name_suffix: str = Field(
        default=".af",
        pattern=r"^\.[A-Za-z0-9.]{1,16}$",
        description="Ending of template files in the directory.",
        json_schema_extra=UNLISTED,
    )
    default_tags_json: JsonArray | None = Field(
        default=None, description='More tags for the agents: ["team:x"] (or JSON text).'
    )
    skip_if_exists: bool = Field(
        default=True, description="Return agents that exist; false refuses when there are any."
    )


class WorkersCreated(Answer):
    """Who does what. With an error, `undone` are agents that were made by this call and deleted again."""

    workflow_id: str | None = None
    agents_map: dict[str, str] = Field(default_factory=dict)
    created: list[dict[str, str]] = Field(default_factory=list)
    existing: list[dict[str, str]] = Field(default_factory=list)
    undone: list[dict[str, str]] = Field(default_factory=list)
    model_selections: dict[str, Any] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    problems: list[dict[str, str]] = Field(default_factory=list)


@tool(
    toolset="agents",
    scope=Scope.PLAN,
    profiles=("planner",),
    arguments=CreateWorkerAgents,
    answer=WorkersCreated,
    audit=("workflow_id",),
)
def create_worker_agents(app: Application, args: CreateWorkerAgents) -> WorkersCreated:
    """Create the agents of a run."""
    refuse_other("imports_base_dir", args.imports_base_dir, app.settings.agents_dir)
    tags = _tags(args.default_tags_json)
    if args.agent_name_prefix:
        check_name(args.agent_name_prefix, "agent_name_prefix", _MAX_TAG)
    workflow_id, document = _workflow(app, args)
    require_planner(app, workflow_id)
    agents_dir = find_directory(app.settings.agents_dir)
    staffing = read_staffing(
        document,
        import_dirs=(app.settings.workflows_dir, agents_dir),
        agents_dir=agents_dir,
        suffix=args.agent_name_suffix,
    )
    _refuse_other_definition(app, workflow_id, document)
    crew = app.workers.create(
        CrewWish(
            workflow_id=workflow_id,
            staffing=staffing,
            prefix=args.agent_name_prefix,
            tags=tags,
            reuse=args.skip_if_exists,
        )
    )
    app.control_plane.announce_again(workflow_id, crew.assigned)
    return _crew(workflow_id, crew)


def _workflow(app: Application, args: CreateWorkerAgents) -> tuple[str, Json]:
    """Return the run's id and its document: the given one, or the run's."""
    if args.workflow_json is None:
        if args.workflow_id is None:
            raise InvalidArgument("Neither workflow_json nor workflow_id was given.", "Pass the run's workflow_id.")
        return args.workflow_id, app.control_plane.run(args.workflow_id).definition.document
    document = parse_workflow(args.workflow_json, name="workflow_json", max_bytes=app.settings.max_document_bytes)
    own = document.get("workflow_id") if isinstance(document, dict) else None
    workflow_id = args.workflow_id or own
    if not isinstance(document, dict) or not isinstance(workflow_id, str):
        raise InvalidArgument("workflow_json is no object with a workflow_id.", "Pass workflow_id as well.")
    return check_id(workflow_id, "workflow_json's workflow_id"), document


def _refuse_other_definition(app: Application, workflow_id: str, document: dict[str, Json]) -> None:
    """Raise when a document is not the run's; before the run is created any document is accepted."""
    try:
        known = app.control_plane.run(workflow_id).sha256
    except UnknownRun:
        return
    if known != definition_sha256({name: value for name, value in document.items() if name != "workflow_id"}):
        raise Conflict(
            f"Run '{workflow_id}' has another definition than workflow_json.", "Leave workflow_json out of the call."
        )


def _tags(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    tags = parse(given, name="default_tags_json")
    if not isinstance(tags, list) or len(tags) > _MAX_TAGS or not all(map(_is_tag, tags)):
        raise InvalidArgument(
            "default_tags_json is not an array of tags.", 'Send up to 20 texts of at most 100 characters: ["team:x"].'
        )
    return tuple(dict.fromkeys(check_name(tag, "A tag", _MAX_TAG) for tag in tags))


def _is_tag(tag: Json) -> bool:
    reserved = ("wf:", "state:", "role:")
    return isinstance(tag, str) and 0 < len(tag) <= _MAX_TAG and not tag.startswith(reserved)


def _crew(workflow_id: str, crew: MadeWorkers) -> WorkersCreated:
    shown: dict[str, Any] = {
        "workflow_id": workflow_id,
        "agents_map": dict(crew.agents),
        "created": list(map(_staffed, crew.created)),
        "existing": list(map(_staffed, crew.existing)),
        "undone": list(map(_staffed, crew.undone)),
        "warnings": list(crew.warnings),
    }
    failure = crew.failure
    if failure is None:
        return WorkersCreated(
            status=f"{len(crew.created)} agent(s) created, {len(crew.existing)} there before.", **shown
        )
    return WorkersCreated(
        error=f"{failure.code}: {failure.message}",
        code=failure.code,
        hint=failure.hint,
        retry_after_s=failure.retry_after_s if isinstance(failure, PlatformUnavailable) else None,
        **shown,
    )


def _staffed(one: Staffed) -> dict[str, str]:
    return {"state": one.state, "agent_id": one.agent_id, "agent_name": one.agent_name}


class ResolveAgentNameToId(Arguments):
    """Get the id of an agent whose name you know, for the tools that ask for an agent_id."""

    agent_name: str = Field(min_length=1, max_length=200, description="The agent's exact name.", examples=["pricing-1"])


class AgentResolved(Answer):
    """The id."""

    agent_id: str | None = None


@tool(
    toolset="agents",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ResolveAgentNameToId,
    answer=AgentResolved,
    read_only=True,
    of_no_run=True,
)
def resolve_agent_name_to_id(app: Application, args: ResolveAgentNameToId) -> AgentResolved:
    """Return the id of an agent by its name."""
    caller = current_caller()
    agent_id = app.workers.resolve(args.agent_name, lambda found: sees_agent(app, caller, found.tags))
    return AgentResolved(status="The agent was found.", agent_id=agent_id)


class DeleteAgent(Arguments):
    """Remove one agent that was made for a run; finalize_workflow does it for all agents of a run.

    Name it by agent_name or agent_id. Other agents can be deleted only by an operator.
    """

    agent_name: str | None = Field(
        default=None, min_length=1, max_length=200, description="The agent's exact name; one agent must have it."
    )
    agent_id: OtherAgentId | None = Field(default=None, description="Its id, instead of its name.")


class AgentDeleted(Answer):
    """The agent that is gone."""

    deleted_agent_id: str | None = None


@tool(
    toolset="agents",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=DeleteAgent,
    answer=AgentDeleted,
    destructive=True,
    about_others=True,
    audit=("agent_name", "agent_id"),
)
def delete_agent(app: Application, args: DeleteAgent) -> AgentDeleted:
    """Delete one agent."""
    if (args.agent_name is None) == (args.agent_id is None):
        raise InvalidArgument("Exactly one of agent_name and agent_id is needed.", "Pass one of the two.")
    agent_id = args.agent_id if args.agent_name is None else app.workers.resolve(args.agent_name)
    assert agent_id is not None, "one of the two is given"
    _refuse_foreign(app, agent_id, "Deleting")
    is_gone = not app.workers.delete_agent(agent_id)
    app.registration.forget(agent_id)
    if is_gone:
        return AgentDeleted(status="The agent was gone already.")
    return AgentDeleted(status="The agent was deleted.", deleted_agent_id=agent_id)


def _refuse_foreign(app: Application, agent_id: str, what: str) -> None:
    """Raise Forbidden for an agent that was made for no run, or for the run of another planner."""
    if Scope.OPERATE in current_caller().scopes:
        return
    tags = app.platforms.provisioner_of(agent_id).retrieve_agent(agent_id).tags
    if WORKER_TAG not in tags:
        require(Scope.OPERATE, f"{what} an agent that was not made for a run")
    for workflow_id in runs_of(tags):
        require_planner(app, workflow_id)


class RemoveToolReturnLimits(Arguments):
    """Lift the limit on how much text an agent's tools may return, when their answers come cut off."""

    agent_id: OtherAgentId


class LimitsRemoved(Answer):
    """How many tools were changed."""

    updated_count: int = 0


@tool(
    toolset="agents",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=RemoveToolReturnLimits,
    answer=LimitsRemoved,
    about_others=True,
    audit=("agent_id",),
)
def remove_tool_return_limits(app: Application, args: RemoveToolReturnLimits) -> LimitsRemoved:
    """Remove the return limits of one agent's tools."""
    caller = current_caller()
    if caller.agent_id not in {None, args.agent_id}:
        _refuse_foreign(app, args.agent_id, "Changing the tools of")
    count = app.workers.lift_return_limits(args.agent_id)
    status = f"{count} tool(s) changed." if count else "There is nothing to do: no tool of this agent has such a limit."
    return LimitsRemoved(status=status, updated_count=count)
