"""`dcf serve --profile mission-control` over stdio, started in a project: its document followed by a real client."""

import os
import sys
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.profiles.clients import ProfileClient
from tests.profiles.mission_plan import DEFINITION_MD, WORKFLOW_MD

pytestmark = pytest.mark.anyio


async def test_the_files_of_the_current_directory_are_read(tmp_path: Path, short_directory: Path) -> None:
    project = tmp_path / "project"
    folder, agents = project / ".claude/workflows/shop", project / ".claude/agents"
    folder.mkdir(parents=True)
    agents.mkdir()
    (folder / "workflow.md").write_text(WORKFLOW_MD)
    (folder / "definition.md").write_text(DEFINITION_MD)
    for agent in ("analyzer", "auditor"):
        (agents / f"{agent}.md").write_text(f"---\nname: {agent}\n---\nWork.\n")
    env = {**os.environ, "DCF_DATA_DIR": str(short_directory / "data")}
    arguments = ["-m", "dcf", "serve", "--profile", "mission-control"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=project)
    async with Client(stdio_client(server)) as connected:
        client = ProfileClient(client=connected)
        begun = await client.ok("start_workflow", name="shop")
        assert (begun["objective"], begun["total_phases"]) == ("Sell in zloty.", 2)
        early = await client.failed("start_phase", workflow_id=begun["workflow_id"], number=2, name="Change")
        assert early.json["code"] == "PHASE_REQUIRED"
        plain = await client.ok("start_workflow", name="another")
        assert (await client.ok("start_phase", workflow_id=plain["workflow_id"], number=2, name="C"))["phase_id"]
