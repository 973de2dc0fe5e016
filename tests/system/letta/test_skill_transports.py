"""A skill of a tool over each transport, or in Python: an agent on a real Letta loads it, calls it, unloads it."""

from collections.abc import Callable
from typing import Any

import pytest
from letta_client import Letta
from mcp.client import Client

from tests.system.letta.conftest import Hire
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.model import HANDLE, Conversation, Reply, ScriptedModel, say, use
from tests.system.processes.agents.abacuses import MANIFEST, SKILL, write_abacus_skill, write_skill
from tests.system.processes.conftest import site
from tests.system.processes.site import Site
from tests.tools.calls import Tools

__all__ = ["site"]

pytestmark = [pytest.mark.letta, pytest.mark.anyio, pytest.mark.timeout(600)]

SOURCE = '''
def {name}(first: int, second: int) -> str:
    """Add two numbers.

    Args:
        first (int): One number.
        second (int): The other.
    """
    return str(first + second) + " by Python"
'''


def served(site: Site, letta: LettaServer, **settings: str) -> Client:
    """Start a dcf with Letta as its platform; return a client of it."""
    where = {"LETTA_BASE_URL": letta.url, "LETTA_MODEL": HANDLE, "DCF_PROFILE": "all"}
    return Client(site.serve("--port", "0", **where, **settings).url)


def adding(name: str) -> Callable[[Conversation], Reply | None]:
    """A mind that adds once, and then says so."""

    def mind(seen: Conversation) -> Reply | None:
        if name not in seen.tools:
            return say("I cannot add.")
        return say("Done.") if seen.results else use(name, first=3, second=4)

    return mind


async def uses_skill(client: Client, raw: Letta, model: ScriptedModel, agent: str, name: str) -> str:
    """Load the skill, let the agent work, unload the skill; return what the tool said."""
    model.minds.append(adding(name))
    async with client:
        tools = await Tools.of(client)
        loaded = await tools.ok("load_skill", skill_json=SKILL, agent_id=agent)
        assert len(loaded["added"]["tool_ids"]) == 1
        raw.agents.messages.create(agent, messages=[{"role": "user", "content": "Add."}])
        (result,) = model.log[-1].conversation.results
        unloaded = await tools.ok("unload_skill", manifest_id=MANIFEST, agent_id=agent)
        assert unloaded["removed"] == loaded["added"]
    assert list(raw.agents.tools.list(agent, limit=1000).items) == []
    raw.agents.messages.create(agent, messages=[{"role": "user", "content": "Add."}])
    assert model.log[-1].reply == say("I cannot add.")
    return result.text


@pytest.mark.parametrize(
    ("transport", "shown"), [("streamable_http", "streamable-http"), ("stdio", "stdio"), ("ws/sse", "sse")]
)
async def test_an_agent_calls_the_tool_of_a_skill_over_its_transport(
    site: Site,
    letta_server: LettaServer,
    raw: Letta,
    hired: Hire,
    model: ScriptedModel,
    mark: str,
    transport: str,
    shown: str,
) -> None:
    name = f"add_{mark}"
    client = served(site, letta_server, **write_abacus_skill(site, transport, name))
    assert f"7 by {shown} in " in await uses_skill(client, raw, model, hired(), name)


@pytest.mark.parametrize("allowed", [True, False])
async def test_python_source_of_a_skill_runs_only_where_its_switch_is_on(
    site: Site, letta_server: LettaServer, raw: Letta, hired: Hire, model: ScriptedModel, mark: str, allowed: bool
) -> None:
    name, agent = f"add_{mark}", hired()
    definition = {"type": "python_source", "sourceCode": SOURCE.format(name=name)}
    needed: dict[str, Any] = {"toolName": name, "description": "Add two numbers.", "definition": definition}
    settings = write_skill(site, needed) | ({"ALLOW_PYTHON_SOURCE_SKILLS": "true"} if allowed else {})
    client = served(site, letta_server, **settings)
    if allowed:
        assert "7 by Python" in await uses_skill(client, raw, model, agent, name)
        return
    async with client:
        refused = await (await Tools.of(client)).call("load_skill", skill_json=SKILL, agent_id=agent)
    assert refused.code == "forbidden"
    assert raw.tools.list(name=name).items == []
