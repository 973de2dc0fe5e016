"""The verbs of a client for agents that are made elsewhere: webhooks; described as in `verbs.py`."""

from typing import Literal

from dcf.client.answers.webhooks import RegisteredAgent
from dcf.client.arguments import given
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask


def register_agent(
    agent_id: str,
    url: str | None = None,
    *,
    lease_ttl_s: int | None = None,
    max_in_progress: int | None = None,
    new_key: Literal["overlap", "at_once"] | None = None,
) -> Conversation[RegisteredAgent]:
    """Register an agent that is a webhook, or change where it is; `secret` signs what it gets, and is shown only now.

    `new_key` makes another key: the old one signs too ("overlap"), or ends ("at_once"). Then `url` may be left out.
    With `max_in_progress` alone: limit how many states any agent holds at a time, 0 for any number.
    """
    return ask(
        RegisteredAgent,
        "register_agent",
        agent_id=agent_id,
        url=url,
        lease_ttl_s=lease_ttl_s,
        max_in_progress=max_in_progress,
        new_key=new_key,
    )


def list_registered_agents() -> Stream[RegisteredAgent]:
    """Yield the agents that were registered, oldest first, without their secrets."""
    page = accepted((yield ToolCall("list_registered_agents", given())))
    for one in page["agents"]:
        yield Item(read(RegisteredAgent, one))
