"""Methods of the clients for the verbs of the toolset agents. Derived from their descriptions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dcf.client.arguments import Span, document_text, listed_if_any, seconds
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.webhooks.records import AgentPlatformName, NewKeyName, RegisteredAgent
from dcf.values.json_text import Json
from dcf.verbs.records.agents import CreatedWorkers, DeletedAgent, RemovedLimits, ResolvedAgent
from dcf.verbs.records.assignment import MyAssignment


def register_agent(
    agent_id: str,
    url: str | None = None,
    *,
    platform: AgentPlatformName = "webhook",
    lease_ttl_s: Span = 900,
    max_in_progress: int | None = None,
    new_key: NewKeyName | None = None,
) -> Conversation[RegisteredAgent]:
    """Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work later.

    Assign it to Tasks by its agent_id. The answer has the secret that signs. The same call again changes where it is.
    With `max_in_progress` alone: limit how many states any agent holds at a time.
    """
    return call_tool(
        RegisteredAgent,
        "register_agent",
        agent_id=agent_id,
        url=url,
        platform=platform,
        lease_ttl_s=seconds(lease_ttl_s),
        max_in_progress=max_in_progress,
        new_key=new_key,
    )


def list_registered_agents() -> Stream[RegisteredAgent]:
    """List the agents that were registered: where they are, the ids of their keys, and why one is left alone now."""
    return call_pages(RegisteredAgent, "list_registered_agents", "agents")


def create_worker_agents(
    *,
    workflow: Mapping[str, Json] | Path | None = None,
    workflow_id: str | None = None,
    imports_base_dir: str | None = None,
    agent_name_prefix: str | None = None,
    agent_name_suffix: str = ".af",
    default_tags: Sequence[str] | None = None,
    skip_if_exists: bool = True,
) -> Conversation[CreatedWorkers]:
    """Create one agent per Task of a workflow after you created its run, and assign them.

    Repeating the call returns the agents that exist, and makes those again that are gone. When one cannot be made,
    those made by this call are deleted again and the answer says so.
    """
    return call_tool(
        CreatedWorkers,
        "create_worker_agents",
        workflow_json=None if workflow is None else document_text(workflow),
        workflow_id=workflow_id,
        imports_base_dir=imports_base_dir,
        agent_name_prefix=agent_name_prefix,
        agent_name_suffix=agent_name_suffix,
        default_tags_json=listed_if_any(default_tags),
        skip_if_exists=skip_if_exists,
    )


def resolve_agent_name_to_id(agent_name: str) -> Conversation[ResolvedAgent]:
    """Get the id of an agent whose name you know, where one is asked for."""
    return call_tool(ResolvedAgent, "resolve_agent_name_to_id", agent_name=agent_name)


def delete_agent(*, agent_name: str | None = None, agent_id: str | None = None) -> Conversation[DeletedAgent]:
    """Remove one agent that was made for a run; `finalize` does it for all agents of a run.

    Name it by `agent_name` or `agent_id`. Other agents can be deleted only by an operator.
    """
    return call_tool(DeletedAgent, "delete_agent", agent_name=agent_name, agent_id=agent_id)


def remove_tool_return_limits(agent_id: str) -> Conversation[RemovedLimits]:
    """Lift the limit on how much text an agent's tools may return, when their answers come cut off."""
    return call_tool(RemovedLimits, "remove_tool_return_limits", agent_id=agent_id)


def get_my_assignment(
    agent_id: str, *, workflow_id: str | None = None, state: str | None = None
) -> Conversation[MyAssignment]:
    """Get what is yours to do, whenever you are unsure: states, their inputs, your skills, and the `next` calls."""
    return call_tool(MyAssignment, "get_my_assignment", agent_id=agent_id, workflow_id=workflow_id, state=state)
