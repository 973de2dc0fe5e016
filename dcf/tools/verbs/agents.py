"""The verbs on agents: create the agents of a run, find one by name, delete one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from dcf.core.access.model import Scope
from dcf.data import find_directory
from dcf.errors import Conflict, InvalidArgument, PlatformUnavailable, UnknownRun
from dcf.ports import MAILBOX
from dcf.values.digest import definition_sha256
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import Json, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.callers import current_caller, require, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import OptionalRunId, OtherAgentId
from dcf.verbs.project_bounds import sees_agent
from dcf.verbs.records.agents import CreatedWorkers, DeletedAgent, RemovedLimits, ResolvedAgent
from dcf.verbs.registry import ONLY_CONFIGURED, refuse_other
from dcf.workforce.crew.names import WORKER_TAG, runs_of
from dcf.workforce.crew.records import CrewWish, MadeWorkers, Staffed
from dcf.workforce.crew.templates import read_staffing

if TYPE_CHECKING:
    from dcf.application.application import Application

_MAX_TAGS = 20
_MAX_TAG = 100


@verb(
    toolset="agents",
    scope="plan",
    lists=("planner", "operator"),
    says=lambda answer: f"{len(answer['created'])} agent(s) created, {len(answer['existing'])} there before.",
    codes=("unknown_run", "conflict", "platform_unavailable", "invalid_definition", "unknown_agent"),
    audit=("workflow_id",),
    in_refusals={
        "agents_map": {},
        "created": [],
        "existing": [],
        "undone": [],
        "model_selections": {},
        "warnings": [],
        "problems": [],
    },
    page=PageAction(
        title="Create its agents",
        effect="One agent is made for each Task that has none, and those that are there are kept.",
        form=("workflow_id",),
        needed=("workflow_id",),
    ),
)
def create_worker_agents(
    on: "Application",
    *,
    workflow: Annotated[
        str | dict[str, Any] | None,
        Argument(
            means="The workflow document (object or JSON text); leave out for a run that exists.",
            form="workflow",
            tool="workflow_json",
        ),
    ] = None,
    workflow_id: Annotated[OptionalRunId, Argument(means="Id of the run; default: the document's workflow_id.")] = None,
    imports_base_dir: Annotated[
        str | None, Argument(means=ONLY_CONFIGURED.format("directory of templates"), max_length=1000, listed=False)
    ] = None,
    agent_name_prefix: Annotated[
        str | None,
        Argument(means="Prefix of the agents' names; default: wf-, the run's id, -.", listed=False, max_length=100),
    ] = None,
    agent_name_suffix: Annotated[
        str,
        Argument(means="Ending of template files in the directory.", pattern=r"^\.[A-Za-z0-9.]{1,16}$", listed=False),
    ] = ".af",
    default_tags: Annotated[
        Sequence[str] | None,
        Argument(
            means='More tags for the agents: ["team:x"] (or JSON text).',
            listed=False,
            form="texts",
            tool="default_tags_json",
        ),
    ] = None,
    skip_if_exists: Annotated[
        bool, Argument(means="Return agents that exist; false refuses when there are any.", listed=False)
    ] = True,
) -> Answered[CreatedWorkers] | RefusedWith:
    """Create one agent per Task of a workflow after you created its run, and assign them.

    Repeating the call returns the agents that exist, and makes those again that are gone. When one cannot be made,
    those made by this call are deleted again and the answer says so.
    """
    refuse_other("imports_base_dir", imports_base_dir, on.settings.agents_dir)
    tags = _tags(default_tags or ())
    if agent_name_prefix:
        check_name(agent_name_prefix, "agent_name_prefix", _MAX_TAG)
    run, document = _workflow(on, workflow, workflow_id)
    require_planner(on, run)
    agents_dir = find_directory(on.settings.agents_dir)
    staffing = read_staffing(
        document, import_dirs=(on.settings.workflows_dir, agents_dir), agents_dir=agents_dir, suffix=agent_name_suffix
    )
    exists = _has_definition(on, run, document)
    wish = CrewWish(workflow_id=run, staffing=staffing, prefix=agent_name_prefix, tags=tags, reuse=skip_if_exists)
    crew = on.workers.create(wish)
    on.control_plane.announce_again(run, crew.assigned)
    return _crew(run, crew, _next_of(on, run, crew, exists=exists))


def _workflow(on: "Application", workflow: Any, workflow_id: str | None) -> tuple[str, Json]:
    """Return the run's id and its document: the one of the call, or the run's."""
    if workflow is None:
        if workflow_id is None:
            raise InvalidArgument("Neither workflow_json nor workflow_id was given.", "Pass the run's `workflow_id`.")
        return workflow_id, on.control_plane.run(workflow_id).definition.document
    document = parse_workflow(workflow, name="workflow_json", max_bytes=on.settings.max_document_bytes)
    own = document.get("workflow_id") if isinstance(document, dict) else None
    run = workflow_id or own
    if not isinstance(document, dict) or not isinstance(run, str):
        raise InvalidArgument("workflow_json is no object with a workflow_id.", "Pass `workflow_id` as well.")
    return check_id(run, "workflow_json's workflow_id"), document


def _has_definition(on: "Application", workflow_id: str, document: dict[str, Json]) -> bool:
    """Return True if the run exists; raise when the document is not its own. Before, any document is accepted."""
    try:
        known = on.control_plane.run(workflow_id).sha256
    except UnknownRun:
        return False
    if known != definition_sha256({name: value for name, value in document.items() if name != "workflow_id"}):
        raise Conflict(
            f"Run '{workflow_id}' has another definition than workflow_json.", "Leave `workflow_json` out of the call."
        )
    return True


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > _MAX_TAGS or not all(map(_is_tag, tags)):
        raise InvalidArgument(
            "default_tags_json is not an array of tags.", 'Send up to 20 texts of at most 100 characters: ["team:x"].'
        )
    return tuple(dict.fromkeys(check_name(tag, "A tag", _MAX_TAG) for tag in tags))


def _is_tag(tag: str) -> bool:
    reserved = ("wf:", "state:", "role:")
    return 0 < len(tag) <= _MAX_TAG and not tag.startswith(reserved)


def _next_of(on: "Application", workflow_id: str, crew: MadeWorkers, *, exists: bool) -> list[dict[str, Any]]:
    """Return the calls that follow: create the run or start it, and wait as one of the agents for its work."""
    create, start = planner_steps.create_first(workflow_id, crew.agents), planner_steps.start(workflow_id)
    steps = [start if exists else create, planner_steps.look(workflow_id)]
    agent = next((agent for agent in crew.agents.values() if on.platforms.kind_of(agent) == MAILBOX), None)
    return [step.as_json() for step in (steps if agent is None else [*steps, planner_steps.work_as(agent)])]


def _crew(
    workflow_id: str, crew: MadeWorkers, following: list[dict[str, Any]]
) -> Answered[CreatedWorkers] | RefusedWith:
    members: dict[str, Any] = {
        "workflow_id": workflow_id,
        "agents_map": dict(crew.agents),
        "created": list(map(_staffed, crew.created)),
        "existing": list(map(_staffed, crew.existing)),
        "undone": list(map(_staffed, crew.undone)),
        "warnings": list(crew.warnings),
    }
    failure = crew.failure
    if failure is None:
        return Answered(CreatedWorkers, {**members, "next": following})
    wait = failure.retry_after_s if isinstance(failure, PlatformUnavailable) else None
    refusal = Refusal(code=failure.code, message=failure.message, hint=failure.hint, retry_after_s=wait)
    return RefusedWith(refusal, members)


def _staffed(worker: Staffed) -> dict[str, str]:
    return {"state": worker.state, "agent_id": worker.agent_id, "agent_name": worker.agent_name}


@verb(
    toolset="agents",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda _: "The agent was found.",
    codes=("unknown_agent",),
    of_no_run=True,
)
def resolve_agent_name_to_id(
    on: "Application",
    agent_name: Annotated[
        str, Argument(means="The agent's exact name.", example="pricing-1", min_length=1, max_length=200)
    ],
) -> ResolvedAgent:
    """Get the id of an agent whose name you know, where one is asked for."""
    caller = current_caller()
    return ResolvedAgent(agent_id=on.workers.resolve(agent_name, lambda agent: sees_agent(on, caller, agent.tags)))


@verb(
    toolset="agents",
    scope="plan",
    lists=("operator",),
    effect="destroys",
    says=lambda answer: (
        "The agent was gone already." if answer["deleted_agent_id"] is None else "The agent was deleted."
    ),
    codes=("unknown_agent", "unknown_run"),
    about_others=True,
    audit=("agent_name", "agent_id"),
    command=Command(
        name="agents delete",
        summary="Remove an agent: it gets no more work, and its task tokens serve no more.",
        before="dcf.cli.features.webhooks:only_registered",
        show="dcf.cli.features.webhooks:show_removed",
        positional=("agent_id",),
        fixed={"agent_name": None},
    ),
)
def delete_agent(
    on: "Application",
    *,
    agent_name: Annotated[
        str | None, Argument(means="The agent's exact name; one agent must have it.", min_length=1, max_length=200)
    ] = None,
    agent_id: Annotated[
        OtherAgentId | None, Argument(means="Its id, instead of its name.", spelling="Its id, as Tasks name it.")
    ] = None,
) -> Answered[DeletedAgent]:
    """Remove one agent that was made for a run; `finalize_workflow` does it for all agents of a run.

    Name it by `agent_name` or `agent_id`. Other agents can be deleted only by an operator.
    """
    if (agent_name is None) == (agent_id is None):
        raise InvalidArgument("Exactly one of agent_name and agent_id is needed.", "Pass one of the two.")
    agent = agent_id if agent_name is None else on.workers.resolve(agent_name)
    assert agent is not None, "one of the two is given"
    _refuse_foreign(on, agent, "Deleting")
    is_gone = not on.workers.delete_agent(agent)
    on.registration.forget(agent)
    return Answered(DeletedAgent, {"deleted_agent_id": None if is_gone else agent})


def _refuse_foreign(on: "Application", agent_id: str, action: str) -> None:
    """Raise Forbidden for an agent that was made for no run, or for the run of another planner."""
    if Scope.OPERATE in current_caller().scopes:
        return
    tags = on.platforms.provisioner_of(agent_id).retrieve_agent(agent_id).tags
    if WORKER_TAG not in tags:
        require(Scope.OPERATE, f"{action} an agent that was not made for a run")
    for workflow_id in runs_of(tags):
        require_planner(on, workflow_id)


@verb(
    toolset="agents",
    scope="plan",
    lists=("operator",),
    says=lambda answer: (
        f"{answer['updated_count']} tool(s) changed."
        if answer["updated_count"]
        else "There is nothing to do: no tool of this agent has such a limit."
    ),
    codes=("unknown_agent", "unknown_run"),
    about_others=True,
    audit=("agent_id",),
    in_refusals={"updated_count": 0},
)
def remove_tool_return_limits(on: "Application", agent_id: OtherAgentId) -> RemovedLimits:
    """Lift the limit on how much text an agent's tools may return, when their answers come cut off."""
    caller = current_caller()
    if caller.agent_id not in {None, agent_id}:
        _refuse_foreign(on, agent_id, "Changing the tools of")
    return RemovedLimits(updated_count=on.workers.lift_return_limits(agent_id))


add_tools(__name__)
