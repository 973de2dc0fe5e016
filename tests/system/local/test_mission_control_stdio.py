"""`dcf serve --profile mission-control` over stdio, started in a project: its document followed by a real client."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.profiles.clients import ProfileClient
from tests.profiles.mission_plan import DEFINITION_MD, WORKFLOW_MD

pytestmark = pytest.mark.anyio


def project_in(folder: Path, repository: Path | None = None) -> Path:
    """A project with the workflow of the document and its agents: a repository, or a directory of one."""
    workflow, agents = folder / ".claude/workflows/shop", folder / ".claude/agents"
    workflow.mkdir(parents=True)
    agents.mkdir()
    (workflow / "workflow.md").write_text(WORKFLOW_MD)
    (workflow / "definition.md").write_text(DEFINITION_MD)
    for agent in ("analyzer", "auditor"):
        (agents / f"{agent}.md").write_text(f"---\nname: {agent}\n---\nWork.\n")
    own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "first")):
        subprocess.run(["git", *own, *words], cwd=repository or folder, check=True)
    return folder


@asynccontextmanager
async def served(directory: Path, data: Path, profile: str = "mission-control") -> AsyncIterator[ProfileClient]:
    """A client of a server of its own, started in a directory."""
    env = {**os.environ, "DCF_DATA_DIR": str(data)}
    arguments = ["-m", "dcf", "serve", "--profile", profile]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=directory)
    async with Client(stdio_client(server)) as connected:
        yield ProfileClient(client=connected)


async def test_the_files_of_the_current_directory_are_read(tmp_path: Path, short_directory: Path) -> None:
    async with served(project_in(tmp_path / "project"), short_directory / "data") as client:
        begun = await client.ok("start_workflow", name="shop")
        assert (begun["objective"], begun["total_phases"]) == ("Sell in zloty.", 2)
        early = await client.failed("start_phase", workflow_id=begun["workflow_id"], number=2, name="Change")
        assert early.json["code"] == "PHASE_REQUIRED"
        plain = await client.ok("start_workflow", name="another")
        assert (await client.ok("start_phase", workflow_id=plain["workflow_id"], number=2, name="C"))["phase_id"]
        assert "Workflows there: shop" in plain["warnings"][0]


async def test_the_profile_may_be_written_as_a_name_of_python(tmp_path: Path, short_directory: Path) -> None:
    async with served(tmp_path, short_directory / "data", "mission_control") as client:
        assert "start_phase" in {tool.name for tool in (await client.client.list_tools()).tools}


async def test_scope_and_outputs_are_checked_over_stdio_too(tmp_path: Path, short_directory: Path) -> None:
    project = project_in(tmp_path / "project")
    async with served(project, short_directory / "data") as client:
        begun = await client.ok("start_workflow")
        read = await client.ok("get_context")
        assert read["workflow_id"] == begun["workflow_id"], "of the workflows in progress that of this directory"
        phase = (await client.ok("start_phase", workflow_id=read["workflow_id"], number=1))["phase_id"]
        first = await client.ok("start_task", phase_id=phase, agent_name="analyzer")
        assert first["snapshot_type"] == "git"
        (project / "src").mkdir()
        (project / "src/other.py").write_text("new")
        success = {"status": "success", "outcome": {"summary": "Known."}}
        ended = await client.ok("complete_task", task_id=first["task_id"], **success)
        assert ended["files_changed"]["added"] == ["src/other.py"]
        assert ended["verification"]["unexpected_files"] == ["src/other.py"]
        second = await client.ok("start_task", phase_id=phase, agent_name="auditor")
        await client.ok("complete_task", task_id=second["task_id"], **success)
        missing = await client.failed("complete_phase", phase_id=phase, status="completed")
        assert missing.json["code"] == "OUTPUTS_MISSING"
        (project / "report.md").write_text("Known.")
        await client.ok("complete_phase", phase_id=phase, status="completed")
        (project / ".claude/workflows/shop/workflow.md").write_bytes(b"\xff")
        unread = await client.failed("start_workflow")
        assert (unread.json["code"], unread.json["error"]) == ("VALIDATION_ERROR", True)


async def test_paths_are_those_seen_from_a_project_below_its_repository(tmp_path: Path, short_directory: Path) -> None:
    project = project_in(tmp_path / "all/shop", tmp_path / "all")
    async with served(project, short_directory / "data") as client:
        workflow = (await client.ok("start_workflow"))["workflow_id"]
        phase = (await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"]
        task = await client.ok("start_task", phase_id=phase, agent_name="analyzer")
        (project / "src/catalogue").mkdir(parents=True)
        (project / "src/catalogue/new.py").write_text("new")
        (tmp_path / "all/other.md").write_text("new")
        outcome = {"summary": "Known."}
        ended = await client.ok("complete_task", task_id=task["task_id"], status="success", outcome=outcome)
    assert ended["files_changed"]["added"] == ["../other.md", "src/catalogue/new.py"]
    assert ended["verification"]["unexpected_files"] == ["../other.md"]
