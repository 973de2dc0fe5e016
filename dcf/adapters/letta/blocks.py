"""Blocks: pieces of text in an agent's context. Changes reach the agent's model with the next `refresh`."""

import time

import letta_client
from letta_client.types import BlockResponse

from dcf.adapters.letta.agents import OWNED, Agents
from dcf.adapters.letta.client import LettaClient, agent_unknown, asking, check_text
from dcf.errors import AgentUnknown, InvalidArgument, PlatformUnavailable
from dcf.jitter import JITTER

_SMALLEST_LIMIT = 5000
_PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Upper bounds in seconds of the backoff between tries to write a block that others write too."""


class Blocks:
    """Adds and removes blocks."""

    def __init__(self, client: LettaClient, agents: Agents) -> None:
        self._client = client
        self._agents = agents

    def add(self, agent_id: str, label: str, value: str) -> str:
        """Write the text into the block of this label, or into a new one. Return the block's id."""
        check_text(label + value, "block")
        if not label.strip():
            raise InvalidArgument("A block needs a label.")
        return self._replace(agent_id, label, value) or self._attach_new(agent_id, label, value)

    def remove(self, agent_id: str, block_id: str) -> None:
        """Detach the block from the agent, and delete it if no other agent has it. Do nothing if it is gone."""
        try:
            with asking(unknown=lambda: agent_unknown(agent_id)):
                owned = OWNED in (self._client.read.blocks.retrieve(block_id).tags or [])
                self._client.write.agents.blocks.detach(block_id, agent_id=agent_id)
        except AgentUnknown:
            owned = True  # detached already, perhaps by a call that ended before it could delete the block
        if owned:
            self._agents.delete_block_if_unused(block_id)

    def _replace(self, agent_id: str, label: str, value: str) -> str | None:
        """Write into the agent's block of this label. Return None if it has none."""
        try:
            with asking(unknown=lambda: agent_unknown(agent_id)):
                changed = self._write(agent_id, label, value)
        except AgentUnknown:
            self._agents.retrieve(agent_id)  # the same 404 says that the agent is gone
            return None
        return changed.id or None

    def _write(self, agent_id: str, label: str, value: str) -> BlockResponse:
        """Write the value. Retry if another write of the same block came between: Letta refuses one of the two."""
        for pause in _PAUSES_S:
            try:
                return self._client.write.agents.blocks.update(label, agent_id=agent_id, value=value)
            except letta_client.ConflictError:
                time.sleep(pause * JITTER.random())
        return self._client.write.agents.blocks.update(label, agent_id=agent_id, value=value)

    def _attach_new(self, agent_id: str, label: str, value: str) -> str:
        limit = max(_SMALLEST_LIMIT, len(value))
        with asking():
            made = self._client.write.blocks.create(label=label, value=value, limit=limit, tags=[OWNED]).id or ""
        try:
            with asking(unknown=lambda: agent_unknown(agent_id), refused=lambda: InvalidArgument("label in use")):
                self._client.write.agents.blocks.attach(made, agent_id=agent_id)
        except (AgentUnknown, InvalidArgument) as error:
            self._agents.delete_block_if_unused(made)
            replaced = self._replace(agent_id, label, value)  # another call attached this label meanwhile (a 409)
            if replaced is None:
                raise PlatformUnavailable("Letta did not attach a block.") from error
            return replaced
        return made
