"""Letta as a platform for the tests of all platforms: a real server, and MCP servers with the tools they wish for."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from letta_client import Letta

from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.ports import AgentWish, ToolWish
from tests.platforms.conftest import Site
from tests.platforms.deliverers import DeliverySite
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.mcp_servers import mcp_service
from tests.system.letta.model import HANDLE, ScriptedModel
from tests.system.letta.waiting import NOBODY, wait_until_idle

ORDERS = (
    *("verify", "extra", "third", "theirs", "web_fetch", "shared", "other", "a", "b", "c", "t", "one", "two"),
    *(f"own-{number}" for number in range(8)),
)
AGENT: dict[str, Any] = {"id": "agent-0", "name": "worker", "block_ids": ["block-0"], "tool_ids": ["tool-0"]}
BUNDLE: dict[str, Any] = {
    "blocks": [{"id": "block-0", "label": "persona", "value": "You are a worker."}],
    "tools": [{"id": "tool-0", "name": "acquire_state_lease", "tool_type": "external_mcp", "tags": ["mcp:dcf"]}],
}


@contextmanager
def letta_site(server: LettaServer) -> Iterator[Site]:
    """Connect to the server, and serve the tools."""
    with ExitStack() as stack:
        dcf = stack.enter_context(mcp_service("dcf", "acquire_state_lease"))
        orders = stack.enter_context(mcp_service("orders", *ORDERS))
        raw = stack.enter_context(Letta(base_url=server.url, api_key="none"))
        options = LettaOptions(base_url=server.url, model=HANDLE, mcp_servers={"dcf": dcf.entry})
        platform = stack.enter_context(LettaPlatform(options))

        def attachable(name: str) -> ToolWish:
            definition = {"type": "mcp_server", "serverId": "orders", "toolName": name}
            return ToolWish(name=name, definition=definition, server=orders.entry)

        yield Site(
            platform=platform,
            agent=AGENT,
            bundle=BUNDLE,
            attachable=attachable,
            missing=attachable("never"),
            blocks=lambda agent: {
                block.label or "": block.value for block in raw.agents.blocks.list(agent, limit=1000)
            },
            tool_names=lambda agent: sorted(str(tool.name) for tool in raw.agents.tools.list(agent, limit=1000).items),
            registry={
                "servers": {
                    "orders": {"transport": "streamable_http", "url": orders.url},
                    "pricing": {"transport": "streamable_http", "url": orders.url},
                }
            },
        )


@contextmanager
def letta_deliveries(server: LettaServer, model: ScriptedModel) -> Iterator[DeliverySite]:
    """Agents that answer every message; their messages are those that their model saw."""
    with ExitStack() as stack:
        raw = stack.enter_context(Letta(base_url=server.url, api_key="none"))
        platform = stack.enter_context(LettaPlatform(LettaOptions(base_url=server.url, model=HANDLE)))
        made: list[str] = []

        def agent() -> str:
            made.append(platform.create_agent(AgentWish(name="test", instructions="You are told things.")))
            return made[-1]

        def got(agent_id: str) -> list[Mapping[str, Any]]:
            wait_until_idle(raw, agent_id)
            seen = [exchange.conversation.event for exchange in list(model.log)]
            return [event for event in seen if event.get("agent_id") == agent_id]

        yield DeliverySite(deliverer=platform, agent=agent, gone=lambda: NOBODY, got=got)
        for item in made:
            platform.delete_agent(item)
