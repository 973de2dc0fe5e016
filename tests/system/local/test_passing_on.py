"""`dcf agents local` passes the tools, resources and prompts of the server to an agent unchanged."""

import pytest
from mcp.client import Client

from tests.local.helper import ONE_TASK, Connecting
from tests.system.processes.site import Server

pytestmark = [pytest.mark.anyio, pytest.mark.processes]


async def test_an_agent_sees_the_tools_of_the_server_and_those_of_its_machine(
    starting: Connecting, local_server: Server, mode: str
) -> None:
    async with starting(mode=mode) as agent, Client(local_server.url, mode=mode) as direct:
        mine, theirs = await agent.client.list_tools(), await direct.list_tools()
        added = {tool.name for tool in mine.tools} - {tool.name for tool in theirs.tools}
        assert added == {"local_worktree", "local_changes", "local_branch", "local_files", "local_gates"}
        same = {tool.name: tool for tool in mine.tools if tool.name != "update_workflow_control_plane"}
        assert all(same[tool.name] == tool for tool in theirs.tools if tool.name in same)
        assert (await agent.client.list_prompts()).prompts == (await direct.list_prompts()).prompts
        templates = await agent.client.list_resource_templates()
        assert templates.resource_templates == (await direct.list_resource_templates()).resource_templates
        assert (await agent.client.read_resource("dcf://language")).contents
        assert (direct.instructions or "?") in (agent.client.instructions or "")
        await agent.ok("start_run", workflow_json=ONE_TASK)
