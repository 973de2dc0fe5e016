"""mission-control's calls as its document prints them, with no more arguments than it has."""

import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.mission_plan import FILES, WORKFLOW_MD

pytestmark = pytest.mark.anyio

ONE_AGENT = {
    **FILES,
    "workflow": WORKFLOW_MD.replace(
        """      - type: auditor
        subagent_type: "general-purpose"
        scope: src/prices/**
""",
        "",
    ),
}
"""The workflow of the document: its first phase has one agent."""


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    """An orchestrator in a project of its own: no other test has workflows in it."""
    project = f"p-{secrets.token_hex(4)}"
    scopes = (Scope.READ, Scope.WORK, Scope.PLAN)
    key = site.keys.create(scopes, agent_id=None, label=None, life_s=None, profile="mission-control", project=project)
    async with connect(key.text) as connected:
        yield connected


async def opened(client: ProfileClient, **more: Any) -> str:
    begun = await client.ok("start_workflow", name="shop", workflow_files=ONE_AGENT, **more)
    return str(begun["workflow_id"])


async def test_every_call_of_the_document_is_taken_as_it_is_printed(client: ProfileClient) -> None:
    workflow = await opened(client)
    phase = await client.ok("start_phase", workflow_id=workflow, number=1)
    assert phase["name"] == "Analysis", "the plan names it"
    task = await client.twice("start_task", phase_id=phase["phase_id"])
    assert (task["workflow_id"], task["agent_name"], task["caller_type"]) == (workflow, "analyzer", "subagent")
    read = await client.ok("get_context", include=["tasks", "blockers"])
    assert (read["workflow_id"], read["tasks"][0]["goal"]) == (workflow, "src/catalogue/**")
    await client.ok("complete_task", task_id=task["task_id"], status="success", outcome={"summary": "Known."})
    await client.ok("complete_phase", phase_id=phase["phase_id"], status="completed", outputs_found=["report.md"])
    early = await client.failed("complete_workflow")
    assert early.json["code"] == "PHASES_OPEN"
    ended = await client.ok("complete_workflow", status="failed")
    assert (ended["workflow_id"], ended["status"]) == (workflow, "FAILED")


async def test_a_call_without_a_workflow_is_rejected_if_it_is_not_clear_which_is_meant(client: ProfileClient) -> None:
    nothing = await client.failed("get_context")
    assert (nothing.json["code"], "no workflow" in nothing.json["message"]) == ("VALIDATION_ERROR", True)
    first, second = await opened(client), await opened(client)
    for tool in ("get_context", "complete_workflow"):
        refused = await client.failed(tool)
        assert refused.json["code"] == "VALIDATION_ERROR"
        assert first in refused.json["message"]
        assert second in refused.json["message"]
    await client.ok("complete_workflow", workflow_id=first, status="failed")
    read = await client.ok("get_context")
    assert (read["workflow_id"], {"tasks", "blockers", "phase_summary"} <= set(read)) == (second, True)


async def test_of_several_workflows_that_of_the_directory_is_meant(client: ProfileClient) -> None:
    here, there = await opened(client, place="here"), await opened(client, place="there")
    assert (await client.ok("get_context", place="here"))["workflow_id"] == here
    assert (await client.ok("complete_workflow", place="there", status="failed"))["workflow_id"] == there
    assert (await client.ok("get_context", place="there"))["workflow_id"] == here, "the only one that is left"


async def test_nobody_ends_the_workflow_of_another_key_without_naming_it(
    client: ProfileClient, site: Application, connect: Connect
) -> None:
    workflow = await opened(client)
    project = site.projects.of_run(workflow)
    key = site.keys.create(
        (Scope.READ, Scope.WORK, Scope.PLAN),
        agent_id="stranger",
        label=None,
        life_s=None,
        profile="mission-control",
        project=project,
    )
    async with connect(key.text) as stranger:
        assert (await stranger.ok("get_context"))["workflow_id"] == workflow
        refused = await stranger.failed("complete_workflow", status="failed")
        assert "no workflow of yours" in refused.json["message"]
    assert (await client.ok("get_context"))["workflow_status"] == "IN_PROGRESS"


async def test_a_subagent_names_itself_where_the_phase_has_several_agents(client: ProfileClient) -> None:
    begun = await client.ok("start_workflow", name="shop", workflow_files=FILES)
    phase = await client.ok("start_phase", workflow_id=begun["workflow_id"], number=1, name="Analysis")
    refused = await client.failed("start_task", phase_id=phase["phase_id"])
    assert (refused.json["code"], "analyzer, auditor" in refused.json["hint"]) == ("VALIDATION_ERROR", True)


async def test_a_workflow_without_its_files_is_told_that_no_plan_was_taken(client: ProfileClient) -> None:
    unread = await client.ok("start_workflow", name="shop")
    assert "reads the files of no project" in unread["warnings"][0]
    searched = {"directory": "/elsewhere", "workflows": ["shop", "other"]}
    wrong = await client.ok("start_workflow", name="shpo", searched=searched)
    assert "/elsewhere has no .claude/workflows/shpo/workflow.md" in wrong["warnings"][0]
    assert "shop, other" in wrong["warnings"][0]
    planned = await client.ok("start_workflow", name="shop", workflow_files=FILES, searched=searched)
    assert "warnings" not in planned


async def test_a_workflow_without_a_name_is_the_only_one_of_the_project(client: ProfileClient) -> None:
    several = await client.failed("start_workflow", searched={"directory": "/p", "workflows": ["shop", "other"]})
    assert (several.json["code"], "shop, other" in several.json["message"]) == ("VALIDATION_ERROR", True)
    only = await client.ok("start_workflow", searched={"directory": "/p", "workflows": ["shop"]}, workflow_files=FILES)
    read = await client.ok("get_context", workflow_id=only["workflow_id"])
    assert read["workflow_name"] == "shop"


async def test_a_phase_of_a_workflow_that_has_ended_is_not_begun(client: ProfileClient) -> None:
    workflow = await opened(client)
    await client.ok("complete_workflow", workflow_id=workflow, status="failed")
    refused = await client.failed("start_phase", workflow_id=workflow, number=2)
    assert (refused.json["code"], "has ended" in refused.json["message"]) == ("TERMINAL", True)


async def test_open_tasks_of_a_phase_are_named_with_their_agents(client: ProfileClient) -> None:
    workflow = await opened(client)
    phase = await client.ok("start_phase", workflow_id=workflow, number=1)
    task = await client.ok("start_task", phase_id=phase["phase_id"])
    refused = await client.failed("complete_phase", phase_id=phase["phase_id"], status="completed")
    assert refused.json["code"] == "TASKS_OPEN"
    assert f"{task['task_id']} (analyzer)" in refused.json["message"]


async def test_a_blocked_workflow_says_to_tell_a_person(client: ProfileClient) -> None:
    workflow = await opened(client)
    phase = (await client.ok("start_phase", workflow_id=workflow, number=1))["phase_id"]
    task = await client.ok("start_task", phase_id=phase)
    issue = {"type": "other", "description": "Which?", "resolution": "Ask.", "requires_human_review": True}
    await client.ok("log_issue", task_id=task["task_id"], **issue)
    refused = await client.failed("start_task", phase_id=phase, agent_name="analyzer-2")
    assert (refused.json["code"], "dcf inbox" in refused.json["hint"]) == ("RUN_BLOCKED", True)
