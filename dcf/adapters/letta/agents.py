"""Creates, finds, reads and deletes agents on Letta.

Searches always use tags or the exact name, so that the cost does not grow with the number of agents.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from letta_client.types import AgentState

from dcf.adapters.letta.bundles import read_wish
from dcf.adapters.letta.client import LettaClient, agent_unknown, asking, check_text
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.tools import Tools
from dcf.errors import AgentUnknown, InvalidArgument
from dcf.ports import AgentFound, AgentWish
from dcf.values.json_text import Json

OWNED = "dcf:owned"
"""Tag of the blocks that dcf created: only these are deleted with their agent."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9 _'-]")
_PAGE = 50


def letta_name(name: str) -> str:
    """Return a name that Letta accepts: characters other than letters, digits, space, - _ ' give a 500 (measured)."""
    return _NOT_IN_NAMES.sub("-", name)


class Agents:
    """Creates and finds agents."""

    def __init__(self, client: LettaClient, tools: Tools, options: LettaOptions) -> None:
        self._client = client
        self._tools = tools
        self._options = options

    def create(self, wish: AgentWish) -> str:
        """Create the agent with its tags, blocks and tools in one request, so that no half-made agent can result."""
        blueprint = read_wish(wish)
        arguments: dict[str, Any] = {**blueprint.arguments, **self._model(blueprint.arguments)}
        if "system" in arguments:
            check_text(str(arguments["system"]), "system prompt")
        tool_ids = self._tools.bundled(blueprint.tools, blueprint.servers)
        with asking():
            made = self._client.write.agents.create(
                **arguments,
                name=letta_name(wish.name),
                tags=list(dict.fromkeys((*blueprint.tags, *wish.tags))),
                memory_blocks=[{**block, "tags": [OWNED]} for block in blueprint.blocks],  # type: ignore[typeddict-item]
                tool_ids=tool_ids,
            )
        return made.id

    def find(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with all these tags and exactly this name, oldest first."""
        if not tags and name is None:
            raise InvalidArgument("Agents are looked for by tags or by name.")
        filters: dict[str, Any] = {}
        if tags:
            filters |= {"tags": list(tags), "match_all_tags": True}
        if name is not None:
            filters["name"] = letta_name(name)
        with asking():
            page = self._client.read.agents.list(
                **filters, include=["agent.tags"], order="asc", order_by="created_at", limit=_PAGE
            )
            agent_states = list(page.items)
            while len(page.items) == _PAGE:  # the client itself sends one more request after the last page
                page = page.get_next_page()
                agent_states += page.items
            return list(map(_found, agent_states))

    def retrieve(self, agent_id: str) -> AgentFound:
        """Return the agent with its tags. Letta returns these only if the request names them."""
        with asking(unknown=lambda: agent_unknown(agent_id)):
            return _found(self._client.read.agents.retrieve(_checked(agent_id), include=["agent.tags"]))

    def tools_of(self, agent_id: str) -> tuple[str, ...]:
        """Return the ids of the agent's tools."""
        with asking(unknown=lambda: agent_unknown(agent_id)):
            agent_state = self._client.read.agents.retrieve(_checked(agent_id), include=["agent.tools"])
            return tuple(tool.id for tool in agent_state.tools or ())

    def delete(self, agent_id: str) -> bool:
        """Delete the agent, then dcf's blocks that no other agent has. Letta itself does not delete blocks."""
        try:
            owned = self._owned_blocks(agent_id)
            with asking(unknown=lambda: agent_unknown(agent_id)):
                self._client.write.agents.delete(agent_id)
        except AgentUnknown:
            return False
        for block_id in owned:
            self.delete_block_if_unused(block_id)
        return True

    def delete_block_if_unused(self, block_id: str) -> None:
        """Delete a block if no agent has it. Do nothing if it is gone."""
        with suppress(AgentUnknown), asking(unknown=lambda: agent_unknown(block_id)):
            if not self._client.read.blocks.agents.list(block_id, limit=1).items:
                self._client.write.blocks.delete(block_id)

    def recompile(self, agent_id: str) -> None:
        """Rebuild the system prompt. Until then, blocks attached later do not reach the model (measured)."""
        with asking(unknown=lambda: agent_unknown(agent_id)):
            self._client.write.agents.recompile(_checked(agent_id))

    def _owned_blocks(self, agent_id: str) -> list[str]:
        with asking(unknown=lambda: agent_unknown(agent_id)):
            blocks = self._client.read.agents.blocks.list(_checked(agent_id), limit=1000).items
        return [block.id for block in blocks if block.id and OWNED in (block.tags or [])]

    def _model(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return the configured model's settings in place of all of the template's. They never mix."""
        chosen: dict[str, Json] = {}
        if self._options.model is not None:
            chosen = {"model": self._options.model, "llm_config": None, "model_settings": None}
        elif "model" not in arguments and "llm_config" not in arguments:
            raise InvalidArgument(
                "The agent's template names no model.", "Give it an llm_config, or set LETTA_MODEL to a model's handle."
            )
        if self._options.embedding is not None:
            chosen |= {"embedding": self._options.embedding, "embedding_config": None}
        return chosen


def _found(agent: AgentState) -> AgentFound:
    if not isinstance(agent.id, str) or not isinstance(agent.name, str):  # the client does not check types
        raise TypeError("this is no agent")
    made = agent.created_at.isoformat() if agent.created_at is not None else ""
    return AgentFound(
        agent_id=agent.id,
        name=agent.name,
        tags=tuple(agent.tags or ()),
        created_at=made,
    )


def _checked(agent_id: str) -> str:
    """Return the id; raise AgentUnknown if it is empty, for which the client raises an error of its own."""
    if not agent_id.strip():
        raise agent_unknown(agent_id)
    return agent_id
