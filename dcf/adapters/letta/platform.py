"""Letta behind dcf's port: each method is one sentence of the port, carried out by the module that knows how."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from dcf.adapters.letta.agents import Agents
from dcf.adapters.letta.blocks import Blocks
from dcf.adapters.letta.client import LettaClient
from dcf.adapters.letta.deliveries import Deliveries, LocalDeliveries
from dcf.adapters.letta.messages import Messages
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.tools import Tools
from dcf.ports import AgentFound, AgentWish, Delivery, ToolWish
from dcf.values.json_text import Json


class LettaPlatform:
    """A `AgentPlatform` on a Letta server. May be used from several threads; opens no connection before it is used."""

    kind = "letta"
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
        """Start a run of the agent with the event, unless it is busy or heard it before."""
        return self._messages.deliver(agent_id, event_id, event)

    def create_agent(self, wish: AgentWish) -> str:
        """Make the agent with tags, blocks and tools in one request; return its id."""
        return self._agents.create(wish)

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Find agents by all of these tags and exactly this name, oldest first."""
        return self._agents.find(tags, name)

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent; raise AgentUnknown."""
        return self._agents.retrieve(agent_id)

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the agent and the blocks dcf made for it alone; tell whether it was there."""
        return self._agents.delete(agent_id)

    def add_block(self, agent_id: str, label: str, value: str) -> str:
        """Put the text into the agent's context under this label; return the block's id."""
        return self._blocks.add(agent_id, label, value)

    def remove_block(self, agent_id: str, block_id: str) -> None:
        """Take the text away."""
        self._blocks.remove(agent_id, block_id)

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Let the agent use the tool; return the tool's id."""
        return self._tools.attach(agent_id, wish)

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Take the tool from this agent."""
        self._tools.detach(agent_id, tool_id)

    def refresh(self, agent_id: str) -> None:
        """Rebuild the agent's prompt, so that its next run sees the blocks it has now."""
        self._agents.recompile(agent_id)

    def lift_return_limits(self, agent_id: str) -> int:
        """Raise the limit on what the agent's tools return to 60,000 characters; how many tools were changed."""
        return self._tools.lift_return_limits(agent_id)
