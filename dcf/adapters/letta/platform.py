"""Implements the ports of a platform for Letta; each method calls the module that does the work."""

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from dcf.adapters.letta.agents import Agents
from dcf.adapters.letta.blocks import Blocks
from dcf.adapters.letta.client import LettaClient
from dcf.adapters.letta.deliveries import Deliveries, LocalDeliveries
from dcf.adapters.letta.messages import Messages
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.tools import Tools
from dcf.ports import AgentFound, AgentWish, Delivery, Platform, ToolWish
from dcf.values.json_text import Json

KIND: Final = "letta"
_OWN_ID: Final = re.compile(r"agent-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class LettaPlatform:
    """Delivers to agents on a Letta server, makes and equips them. Thread-safe; connects when it is first used."""

    kind = KIND
    is_remote = True
    tools_at_once = False

    def __init__(self, options: LettaOptions, deliveries: Deliveries | None = None) -> None:
        self._client = LettaClient(options)
        self._tools = Tools(self._client, options)
        self._agents = Agents(self._client, self._tools, options)
        self._blocks = Blocks(self._client, self._agents)
        self._messages = Messages(self._client, deliveries or LocalDeliveries(), options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to Letta."""
        self._client.close()

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Start a run of the agent with the event, unless the agent is busy or got the event before."""
        return self._messages.deliver(agent_id, event_id, event)

    def as_platform(self) -> Platform:
        """Return the record of this platform."""
        return Platform(
            kind=KIND,
            deliverer=self,
            provisioner=self,
            equipper=self,
            is_own_id=is_own_id,
            lift_limits=self.lift_return_limits,
        )

    def create_agent(self, wish: AgentWish) -> str:
        """Create the agent with tags, blocks and tools in one request. Return its id."""
        return self._agents.create(wish)

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with all these tags and exactly this name, oldest first."""
        return self._agents.find(tags, name)

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent. Raise AgentUnknown if there is none."""
        return self._agents.retrieve(agent_id)

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the agent and the blocks that dcf made for it alone. Return True if it existed."""
        return self._agents.delete(agent_id)

    def tools_of(self, agent_id: str) -> tuple[str, ...]:
        """Return the ids of the agent's tools."""
        return self._agents.tools_of(agent_id)

    def add_text(self, agent_id: str, label: str, value: str) -> str:
        """Put the text into the agent's context as a block of this label. Return the block's id."""
        return self._blocks.add(agent_id, label, value)

    def remove_text(self, agent_id: str, text_id: str) -> None:
        """Remove the block."""
        self._blocks.remove(agent_id, text_id)

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Attach the tool to the agent. Return the tool's id."""
        return self._tools.attach(agent_id, wish)

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Detach the tool from this agent."""
        self._tools.detach(agent_id, tool_id)

    def apply(self, agent_id: str) -> None:
        """Rebuild the agent's prompt, so that its next run sees the blocks it has now."""
        self._agents.recompile(agent_id)

    def lift_return_limits(self, agent_id: str) -> int:
        """Raise the limit on the agent's tool results to 60,000 characters. Return how many tools were changed."""
        return self._tools.lift_return_limits(agent_id)


def is_own_id(agent_id: str) -> bool:
    """Return True if the id has the form that Letta gives its agents."""
    return _OWN_ID.match(agent_id) is not None
