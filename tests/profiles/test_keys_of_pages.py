"""Agents with keys of their own share a run, by the commands of the page of each profile, with real clients."""

import json
import re
import secrets
import shlex
from typing import Any

import pytest

from dcf.application.application import Application
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.test_deepwork import register
from tests.profiles.test_midex import PHASES, STEP_OUTPUT, WORKFLOW_OUTPUT, defined
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.anyio

_COMMAND = re.compile(r"^dcf (keys add .*)$", re.MULTILINE)


def keys_of(site: Application, page: str) -> dict[str, list[str]]:
    """Run the commands of a page that make keys; return the keys by agent id."""
    made: dict[str, list[str]] = {}
    for command in _COMMAND.findall((ROOT / "docs/reference/compatibility" / page).read_text("utf-8")):
        result = call(*shlex.split(command, comments=True), "--json", REDIS_URL=str(site.redis_url))
        assert result.exit_code == 0, result.output
        row = json.loads(result.stdout)
        made.setdefault(row["agent_id"], []).append(row["key"])
    return made


async def completed(client: ProfileClient, step: dict[str, Any], **more: Any) -> str:
    answer = await client.twice("complete_step", stepId=step["id"], **({"output": STEP_OUTPUT} | more))
    return str(answer["state"])


async def test_midex_members_start_and_complete_steps_with_keys_of_their_own(
    site: Application, connect: Connect
) -> None:
    made, name = keys_of(site, "midex.md"), f"ship-{secrets.token_hex(4)}"
    await defined(site, "workflow", name, "# Ship", attributes_json={"phases": PHASES})
    crew, analyst, helga = (connect(made[agent][0]) for agent in ("crew", "analyst", "helga"))
    async with crew as orchestrator, analyst as item, helga as other:
        run = (await orchestrator.ok("start_execution", workflowName=name))["id"]
        await orchestrator.twice("transition_workflow_state", executionId=run, newState="running")
        look = await item.twice("start_step", executionId=run, stepName="look", phaseName="analysis")
        assert await completed(item, look) == "completed", "a phase names its agent"
        refused = await other.failed("start_step", executionId=run, stepName="help")
        assert "'helga' is no member" in refused.text
        assert 'members ["helga"]' in refused.text
        for state in ("running", "running"):
            added = {"executionId": run, "newState": state, "members": ["helga"]}
            assert await orchestrator.twice("transition_workflow_state", **added) == {"success": True}
        helped = await other.twice("start_step", executionId=run, stepName="help", dependsOn=[look["id"]])
        assert await completed(other, helped) == "completed"
        begun = await orchestrator.ok("start_step", executionId=run, stepName="build")
        assert await completed(other, begun, output=None, error="No compiler.") == "failed"
        again = await item.ok("start_step", executionId=run, stepName="build")
        assert await completed(orchestrator, again) == "completed", "the step of a member"
        await other.twice("store_artifact", executionId=run, name="notes.md", contentType="markdown", content="# Notes")
        await other.failed("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
        await orchestrator.twice("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
        details = await item.ok("get_execution_details", executionId=run)
        assert [(step["stepName"], step["state"]) for step in details["steps"]] == [
            (step, "completed") for step in ("look", "help", "build")
        ]


async def test_midex_step_is_not_completed_by_an_agent_that_is_no_member(site: Application, connect: Connect) -> None:
    made = keys_of(site, "midex.md")
    async with connect(made["crew"][0]) as orchestrator, connect(made["helga"][0]) as stranger:
        run = (await orchestrator.ok("start_execution", workflowName="alone"))["id"]
        await orchestrator.ok("transition_workflow_state", executionId=run, newState="running")
        begun = await orchestrator.ok("start_step", executionId=run, stepName="look")
        await stranger.failed("complete_step", stepId=begun["id"], output=STEP_OUTPUT)
        wrong = await orchestrator.failed(
            "transition_workflow_state", executionId=run, newState="running", members=["no agent"]
        )
        assert "'no agent' is no agent id" in wrong.text
        odd = await orchestrator.ok("start_step", executionId=run, stepName="~members")
        assert await completed(orchestrator, odd) == "completed", "a step may have the name of the group"
        assert await completed(orchestrator, begun) == "completed"


async def test_mission_control_members_start_and_complete_tasks_with_keys_of_their_own(
    site: Application, connect: Connect
) -> None:
    made, profile = keys_of(site, "mission-control.md"), "mission-control"
    orchestrator, analyzer = (connect(made[agent][0], profile) for agent in ("orchestrator", "analyzer"))
    async with orchestrator as lead, analyzer as member:
        workflow = (await lead.ok("start_workflow", name="shop", objective="Sell.", profile="standard"))["workflow_id"]
        phase = {"workflow_id": workflow, "number": 1, "name": "Analysis"}
        begun = await lead.ok("start_phase", **phase)
        details = {"caller_type": "subagent", "agent_name": "analyzer", "name": "Look", "goal": "Look at it."}
        wish = {"workflow_id": workflow, "phase_id": begun["phase_id"], **details}
        assert (await member.failed("start_task", **wish)).json["code"] == "FORBIDDEN"
        assert (await lead.ok("start_phase", **phase, members=["analyzer"]))["already_exists"]
        task = await member.ok("start_task", **wish)
        outcome = {"summary": "It is."}
        done = await member.ok("complete_task", task_id=task["task_id"], status="success", outcome=outcome)
        assert done["task_id"] == task["task_id"]
        await lead.ok("complete_phase", phase_id=begun["phase_id"], status="completed")
        closed = await lead.ok("complete_workflow", workflow_id=workflow, status="completed", summary="All.")
        assert (closed["status"], closed["metrics"]["total_tasks"]) == ("COMPLETED", 1)


async def test_deepwork_keys_of_one_agent_share_a_run_and_a_reviewer_judges_it(
    site: Application, connect: Connect
) -> None:
    made, more = keys_of(site, "deepwork.md"), keys_of(site, "deepwork.md")
    wish = {"goal": secrets.token_hex(4), "job_name": "competitive_research", "workflow_name": "full_analysis"}
    async with connect(made["ada"][0]) as first, connect(more["ada"][0]) as second, connect(made["rita"][0]) as rita:
        await register(first)
        await first.ok("start_workflow", **wish)
        after = await second.ok("finished_step", outputs=["competitors.md"])
        assert after["begin_step"]["step_id"] == "interviews"
        waits = (await first.ok("finished_step", outputs=["interviews.md"]))["waits_for_review"]
        text = (await rita.answer("get_review_instructions")).text
        (review,) = (result for result in re.findall(r"Review (\S+)", text) if waits["workflow_id"] in result)
        own = await second.failed("mark_review_as_passed", review_id=review)
        assert "cannot review it" in own.text
        assert not (await rita.answer("mark_review_as_passed", review_id=review)).failed
        assert (await second.ok("finished_step", outputs=["interviews.md"]))["begin_step"]["step_id"] == "numbers"


async def test_openfactory_agents_share_the_orders_of_a_project_with_keys_of_their_own(
    site: Application, connect: Connect
) -> None:
    made, title = keys_of(site, "openfactory.md"), f"Fix {secrets.token_hex(4)}"
    ada, bob, rita, paul = (connect(made[agent][0]) for agent in ("ada", "bob", "rita", "paul"))
    async with ada as worker, bob as reader, rita as reviewer, paul as planner:
        made_order = await planner.ok(
            "create_work_order",
            title=title,
            acceptanceCriteria="- It works.",
            assigneeIds=["ada"],
            reviewerIds=["rita"],
        )
        order = {"workOrderId": made_order["id"]}
        assert (await reader.ok("get_work_order", **order))["title"] == title
        await reader.failed("update_work_order_status", **order, status="in_progress")
        await reviewer.failed("update_work_order_status", **order, status="in_progress")
        for status in ("in_progress", "in_review"):
            assert (await worker.ok("update_work_order_status", **order, status=status))["newStatus"] == status
        await worker.failed("update_work_order_status", **order, status="done")
        assert (await reviewer.ok("update_work_order_status", **order, status="done"))["newStatus"] == "done"
