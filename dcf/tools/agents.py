"""Tools on agents: making those of a run, finding one, deleting one, and asking what is one's to do."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from pydantic import Field

from dcf.application import Application
from dcf.core.access import Scope
from dcf.core.model import RunStatus, Status
from dcf.data import find_directory
from dcf.errors import Conflict, InvalidArgument, PlatformUnavailable, UnknownRun
from dcf.tools.callers import current_caller, require, require_planner
from dcf.tools.registry import (
    ID_PATTERN,
    ONLY_CONFIGURED,
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    StateName,
    WorkflowId,
    refuse_other,
    tool,
)
from dcf.values.digest import definition_sha256
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json, dump, parse, parse_workflow
from dcf.workforce.assignment import Assignment, SkillAtHand, StateAtHand
from dcf.workforce.crew.names import WORKER_TAG, runs_of
from dcf.workforce.crew.templates import read_staffing
from dcf.workforce.crew.workers import CrewWish, MadeWorkers, Staffed

_MAX_TAGS = 20
_MAX_TAG = 100

_INPUT_CHARS: Final = 20_000
"""How much input one assignment shows, in characters of JSON: Letta cuts what a tool returns after 50,000 characters,
wherever that is (measured), and the rest of an assignment needs room as well."""

_LEFT_OUT: Final = (
    "It has {size} characters. acquire_state_lease answers with all of it; where long answers reach you cut off, read "
    'it in parts: json_read(redis_key="{key}", cursor=0), then again with next_cursor.'
)


class CreateWorkerAgents(Arguments):
    """Create one agent per Task of a workflow after you created its run, and assign them.

    Repeating the call returns the agents that exist. When one cannot be made, those made by this call are deleted
    again and the answer says so.
    """

    workflow_json: JsonObject | None = Field(
        default=None, description="The workflow document (object or JSON text); leave out for a run that exists."
    )
    workflow_id: WorkflowId | None = Field(
        default=None, description="Id of the run; default: the document's workflow_id."
    )
    imports_base_dir: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("directory of templates")
    )
    agent_name_prefix: str | None = Field(
        default=None, max_length=100, description="What the agents' names begin with; default: wf-, the run's id, -."
    )
    agent_name_suffix: str = Field(
        default=".af", pattern=r"^\.[A-Za-z0-9.]{1,16}$", description="Ending of template files in the directory."
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
    """Make the agents of a run."""
    refuse_other("imports_base_dir", args.imports_base_dir, app.settings.agents_dir)
    tags = _tags(args.default_tags_json)
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
    """Find the run's id and the document: the given one, or the run's."""
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
    """Refuse a document that is not the run's; where there is no run yet, any will do."""
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
    return tuple(dict.fromkeys(tags))


def _is_tag(tag: Json) -> bool:
    reserved = ("wf:", "state:", "role:")
    return isinstance(tag, str) and 0 < len(tag) <= _MAX_TAG and tag.isprintable() and not tag.startswith(reserved)


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


class GetMyAssignment(Arguments):
    """Get what is yours to do, before you work: your state, its input, your skills, and the next calls to make.

    Follow `next` in its order. Where there is nothing to do about the state you name, others that are ready are shown.
    Ask again whenever you are unsure.
    """

    agent_id: AgentId
    workflow_id: WorkflowId | None = Field(
        default=None, description="Id of the run, as in the event; may be left out while you work for one run only."
    )
    state: StateName | None = Field(default=None, description="One state, as in the event; default: all of yours.")


class MyAssignment(Answer):
    """`next` are the calls to make, in order; `states` have input, skills and lease (never its token).

    Of a long input, `input_left_out` says how to read it. `context` and `tools` are what your record holds; without a
    run, `candidates` are the runs you work for. What may be long comes last, where a platform may cut it.
    """

    agent_id: str | None = None
    workflow_id: str | None = None
    run_status: RunStatus | None = None
    next: list[dict[str, Any]] = Field(default_factory=list)
    candidates: list[str] = Field(default_factory=list)
    loaded_skills: list[dict[str, Any]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list)
    more_states: int = 0
    states: list[dict[str, Any]] = Field(default_factory=list)
    context: list[dict[str, Any]] = Field(default_factory=list)


@tool(
    toolset="agents",
    scope=Scope.READ,
    profiles=("worker", "operator"),
    arguments=GetMyAssignment,
    answer=MyAssignment,
    read_only=True,
)
def get_my_assignment(app: Application, args: GetMyAssignment) -> MyAssignment:
    """Tell an agent what is its to do."""
    found = app.desk.ask(args.agent_id, args.workflow_id, args.state)
    return MyAssignment(
        status=_summary(found),
        agent_id=args.agent_id,
        workflow_id=found.workflow_id,
        run_status=found.run_status,
        states=list(_states(app, found)),
        more_states=max(found.more, 0),
        loaded_skills=[
            {"manifestId": one.manifest_id, "skillName": one.name, "skillVersion": one.version} for one in found.loaded
        ],
        context=[dict(one) for one in found.context],
        tools=[dict(one) for one in found.tools],
        next=[one.as_json() for one in found.steps],
        candidates=list(found.candidates),
        hint="Call again with the workflow_id of one of the candidates." if found.candidates else None,
    )


def _summary(found: Assignment) -> str:
    if found.candidates:
        return f"You work for {len(found.candidates)} runs."
    if found.workflow_id is None:
        return "No run that is not over has work for you."
    held = [one.state for one in found.states if one.held]
    ready = [one.state for one in found.states if one.ready]
    about = "" if found.named is None or found.named in {*held, *ready} else f"{_named(found, found.named)} "
    if held:
        return f"{about}You hold '{held[0]}'."
    if ready:
        return f"{about}'{ready[0]}' is ready for you."
    return f"{about}Nothing{' else' if about else ''} is ready for you now."


def _named(found: Assignment, named: str) -> str:
    """Say of the state that was asked about why there is nothing to do about it."""
    one = next((one for one in found.states if one.state == named), None)
    if one is None:
        return f"'{named}' is not open."
    if one.doc.status.is_terminal:
        return f"'{named}' is over: {one.doc.status.value}."
    if one.doc.status is Status.RUNNING:
        holder = one.doc.lease.owner_agent_id
        return f"'{named}' is under way{f', held by {holder}' if holder else ''}."
    return f"'{named}' waits." if one.mine else f"'{named}' is assigned to others."


def _states(app: Application, found: Assignment) -> Iterator[dict[str, Any]]:
    """Show the states, each with its input at the end, as long as there is room for inputs."""
    room = _INPUT_CHARS
    for one in found.states:
        size = len(dump(one.given))
        if size > room:
            assert found.workflow_id is not None, "states are of a run"
            key = app.runs.input_key(found.workflow_id, one.state)
            yield _state(one) | {"input": None, "input_left_out": _LEFT_OUT.format(size=size, key=key)}
        else:
            room -= size
            yield _state(one) | {"input": one.given}


def _state(one: StateAtHand) -> dict[str, Any]:
    return {
        "state": one.state,
        "status": one.doc.status.value,
        "ready": one.ready,
        "held_by_you": one.held,
        "attempts": one.doc.attempts,
        "last_error": one.doc.last_error,
        "lease": one.lease(),
        "skills": list(map(_skill, one.skills)),
        "next": [step.as_json() for step in one.steps],
    }


def _skill(one: SkillAtHand) -> dict[str, Any]:
    manifest = one.manifest
    if manifest is None:
        return {"reference": one.reference, "problem": one.problem}
    return {
        "reference": one.reference,
        "manifestId": manifest.manifest_id,
        "skillName": manifest.name,
        "skillVersion": manifest.version,
        "loaded": one.loaded,
        "directives": manifest.directives,
        "tools": [
            {"name": tool.name, "description": tool.description, "required": tool.required} for tool in manifest.tools
        ],
    }


class ResolveAgentNameToId(Arguments):
    """Get the id of an agent whose name you know, for the tools that ask for an agent_id."""

    agent_name: str = Field(min_length=1, max_length=200, description="The agent's exact name.", examples=["pricing-1"])


class AgentResolved(Answer):
    """The id."""

    agent_id: str | None = None


@tool(
    toolset="agents",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=ResolveAgentNameToId,
    answer=AgentResolved,
    read_only=True,
)
def resolve_agent_name_to_id(app: Application, args: ResolveAgentNameToId) -> AgentResolved:
    """Look an agent up by name."""
    agent_id = app.workers.resolve(args.agent_name)
    return AgentResolved(status="The agent was found.", agent_id=agent_id)


class DeleteAgent(Arguments):
    """Remove one agent that was made for a run; finalize_workflow does it for all agents of a run.

    Name it by agent_name or agent_id. Other agents can be deleted only by an operator.
    """

    agent_name: str | None = Field(
        default=None, min_length=1, max_length=200, description="The agent's exact name; one agent must have it."
    )
    agent_id: AgentId | None = Field(default=None, description="The agent's id, instead of its name.")


class AgentDeleted(Answer):
    """The agent that is gone."""

    deleted_agent_id: str | None = None


@tool(
    toolset="agents",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
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
    if not app.workers.delete_agent(agent_id):
        return AgentDeleted(status="The agent was gone already.")
    return AgentDeleted(status="The agent was deleted.", deleted_agent_id=agent_id)


def _refuse_foreign(app: Application, agent_id: str, what: str) -> None:
    """Refuse an agent that was made for no run, or for one of another planner."""
    if Scope.OPERATE in current_caller().scopes:
        return
    tags = app.platform.retrieve_agent(agent_id).tags
    if WORKER_TAG not in tags:
        require(Scope.OPERATE, f"{what} an agent that was not made for a run")
    for workflow_id in runs_of(tags):
        require_planner(app, workflow_id)


class RemoveToolReturnLimits(Arguments):
    """Lift the limit on how much text an agent's tools may return, when their answers come cut off."""

    agent_id: Annotated[str, Field(pattern=ID_PATTERN, description="Id of the agent.", examples=["pricing-1"])]


class LimitsRemoved(Answer):
    """How many tools were changed."""

    updated_count: int = 0


@tool(
    toolset="agents",
    scope=Scope.PLAN,
    profiles=("planner", "operator"),
    arguments=RemoveToolReturnLimits,
    answer=LimitsRemoved,
    about_others=True,
    audit=("agent_id",),
)
def remove_tool_return_limits(app: Application, args: RemoveToolReturnLimits) -> LimitsRemoved:
    """Lift the limits of one agent's tools."""
    caller = current_caller()
    if caller.agent_id not in {None, args.agent_id}:
        _refuse_foreign(app, args.agent_id, "Changing the tools of")
    count = app.workers.lift_return_limits(args.agent_id)
    status = f"{count} tool(s) changed." if count else "There is nothing to do: no tool of this agent has such a limit."
    return LimitsRemoved(status=status, updated_count=count)
