"""The verbs on agents that are made elsewhere and registered here: webhooks. They call and describe.

The secret that signs a webhook's requests is shown in one answer, and is in no audit entry.
"""

from typing import TYPE_CHECKING, Annotated, Final

from dcf.errors import InvalidArgument
from dcf.features.webhooks.records import LEASE_S, AgentPlatformName, NewKeyName, RegisteredAgent, RegisteredAgents
from dcf.features.work.limits import MOST_IN_PROGRESS, WorkLimit
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, OtherAgentId

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.webhooks.registration import Registered

_ONLY_NOW: Final = "Give secret to whoever runs the receiver; it is shown only now."


@verb(
    toolset="agents",
    scope="operate",
    lists=("operator",),
    says=lambda answer: f"Agent '{answer['agent_id']}' is a webhook at {answer['url']}.",
    command=Command(
        name="agents add",
        example="dcf agents add pricing-hook --url https://agents.example/dcf",
        show="dcf.cli.features.webhooks:show_registered",
    ),
    also=(Command(name="agents rotate", function="dcf.cli.features.webhooks:rotate"),),
    about_others=True,
    audit=("agent_id", "key_ids"),
    in_refusals={"key_ids": ()},
    codes=("conflict", "unknown_agent"),
)
def register_agent(
    on: "Application",
    agent_id: Annotated[
        OtherAgentId, Argument(means="Id of the agent.", example="pricing-hook", spelling="Its id, as Tasks name it.")
    ],
    url: Annotated[
        str | None,
        Argument(means="Its https URL; to make a new key it may be left out.", max_length=2000, option="--url"),
    ] = None,
    *,
    platform: Annotated[AgentPlatformName, Argument(means="How it is reached.")] = "webhook",  # noqa: ARG001 - only this
    lease_ttl_s: Annotated[
        int,
        Argument(
            means="Seconds it has for a piece of work, and after each heartbeat.",
            spelling="How long it has for a piece of work, and after each heartbeat, as 15m or 2h; default: 15m.",
            ge=30,
            le=86_400,
            form="span",
            option="--lease",
        ),
    ] = LEASE_S,
    max_in_progress: Annotated[
        int | None, Argument(means="Most states that it holds at a time; 0: any number.", ge=0, le=MOST_IN_PROGRESS)
    ] = None,
    account: Annotated[
        str | None,
        Argument(means="Account whose usage limit it shares with other agents.", pattern=ID, listed=False),
    ] = None,
    new_key: Annotated[
        NewKeyName | None, Argument(means="Make a new key: the old one signs too (overlap), or ends at once.")
    ] = None,
) -> Answered[RegisteredAgent]:
    """Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work later.

    Assign it to Tasks by its agent_id. The answer has the secret that signs. The same call again changes where it is.
    With `max_in_progress` or `account` alone: limit how many states any agent holds at a time, or give it its account.
    """
    if url is None and new_key is None and max_in_progress is None and account is None:
        raise InvalidArgument("Neither url nor new_key was given.", "Pass the webhook's https URL.")
    if max_in_progress is not None:
        on.limits.put(WorkLimit(kind="agent", name=agent_id, most=max_in_progress))
    if account is not None:
        on.accounts.assign(agent_id, account)
    if url is None and new_key is None:
        members: dict[str, Json] = {"agent_id": agent_id, "key_ids": [], "max_in_progress": max_in_progress}
        return Answered(
            RegisteredAgent, members, says=f"Agent '{agent_id}' {_limited(agent_id, max_in_progress, account)}."
        )
    registered = None
    if url is not None:
        by = current_caller().name
        registered = on.registration.register(agent_id, url, lease_ttl_s=lease_ttl_s, created_by=by)
    if new_key is not None and (registered is None or registered.secret is None):
        registered = on.registration.rotate(agent_id, at_once=new_key == "at_once")
    assert registered is not None, "one of the two was given"
    hint = None if registered.secret is None else _ONLY_NOW
    more = {"max_in_progress": max_in_progress, "secret": registered.secret, "hint": hint}
    return Answered(RegisteredAgent, {**row_of(registered), **more})


@verb(
    toolset="agents",
    scope="operate",
    lists=("operator",),
    effect="reads",
    says=lambda answer: f"{len(answer['agents'])} agent(s) are registered.",
    command=Command(name="agents ls", show="dcf.cli.features.webhooks:show_agents"),
    pages="agents",
    in_refusals={"agents": []},
)
def list_registered_agents(on: "Application") -> Answered[RegisteredAgents]:
    """List the agents that were registered: where they are, the ids of their keys, and why one is left alone now."""
    return Answered(RegisteredAgents, {"agents": [row_of(agent) for agent in on.registration.all()]})


def _limited(agent_id: str, most: int | None, account: str | None) -> str:
    """Return what limits the agent from now on, in words."""
    limits = [] if most is None else [WorkLimit(kind="agent", name=agent_id, most=most).told]
    return " and ".join(limits if account is None else [*limits, f"has the account '{account}'"])


def row_of(agent: "Registered") -> dict[str, Json]:
    """Return what is shown of an agent."""
    rest = agent.rest
    resting = None if rest is None else {"for_s": round(rest.for_s, 1), "failures": rest.failures, "error": rest.error}
    return {
        "agent_id": agent.agent_id,
        "platform": agent.platform,
        "url": agent.url,
        "key_ids": list(agent.key_ids),
        "lease_ttl_s": agent.lease_ttl_s,
        "created_at": to_text(agent.created_at),
        "created_by": agent.created_by,
        "rest": resting,
    }


add_tools(__name__)
