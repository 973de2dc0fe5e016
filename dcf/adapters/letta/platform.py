"""Implements the ports of a platform for Letta: each method is that of the module which does the work."""

import re
from types import TracebackType
from typing import Final, Self

from dcf.adapters.letta.agents import Agents
from dcf.adapters.letta.blocks import Blocks
from dcf.adapters.letta.client import LettaClient
from dcf.adapters.letta.deliveries import Deliveries, LocalDeliveries
from dcf.adapters.letta.messages import Messages
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.tools import Tools
from dcf.ports import Platform

KIND: Final = "letta"
_OWN_ID: Final = re.compile(r"agent-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class LettaPlatform:
    """Delivers to agents on a Letta server, makes and equips them. Thread-safe; connects when it is first used."""

    kind = KIND
    is_remote = True
    tools_at_once = False

    def __init__(self, options: LettaOptions, deliveries: Deliveries | None = None) -> None:
        self._client = client = LettaClient(options)
        tools = Tools(client, options)
        agents = Agents(client, tools, options)
        blocks = Blocks(client, agents)
        self.close = client.close
        self.deliver = Messages(client, deliveries or LocalDeliveries(), options).deliver
        self.create_agent = agents.create
        self.find_agents = agents.find
        self.retrieve_agent = agents.retrieve
        self.delete_agent = agents.delete
        self.tools_of = agents.tools_of
        self.add_text = blocks.add
        self.remove_text = blocks.remove
        self.attach_tool = tools.attach
        self.detach_tool = tools.detach
        self.apply = agents.recompile
        self.lift_return_limits = tools.lift_return_limits

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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


def is_own_id(agent_id: str) -> bool:
    """Return True if the id has the form that Letta gives its agents."""
    return _OWN_ID.match(agent_id) is not None
