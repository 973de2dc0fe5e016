"""mission-control's tools over MCP: what the original lost is kept, and what it let pass is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.contract import MISSION_CONTROL

pytestmark = pytest.mark.anyio

EVERYBODY = (Scope.READ, Scope.WORK, Scope.PLAN)


@asynccontextmanager
async def joined(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    """A client with a key of its own."""
    key = site.keys.create(EVERYBODY, agent_id=None, label=None, life_s=None, profile="mission-control")
    async with connect(key.text) as result:
        yield result


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    async with joined(site, connect) as result:
        yield result


async def phase_of(client: ProfileClient, **more: Any) -> tuple[str, str]:
    """Open a workflow with a phase."""
    workflow = (await client.ok("start_workflow", name="Shop", **more))["workflow_id"]
    phase = await client.ok("start_phase", workflow_id=workflow, number=1, name="First")
    return workflow, phase["phase_id"]


async def task_of(client: ProfileClient, phase: str, name: str = "Task", **more: Any) -> str:
    details = {"caller_type": "subagent", "agent_name": "ada", "goal": "Do it."}
    answer = await client.ok(
        "start_task", workflow_id=phase.partition(":")[0], phase_id=phase, name=name, **{**details, **more}
    )
    return str(answer["task_id"])


async def done(client: ProfileClient, task: str, status: str = "success", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await client.ok(
        "complete_task", task_id=task, status=status, outcome={"summary": f"It is {status}."}, **more
    )
    return answer


async def context(client: ProfileClient, workflow: str, *include: str, **filters: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await client.ok(
        "get_context", workflow_id=workflow, include=list(include), **({"filter": filters} if filters else {})
    )
    return answer


async def test_every_answer_has_the_members_of_the_contract(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    calls: dict[str, dict[str, Any]] = {
        "start_workflow": {"name": "Other", "objective": "Sell"},
        "start_phase": {"workflow_id": workflow, "number": 2, "name": "Second"},
        "start_task": {
            "workflow_id": workflow,
            "phase_id": phase,
            "caller_type": "orchestrator",
            "name": "Own",
            "goal": "See.",
        },
        "log_milestone": {"task_id": task, "message": "Half", "progress": 50},
        "log_decision": {"task_id": task, "category": "other", "question": "A?", "chosen": "A", "reasoning": "So."},
        "log_issue": {"task_id": task, "type": "other", "description": "Hm.", "resolution": "None."},
        "get_context": {"workflow_id": workflow, "include": ["tasks", "blockers", "decisions", "milestones"]},
        "complete_task": {"task_id": task, "status": "success", "outcome": {"summary": "Done."}},
    }
    for name, arguments in calls.items():
        answer, contract = await client.ok(name, **arguments), MISSION_CONTROL[name]
        assert contract.answer <= set(answer) <= contract.answer | contract.may, name
    own = (await context(client, workflow, "tasks"))["tasks"][1]
    assert own["name"] == "Own"
    await done(client, own["id"])
    ended = await client.ok("complete_phase", phase_id=phase, status="completed")
    assert MISSION_CONTROL["complete_phase"].answer <= set(ended)
    await client.ok("complete_phase", phase_id=f"{workflow}:phase-2", status="completed")
    closed = await client.ok("complete_workflow", workflow_id=workflow, status="completed", summary="All.")
    assert MISSION_CONTROL["complete_workflow"].answer == set(closed)
    assert closed["status"] == "COMPLETED"


async def test_partial_stored_as_failed(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    await done(client, await task_of(client, phase), "Partial-Success")
    await client.ok("complete_phase", phase_id=phase, status="completed")
    closed = await client.ok(
        "complete_workflow", workflow_id=workflow, status="partial", summary="Half.", achievements=["A"]
    )
    assert closed["status"] == "PARTIAL"
    read = await context(client, workflow, "tasks")
    assert read["workflow_status"] == "PARTIAL"
    assert read["tasks"][0]["status"] == "PARTIAL_SUCCESS"
    again = await client.ok(
        "complete_workflow", workflow_id=workflow, status="partial", summary="Half.", achievements=["A"]
    )
    assert again == closed


async def test_blockers_never_clear(client: ProfileClient, site: Application) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    issue = await client.twice(
        "log_issue",
        task_id=task,
        type="unclear_requirement",
        description="Which currency?",
        resolution="Asked.",
        requires_human_review=True,
    )
    read = await context(client, workflow, "blockers")
    assert (read["workflow_status"], read["has_blockers"], read["blockers_count"]) == ("BLOCKED", True, 1)
    refused = await client.failed(
        "start_task",
        workflow_id=workflow,
        phase_id=phase,
        caller_type="orchestrator",
        name="Next",
        goal="Go on.",
    )
    assert refused.json["reason"] == "run_blocked"
    assert (await context(client, workflow, "tasks"))["tasks_count"] == 1
    key = site.keys.create((Scope.READ, Scope.ANSWER), agent_id="alice", label=None, life_s=None)
    await _resolved_by_a_person(site, key.text, workflow, issue["issue_id"])
    read = await context(client, workflow, "blockers")
    assert (read["workflow_status"], read["has_blockers"]) == ("IN_PROGRESS", False)
    await task_of(client, phase, "Next")


async def _resolved_by_a_person(site: Application, key: str, workflow: str, issue: str) -> None:
    from tests.tools.access import ask  # noqa: PLC0415 - only here dcf's own tools are called

    person = site.keys.admit(key)
    assert person is not None
    answer = await ask(site, person, "resolve_issue", workflow_id=workflow, issue=issue, how="Euro.")
    assert answer.code == "ok", answer.text
    assert answer["resolved_by"] == "alice"


async def test_since_loses_events(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    later = await client.ok("log_milestone", task_id=task, message="Begun")
    decision = await client.ok(
        "log_decision", task_id=task, category="other", question="A?", chosen="A", reasoning="So."
    )
    assert decision["created_at"] > later["created_at"]
    read = await context(client, workflow, "decisions", "milestones", "tasks", since=decision["created_at"])
    assert [decision["id"] for decision in read["decisions"]] == [decision["decision_id"]]
    assert read["milestones_count"] == 0
    assert read["tasks_count"] == 1, "something happened in it since then"
    assert read["filters_applied"] == {"since": decision["created_at"]}


async def test_an_instant_that_no_calendar_has_is_no_instant(client: ProfileClient) -> None:
    workflow, _ = await phase_of(client)
    for since in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "yesterday"):
        refused = await client.failed("get_context", workflow_id=workflow, include=["tasks"], filter={"since": since})
        assert "filter.since" in refused.json["message"], refused.text


async def test_options_as_json_string(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    await client.twice(
        "log_decision",
        task_id=task,
        category="Library Choice",
        question="Which?",
        options_considered=["A", "B"],
        chosen="A",
        reasoning="Small.",
    )
    (decision,) = (await context(client, workflow, "decisions"))["decisions"]
    assert decision["options_considered"] == ["A", "B"]
    assert decision["category"] == "LIBRARY_CHOICE"


async def test_untracked_files_missed(client: ProfileClient) -> None:
    """The helper on the agent's machine tells what changed; new files that git does not track are among it."""
    _, phase = await phase_of(client)
    task = await task_of(client, phase, areas=["src"])
    details = await done(
        client, task, files_changed={"added": ["src/new.py"], "modified": [], "deleted": ["docs/a.md"]}
    )
    assert details["files_changed"] == {"added": ["src/new.py"], "modified": [], "deleted": ["docs/a.md"]}
    assert details["verification"] == {
        "scope_match": False,
        "unexpected_files": ["docs/a.md"],
        "warnings": ["1 changed files lie outside the areas of the task."],
    }


async def test_what_nobody_told_is_not_made_up(client: ProfileClient) -> None:
    _, phase = await phase_of(client)
    details = await done(client, await task_of(client, phase))
    assert details["files_changed"] == {"added": [], "modified": [], "deleted": []}
    assert "not known" in details["verification"]["warnings"][0]


async def test_a_failed_task_keeps_what_came_of_it(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    await client.twice(
        "complete_task", task_id=task, status="failed", outcome={"summary": "No way.", "limitations": ["x"]}
    )
    (result,) = (await context(client, workflow, "tasks"))["tasks"]
    assert (result["status"], result["summary"]) == ("FAILED", "No way.")
    ended = await client.ok("complete_phase", phase_id=phase, status="failed", summary="It failed.")
    assert (ended["status"], ended["tasks"]["failed"]) == ("FAILED", 1)
    closed = await client.ok("complete_workflow", workflow_id=workflow, status="failed", summary="No.")
    assert closed["status"] == "FAILED"


async def test_a_task_with_sub_tasks_in_progress_is_not_completed(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    child = await task_of(client, phase, "Child", parent_task_id=task)
    refused = await client.failed("complete_task", task_id=task, status="success", outcome={"summary": "Done."})
    assert refused.json["reason"] == "children_open"
    await done(client, child)
    await done(client, task)
    assert [task["status"] for task in (await context(client, workflow, "tasks"))["tasks"]] == ["SUCCESS", "SUCCESS"]


async def test_nobody_completes_the_task_of_another_key(
    client: ProfileClient, site: Application, connect: Connect
) -> None:
    _, phase = await phase_of(client)
    task = await task_of(client, phase)
    async with joined(site, connect) as other:
        refused = await other.failed("complete_task", task_id=task, status="success", outcome={"summary": "Mine."})
        assert refused.json["reason"] == "lease_lost"
    await done(client, task)


async def test_an_open_phase_keeps_the_workflow_open(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    refused = await client.failed("complete_workflow", workflow_id=workflow, status="completed", summary="All.")
    assert refused.json["error"] is True
    refused = await client.failed("complete_phase", phase_id=phase, status="completed")
    assert refused.json["reason"] == "tasks_open"
    await done(client, task)
    await client.ok("complete_phase", phase_id=phase, status="completed")
    refused = await client.failed(
        "start_task", workflow_id=workflow, phase_id=phase, caller_type="orchestrator", name="Late", goal="No."
    )
    assert refused.json["reason"] == "phase_over"


async def test_a_workflow_is_not_completed_over_a_blocker_or_an_open_phase(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    task = await task_of(client, phase)
    raised = {"type": "unclear_requirement", "description": "Which currency?", "resolution": "Asked."}
    issue = (await client.ok("log_issue", task_id=task, **raised, requires_human_review=True))["issue_id"]
    await done(client, task)
    await client.ok("complete_phase", phase_id=phase, status="completed")
    closing = {"workflow_id": workflow, "status": "completed", "summary": "All."}
    refused = await client.failed("complete_workflow", **closing)
    assert refused.json["reason"] == "issues_open"
    assert issue in refused.json["message"]
    second = await client.ok("start_phase", workflow_id=workflow, number=2, name="Second")
    for _ in range(2):
        assert (await client.failed("complete_workflow", **closing)).json["error"]
    read = await context(client, workflow, "blockers")
    assert (read["workflow_status"], read["has_blockers"]) == ("BLOCKED", True)
    failed = await client.ok("complete_workflow", **{**closing, "status": "failed"})
    assert (failed["status"], second["status"]) == ("FAILED", "IN_PROGRESS")


async def test_a_phase_without_tasks_keeps_the_workflow_open_until_it_is_completed(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    closing = {"workflow_id": workflow, "status": "completed", "summary": "All."}
    refused = await client.failed("complete_workflow", **closing)
    assert (refused.json["reason"], phase.partition(":")[2] in refused.json["message"]) == ("units_open", True)
    await client.ok("complete_phase", phase_id=phase, status="completed")
    assert (await client.ok("complete_workflow", **closing))["status"] == "COMPLETED"


async def test_the_context_can_be_filtered_by_agent_and_phase(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    second = (await client.ok("start_phase", workflow_id=workflow, number=2, name="Second"))["phase_id"]
    for place, agent in ((phase, "ada"), (second, "bob")):
        task = await task_of(client, place, agent_name=agent)
        await client.ok("log_milestone", task_id=task, message=f"By {agent}")
    read = await context(client, workflow, "tasks", "milestones", agent="bob", phase=2)
    assert [task["agent_name"] for task in read["tasks"]] == ["bob"]
    assert [milestone["message"] for milestone in read["milestones"]] == ["By bob"]
    nowhere = await context(client, workflow, "tasks", phase=7)
    assert "tasks" not in nowhere
    assert "7" in nowhere["warning"]


async def test_a_wrong_call_changes_nothing_and_names_what_is_wrong(client: ProfileClient) -> None:
    workflow, phase = await phase_of(client)
    wrong = await client.failed("start_phase", workflow_id=workflow, number=0, name="")
    assert wrong.json["code"] == "VALIDATION_ERROR"
    assert "number" in wrong.json["message"]
    assert "name" in wrong.json["message"]
    nameless = await client.failed(
        "start_task", workflow_id=workflow, phase_id=phase, caller_type="subagent", name="T", goal="G"
    )
    assert "agent_name" in nameless.json["message"]
    missing = await client.failed("get_context", workflow_id="nothing-there", include=["tasks"])
    assert missing.json["code"] == "NOT_FOUND"
    garbled = await client.failed("log_milestone", task_id="garbled", message="M")
    assert garbled.json["code"] == "NOT_FOUND"
    assert (await context(client, workflow, "tasks"))["tasks_count"] == 0
