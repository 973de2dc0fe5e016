"""The flow of the seed: an orchestrator opens phases, two sub-agents work at once; dcf reads it."""

from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.tools.access import PLANNER, ask, key_of

pytestmark = pytest.mark.anyio


async def test_a_workflow_is_carried_out_by_two_agents_and_dcf_reads_it(site: Application, connect: Connect) -> None:
    key = site.keys.create(PLANNER, agent_id=None, label=None, life_s=None, profile="mission-control").text
    async with connect(key) as orchestrator, connect(key) as helper:
        opened = await orchestrator.ok("start_workflow", name="Shop", objective="Sell", profile="Simple")
        assert (opened["profile"], opened["total_phases"]) == ("SIMPLE", 2)
        workflow = opened["workflow_id"]
        phase = await orchestrator.ok("start_phase", workflow_id=workflow, number=1, name="Analysis", is_parallel=True)
        again = await helper.ok("start_phase", workflow_id=workflow, number=1, name="Analysis")
        assert again["already_exists"]
        assert again["phase_id"] == phase["phase_id"]
        catalogue, prices = await _begin(helper, workflow, phase["phase_id"])
    async with connect(key) as orchestrator, connect(key) as helper:
        await _log(helper, catalogue)
        await _end_first_phase(helper, orchestrator, catalogue, prices, phase["phase_id"])
        context = await orchestrator.ok(
            "get_context",
            workflow_id=workflow,
            include=["tasks", "decisions", "milestones", "blockers", "phase_summary"],
        )
        assert [task["status"] for task in context["tasks"]] == ["PARTIAL_SUCCESS", "SUCCESS"]
        assert context["decisions"][0]["options_considered"] == ["Redis", "files"]
        assert context["phase_summary"][0]["tasks"] == {"total": 2, "completed": 2, "failed": 0, "in_progress": 0}
        ended = await orchestrator.twice(
            "complete_workflow", workflow_id=workflow, status="partial", summary="Half.", limitations=["no tests"]
        )
        assert ended["status"] == "PARTIAL"
        assert ended["metrics"]["total_tokens"] == 1500
    await _read_with_dcf(site, workflow)


async def _begin(helper: ProfileClient, workflow: str, phase: str) -> tuple[str, str]:
    async def begin(agent: str, name: str, areas: list[str]) -> dict[str, Any]:
        task: dict[str, Any] = await helper.twice(
            "start_task",
            workflow_id=workflow,
            phase_id=phase,
            caller_type="subagent",
            agent_name=agent,
            name=name,
            goal=f"Look at {name}.",
            areas=areas,
        )
        return task

    catalogue, prices = await begin("ada", "Catalogue", ["src/catalogue"]), await begin("bob", "Prices", ["src/prices"])
    assert (catalogue["phase_number"], catalogue["phase_name"], catalogue["agent_name"]) == (1, "Analysis", "ada")
    return catalogue["task_id"], prices["task_id"]


async def _log(helper: ProfileClient, task: str) -> None:
    await helper.twice("log_milestone", task_id=task, message="Read everything", progress=50)
    await helper.twice(
        "log_decision",
        task_id=task,
        category="architecture",
        question="Where is it kept?",
        options_considered=["Redis", "files"],
        chosen="Redis",
        reasoning="It is there.",
    )
    await helper.twice("log_issue", task_id=task, type="documentation_gap", description="No docs.", resolution="Wrote")


async def _end_first_phase(
    helper: ProfileClient, orchestrator: ProfileClient, catalogue: str, prices: str, phase: str
) -> None:
    done = await helper.twice(
        "complete_task",
        task_id=catalogue,
        status="partial_success",
        outcome={"summary": "Most of it.", "limitations": ["no prices"]},
        metadata={"tokens_input": 1000, "tokens_output": 500},
        files_changed={"added": ["src/catalogue/new.py"], "modified": ["README.md"], "deleted": []},
    )
    assert done["verification"]["unexpected_files"] == ["README.md"]
    refused = await orchestrator.failed("complete_phase", phase_id=phase, status="completed")
    assert "in progress" in refused.text
    await helper.twice("complete_task", task_id=prices, status="success", outcome={"summary": "All."})
    ended = await orchestrator.twice("complete_phase", phase_id=phase, status="completed", summary="Known.")
    assert ended["tasks"] == {"total": 2, "success": 1, "partial": 1, "failed": 0, "in_progress": 0}


async def _read_with_dcf(site: Application, workflow: str) -> None:
    reader = key_of(Scope.READ)
    read = await ask(site, reader, "read_workflow_control_plane", workflow_id=workflow)
    assert (read["meta"]["title"], read["meta"]["status"]) == ("Shop", "partial")
    journal = await ask(site, reader, "read_journal", workflow_id=workflow)
    assert {entry["kind"] for entry in journal["entries"]} >= {"milestone", "decision", "issue"}
