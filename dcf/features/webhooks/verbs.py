"""Tools on agents that are made elsewhere and registered here: webhooks. They only parse, call, format.

What signs a webhook's requests is shown in one answer, and stands in no audit entry.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.features.webhooks.registration import LEASE_S, Registered
from dcf.features.work.limits import MOST_IN_PROGRESS, WorkLimit
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import ID_PATTERN, Answer, Arguments, tool

_ONLY_NOW: Final = "Give secret to whoever runs the receiver; it is shown only now."


class RegisterAgent(Arguments):
    """Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work later.

    Assign it to Tasks by its agent_id. The answer has the secret that signs. The same call again changes where it is.
    With max_in_progress alone: limit how many states any agent holds at a time.
    """

    agent_id: Annotated[str, Field(pattern=ID_PATTERN, description="Id of the agent.", examples=["pricing-hook"])]
    platform: Literal["webhook"] = Field(default="webhook", description="How it is reached.")
    url: str | None = Field(
        default=None, max_length=2000, description="Its https URL; to make a new key it may be left out."
    )
    lease_ttl_s: int = Field(
        default=LEASE_S, ge=30, le=86_400, description="Seconds it has for a piece of work, and after each heartbeat."
    )
    max_in_progress: int | None = Field(
        default=None, ge=0, le=MOST_IN_PROGRESS, description="Most states that it holds at a time; 0: any number."
    )
    new_key: Literal["overlap", "at_once"] | None = Field(
        default=None, description="Make a new key: the old one signs too (overlap), or ends at once."
    )


class AgentRegistered(Answer):
    """The agent; of its URL only the host. `secret` is there if a key was made by this call."""

    agent_id: str | None = None
    platform: str | None = None
    url: str | None = None
    key_ids: list[str] = Field(default_factory=list)
    lease_ttl_s: int | None = None
    created_at: str | None = None
    created_by: str | None = None
    rest: dict[str, Any] | None = None
    max_in_progress: int | None = None
    secret: str | None = None


@tool(
    toolset="agents",
    scope=Scope.OPERATE,
    profiles=("operator",),
    arguments=RegisterAgent,
    answer=AgentRegistered,
    about_others=True,
    audit=("agent_id", "key_ids"),
)
def register_agent(app: Application, args: RegisterAgent) -> AgentRegistered:
    """Register a webhook, or give it another key."""
    if args.url is None and args.new_key is None and args.max_in_progress is None:
        raise InvalidArgument("Neither url nor new_key was given.", "Pass the webhook's https URL.")
    if args.max_in_progress is not None:
        limit = WorkLimit(kind="agent", name=args.agent_id, most=args.max_in_progress)
        app.limits.put(limit)
        if args.url is None and args.new_key is None:
            return AgentRegistered(
                status=f"Agent '{args.agent_id}' {limit.told}.",
                agent_id=args.agent_id,
                max_in_progress=args.max_in_progress,
            )
    found = None
    if args.url is not None:
        by = current_caller().name
        found = app.registration.register(args.agent_id, args.url, lease_ttl_s=args.lease_ttl_s, created_by=by)
    if args.new_key is not None and (found is None or found.secret is None):
        found = app.registration.rotate(args.agent_id, at_once=args.new_key == "at_once")
    assert found is not None, "one of the two was given"
    return AgentRegistered(
        status=f"Agent '{found.agent_id}' is a webhook at {found.url}.",
        hint=None if found.secret is None else _ONLY_NOW,
        max_in_progress=args.max_in_progress,
        secret=found.secret,
        **row_of(found),
    )


class ListRegisteredAgents(Arguments):
    """List the agents that were registered: where they are, the ids of their keys, and why one is left alone now."""


class AgentsRegistered(Answer):
    """The agents, oldest first. `rest` says for how long one is left alone since it did not answer."""

    agents: list[dict[str, Any]] = Field(default_factory=list)


@tool(
    toolset="agents",
    scope=Scope.OPERATE,
    profiles=("operator",),
    arguments=ListRegisteredAgents,
    answer=AgentsRegistered,
    read_only=True,
)
def list_registered_agents(app: Application, args: ListRegisteredAgents) -> AgentsRegistered:  # noqa: ARG001 - a tool's signature
    """List the agents that are made elsewhere."""
    found = [row_of(one) for one in app.registration.all()]
    return AgentsRegistered(status=f"{len(found)} agent(s) are registered.", agents=found)


def row_of(one: Registered) -> dict[str, Json]:
    """Return what is shown of an agent."""
    rest = one.rest
    resting = None if rest is None else {"for_s": round(rest.for_s, 1), "failures": rest.failures, "error": rest.error}
    return {
        "agent_id": one.agent_id,
        "platform": one.platform,
        "url": one.url,
        "key_ids": list(one.key_ids),
        "lease_ttl_s": one.lease_ttl_s,
        "created_at": to_text(one.created_at),
        "created_by": one.created_by,
        "rest": resting,
    }
