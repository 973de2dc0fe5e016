"""Mission Control's tools through the helper: it reads the files of a workflow, and tells what a task changed."""

from functools import partial
from typing import Any

import pytest

from tests.local.helper import Agent, Connecting
from tests.profiles.mission_plan import DEFINITION_MD, WORKFLOW_MD
from tests.system.local.conftest import Repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(repository: Repository) -> Repository:
    repository.write(".claude/workflows/shop/workflow.md", WORKFLOW_MD)
    repository.write(".claude/workflows/shop/definition.md", DEFINITION_MD)
    for agent in ("analyzer", "auditor"):
        repository.write(f".claude/agents/{agent}.md", f"---\nname: {agent}\n---\nWork.\n")
    repository.write("src/catalogue/old.py", "old\n")
    repository.commit("workflow")
    return repository


@pytest.fixture
def helping(connecting: Connecting) -> Connecting:
    """Connects an agent to a helper with Mission Control's tools, for a directory."""
    return partial(connecting, profile="mission-control")


async def started(agent: Agent, name: str = "shop") -> tuple[str, str]:
    workflow = (await agent.call("start_workflow", name=name, objective="Sell"))["workflow_id"]
    phase = await agent.call("start_phase", workflow_id=workflow, number=1, name="Analysis")
    return workflow, phase["phase_id"]


async def task_of(agent: Agent, workflow: str, phase: str, **more: Any) -> Any:
    details = {"caller_type": "subagent", "agent_name": "analyzer", "name": "Analyze", "goal": "See."}
    return await agent.call("start_task", workflow_id=workflow, phase_id=phase, **details, **more)


async def done(agent: Agent, task: Any) -> Any:
    outcome = {"summary": "It is."}
    return await agent.call("complete_task", task_id=task["task_id"], status="success", outcome=outcome)


async def test_the_plan_of_the_directory_is_taken(helping: Connecting, project: Repository) -> None:
    async with helping(project.root) as agent:
        workflow, _ = await started(agent)
        early = await agent.call("start_phase", workflow_id=workflow, number=2, name="Change")
        assert early["code"] == "PHASE_REQUIRED"
        other, _ = await started(agent, "not-a-directory")
        assert (await agent.call("start_phase", workflow_id=other, number=2, name="Change"))["status"] == "IN_PROGRESS"
        project.write(".claude/workflows/shop/workflow.md", WORKFLOW_MD.replace("requires: 1", "requires: 7"))
        refused = await agent.call("start_workflow", name="shop")
        assert refused["reason"] == "invalid_workflow"


async def test_what_a_task_changed_is_told_and_compared_with_its_areas(
    helping: Connecting, project: Repository
) -> None:
    project.write("notes.txt", "dirty before\n")
    async with helping(project.root) as agent:
        workflow, phase = await started(agent)
        task = await task_of(agent, workflow, phase)
        assert (task["snapshot_type"], task["snapshot_id"]) == ("git", project.git("rev-parse", "HEAD"))
        project.write("src/catalogue/new.py", "new\n")
        project.git("mv", "src/catalogue/old.py", "src/catalogue/older.py")
        project.write("README.md", "changed\n")
        ended = await done(agent, task)
    assert ended["files_changed"] == {
        "added": ["src/catalogue/new.py", "src/catalogue/older.py"],
        "modified": ["README.md"],
        "deleted": ["src/catalogue/old.py"],
    }
    assert ended["verification"]["scope_match"] is False
    assert ended["verification"]["unexpected_files"] == ["README.md"]


async def test_without_a_repository_what_changed_is_unknown(helping: Connecting, project: Repository) -> None:
    (project / ".git").rename(project / "elsewhere")
    async with helping(project.root) as agent:
        workflow, phase = await started(agent)
        ended = await done(agent, await task_of(agent, workflow, phase))
    assert ended["verification"]["scope_match"] is None
    assert ended["files_changed"] == {"added": [], "modified": [], "deleted": []}


async def test_the_end_of_a_phase_looks_for_the_outputs_of_its_plan(helping: Connecting, project: Repository) -> None:
    async with helping(project.root) as agent:
        workflow, phase = await started(agent)
        for name in ("analyzer", "auditor"):
            await done(agent, await agent.call("start_task", phase_id=phase, agent_name=name))
        missing = await agent.call("complete_phase", phase_id=phase, status="completed")
        assert (missing["code"], "report.md" in missing["message"]) == ("OUTPUTS_MISSING", True)
        project.write("report.md", "Known.\n")
        assert (await agent.call("complete_phase", phase_id=phase, status="completed"))["status"] == "COMPLETED"
        assert (await agent.call("get_context", workflow_id=workflow))["workflow_status"] == "IN_PROGRESS"


async def test_agents_in_one_worktree_are_not_told_the_files_of_each_other(
    helping: Connecting, project: Repository
) -> None:
    async with helping(project.root) as agent, helping(project.root) as other:
        workflow, phase = await started(agent)
        first = await task_of(agent, workflow, phase)
        second = await other.call("start_task", phase_id=phase, agent_name="auditor")
        project.write("src/catalogue/new.py", "new\n")
        project.write("src/prices/new.py", "new\n")
        ended = await done(agent, first), await done(other, second)
    assert [answer["files_changed"]["added"] for answer in ended] == [["src/catalogue/new.py"], ["src/prices/new.py"]]
    assert [answer["verification"]["scope_match"] for answer in ended] == [True, True]


async def test_a_workflow_of_another_directory_is_started_with_a_warning(
    helping: Connecting, project: Repository
) -> None:
    async with helping(project.root) as agent:
        begun = await agent.call("start_workflow", name="shpo")
        assert "Workflows there: shop" in begun["warnings"][0]
        assert (await agent.call("start_workflow"))["objective"] == "Sell in zloty.", "the only one"


async def test_files_that_cannot_be_read_are_reported_as_the_profile_reports(
    helping: Connecting, project: Repository
) -> None:
    (project / ".claude/workflows/shop/workflow.md").write_bytes(b"\xff")
    async with helping(project.root) as agent:
        refused = await agent.call("start_workflow", name="shop")
    assert (refused["error"], refused["code"], refused["reason"]) == (True, "VALIDATION_ERROR", "invalid_argument")
