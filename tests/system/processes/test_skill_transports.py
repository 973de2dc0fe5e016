"""A skill's tool at a server of each transport: a worker loads the skill, calls the tool, and unloads it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.sse import sse_client

from tests.system.processes.agents.abacuses import MANIFEST, SKILL, TRANSPORTS, command, write_abacus_skill
from tests.system.processes.site import Site, result_of
from tests.tools.calls import Tools

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

AGENT = "adder"
TASK = {"Type": "Task", "End": True, "AgentBinding": {"skills": [SKILL], "agent_ref": {"id": AGENT}}}
WORKFLOW = {
    "workflow_id": "sums",
    "workflow_name": "Sums",
    "version": "1.0.0",
    "skill_imports": [{"uri": "add.json"}],
    "asl": {"StartAt": "Add", "States": {"Add": TASK}},
}
HANDLER = """
async def add(work, tools):
    result = await tools.call("add", {"first": 3, "second": 4})
    assert not result.is_error, result.text
    return result.text
"""


@asynccontextmanager
async def connected(server: dict[str, Any]) -> AsyncIterator[Client]:
    """Connect to a server as an agent does that learned of it."""
    place: Any = server.get("url")
    if server["transport"] == "stdio":
        place = StdioServerParameters(command=server["command"], args=server["args"])
    elif server["transport"] == "sse":
        place = sse_client(server["url"])
    async with Client(place) as client:
        yield client


async def called(server: dict[str, Any]) -> str:
    async with connected(server) as client:
        assert server["tools"] == ["add"]
        result = await client.call_tool("add", {"first": 3, "second": 4})
    (content,) = result.content
    assert content.type == "text"
    return content.text


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_worker_loads_a_skill_calls_its_tool_and_unloads_it(site: Site, transport: str) -> None:
    settings = write_abacus_skill(site, transport)
    async with Client(site.serve("--port", "0", **settings).url) as client:
        tools = await Tools.of(client)
        await tools.ok("start_run", workflow_json=WORKFLOW, agents_map_json={"Add": AGENT})
        event = await tools.ok("await_workflow_event", agent_id=AGENT, timeout_s=50)
        loaded = await tools.ok("load_skill", skill_json=SKILL, agent_id=AGENT)
        (server,) = loaded["mcp_servers"]
        text = await called(server)
        assert text.startswith(f"7 by {TRANSPORTS[transport]} in ")
        holding = {
            "workflow_id": event["event"]["workflow_id"],
            "state": "Add",
            "lease_token": event["work"]["lease_token"],
        }
        await tools.ok("update_workflow_control_plane", **holding, new_status="succeeded", output_json={"said": text})
        unloaded = await tools.ok("unload_skill", manifest_id=MANIFEST, agent_id=AGENT)
        assert unloaded["removed"] == loaded["added"]
        read = await tools.ok("read_workflow_control_plane", workflow_id=holding["workflow_id"])
        assert read["meta"]["status"] == "succeeded"
        assert (await tools.ok("get_my_assignment", agent_id=AGENT))["tools"] == []


@pytest.mark.parametrize("transport", ["streamable_http", "stdio", "sse"])
def test_a_hosted_agent_calls_the_tool_of_its_skill(site: Site, transport: str) -> None:
    settings = write_abacus_skill(site, transport)
    (site.folder / "handlers.py").write_text(HANDLER)
    own = f"[agents.{AGENT}.servers.abacus_add]\ncommand = {json.dumps(command())}\n" if transport == "stdio" else ""
    (site.folder / "agents.toml").write_text(f'[agents.{AGENT}]\nhandler = "handlers.py:add"\n{own}')
    (site.folder / "sums.json").write_text(json.dumps(WORKFLOW))
    more = ("--agents", str(site.folder / "agents.toml"), "--direct", "--json")
    result, code = result_of(site.dcf("run", str(site.folder / "sums.json"), *more, **settings))
    assert code == 0, result
    assert result["output"].startswith(f"7 by {TRANSPORTS[transport]} in ")
