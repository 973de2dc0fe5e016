"""When a phase of mission-control is complete: all of its agents succeeded, and its outputs are there."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.mission_control.completion import unmet_agents
from dcf.profiles.mission_control.outputs import found_outputs
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.mission_plan import FILES, WORKFLOW_MD
from tests.support.tables import rows
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    scopes = (Scope.READ, Scope.WORK, Scope.PLAN)
    key = site.keys.create(scopes, agent_id=None, label=None, life_s=None, profile="mission-control")
    async with connect(key.text) as connected:
        yield connected


def task(agent: str, status: str, second: int) -> RunUnit:
    doc = {"status": status, "started_at": f"2026-11-29T10:00:{second:02}Z"}
    return RunUnit(run="r", name=f"{agent}-{second}", doc=doc, facts={"group": "phase-1"}, given={"agent_name": agent})


@rows(
    ("planned", "tasks", "unmet"),
    [
        (["a"], [task("a", "succeeded", 1)], []),
        (["a"], [], ["a"]),
        (["a"], [task("a", "failed", 1)], ["a"]),
        (["a"], [task("a", "failed", 1), task("a", "succeeded", 2)], []),
        (["a"], [task("a", "failed", 1), task("a-2", "succeeded", 2)], []),
        (["a"], [task("a", "succeeded", 1), task("a", "failed", 2)], ["a"]),
        (["a", "a"], [task("a", "succeeded", 1)], ["a"]),
        (["a", "a"], [task("a", "succeeded", 1), task("a", "failed", 2)], ["a"]),
        (["a", "a"], [task("a", "succeeded", 1), task("a", "failed", 2), task("a", "succeeded", 3)], []),
        (["a", "a"], [task("a", "failed", 1), task("a", "failed", 2), task("a", "succeeded", 3)], ["a"]),
        (["test", "test-writer"], [task("test", "failed", 1), task("test-writer", "succeeded", 2)], ["test"]),
        (["a"], [task("a", "succeeded", 1), task("helga", "failed", 2)], ["helga"]),
        ([], [task("helga", "succeeded", 2)], []),
    ],
)
def test_all_agents_succeed_if_each_has_a_success_and_each_failure_was_made_good(
    planned: list[str], tasks: list[RunUnit], unmet: list[str]
) -> None:
    assert unmet_agents(planned, tasks) == unmet


def test_outputs_are_files_or_globs_below_the_project_and_nothing_else(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs/a.md").write_text("a")
    (tmp_path / "outside.md").write_text("o")
    outputs = [
        "docs/a.md",
        "docs",
        "docs/*.md",
        "docs/b.md",
        "*.txt",
        "../outside.md",
        str(tmp_path / "outside.md"),
        ".",
    ]
    assert found_outputs(project, outputs) == ["docs/a.md", "docs", "docs/*.md"]


async def phase_done(client: ProfileClient, workflow: str, **more: Any) -> str:
    """Return a phase of which both agents succeeded."""
    phase = str((await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"])
    for agent in ("analyzer", "auditor"):
        begun = await client.ok("start_task", phase_id=phase, agent_name=agent)
        outcome = {"summary": "It is."}
        await client.ok("complete_task", task_id=begun["task_id"], status="success", outcome=outcome, **more)
    return phase


async def planned(client: ProfileClient, text: str = WORKFLOW_MD) -> str:
    files = {**FILES, "workflow": text}
    return str((await client.ok("start_workflow", name="shop", workflow_files=files))["workflow_id"])


async def test_a_phase_without_the_outputs_of_its_plan_is_not_completed(client: ProfileClient) -> None:
    workflow = await planned(client)
    phase = await phase_done(client, workflow)
    (row, _) = (await client.ok("get_context", workflow_id=workflow))["phase_summary"]
    assert row["outputs"] == ["report.md"]
    refused = await client.failed("complete_phase", phase_id=phase, status="completed", outputs_found=[])
    assert (refused.json["code"], "report.md" in refused.json["message"]) == ("OUTPUTS_MISSING", True)
    done = await client.ok("complete_phase", phase_id=phase, status="completed", outputs_found=["report.md"])
    assert "warnings" not in done
    again = await client.ok("complete_phase", phase_id=phase, status="completed", outputs_found=[])
    assert again["status"] == "COMPLETED", "what was completed stays so"


async def test_outputs_of_which_nothing_is_known_are_named(client: ProfileClient) -> None:
    phase = await phase_done(client, await planned(client))
    done = await client.ok("complete_phase", phase_id=phase, status="completed")
    assert done["warnings"] == ["It is not known whether outputs of the plan exist: report.md."]


async def test_an_output_that_a_task_reported_as_changed_is_known(client: ProfileClient) -> None:
    changed = {"added": ["report.md"], "modified": [], "deleted": []}
    areas = WORKFLOW_MD.replace("scope: src/catalogue/**", "scope: report.md")
    phase = await phase_done(client, await planned(client, areas), files_changed=changed)
    assert "warnings" not in await client.ok("complete_phase", phase_id=phase, status="completed")


async def test_outputs_of_an_agent_are_outputs_of_its_phase(client: ProfileClient) -> None:
    text = WORKFLOW_MD.replace(
        "        scope: src/prices/**\n", "        scope: src/prices/**\n        outputs: [p.md]\n"
    )
    workflow = await planned(client, text)
    (row, _) = (await client.ok("get_context", workflow_id=workflow))["phase_summary"]
    assert row["outputs"] == ["report.md", "p.md"]


@rows(("status", "word"), [("completed", "succeeded"), ("failed", "failed")])
async def test_a_phase_with_a_failed_task_has_its_status_in_dcf_too(
    site: Application, client: ProfileClient, status: str, word: str
) -> None:
    """It is not open until the end of the run, and cancelled with it."""
    workflow = str((await client.ok("start_workflow", name="plain"))["workflow_id"])
    phase = (await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"]
    begun = await client.ok("start_task", phase_id=phase, agent_name="ada")
    await client.ok("complete_task", task_id=begun["task_id"], status="failed", outcome={"summary": "No way."})
    await client.ok("complete_phase", phase_id=phase, status=status)
    await client.ok("complete_workflow", workflow_id=workflow, status="partial")
    states = (await ask(site, key_of(Scope.READ), "read_workflow_control_plane", workflow_id=workflow))["states"]
    assert states["phase-1"]["status"] == word


async def test_what_a_task_failed_with_begins_with_its_summary(site: Application, client: ProfileClient) -> None:
    workflow = str((await client.ok("start_workflow", name="plain"))["workflow_id"])
    phase = (await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"]
    begun = await client.ok("start_task", phase_id=phase, agent_name="ada", areas=["src"])
    files = {"added": [f"src/{'long' * 20}/{number}.py" for number in range(900)], "modified": [], "deleted": []}
    outcome = {"summary": "No way.\nNot at all.", "limitations": ["x"]}
    call = {"task_id": begun["task_id"], "status": "failed", "outcome": outcome, "files_changed": files}
    ended = await client.twice("complete_task", **call)
    assert ended["files_changed"]["added"] == files["added"][:25], "the first of too many files"
    (task,) = (await client.ok("get_context", workflow_id=workflow))["tasks"]
    assert (task["status"], task["summary"]) == ("FAILED", outcome["summary"])
    states = (await ask(site, key_of(Scope.READ), "read_workflow_control_plane", workflow_id=workflow))["states"]
    (unit,) = [doc for name, doc in states.items() if name != "phase-1"]
    assert unit["last_error"].startswith("TaskFailed: No way.\n")


async def test_a_phase_that_ended_with_its_workflow_has_the_time_of_its_end(client: ProfileClient) -> None:
    workflow = str((await client.ok("start_workflow", name="plain"))["workflow_id"])
    phase = (await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"]
    await client.ok("start_task", phase_id=phase, agent_name="ada")
    await client.ok("complete_workflow", workflow_id=workflow, status="failed")
    (row,) = (await client.ok("get_context", workflow_id=workflow))["phase_summary"]
    assert (row["status"], row["completed_at"] is None) == ("FAILED", False)
