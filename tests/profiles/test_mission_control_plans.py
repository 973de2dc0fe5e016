"""mission-control with the files of a workflow: its phases, order, checkpoint and completion are kept to."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.profiles.growing_runs import Grown
from dcf.profiles.mission_control import plans
from dcf.tools.mcp.profile_calls import NativeTools
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.mission_plan import FILES, WORKFLOW_MD
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio

EVERYBODY = (Scope.READ, Scope.WORK, Scope.PLAN)


def _key(site: Application, agent_id: str | None = None) -> str:
    made = site.keys.create(EVERYBODY, agent_id=agent_id, label=None, life_s=None, profile="mission-control")
    return made.text


@pytest.fixture
async def orchestrator(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    async with connect(_key(site, "orchestrator")) as result:
        yield result


async def planned(client: ProfileClient, **more: Any) -> str:
    return str((await client.ok("start_workflow", name="shop", workflow_files=FILES, **more))["workflow_id"])


async def phase_of(client: ProfileClient, workflow: str, number: int, **more: Any) -> str:
    begun = await client.ok("start_phase", workflow_id=workflow, number=number, name=f"Phase {number}", **more)
    return str(begun["phase_id"])


async def task_of(client: ProfileClient, phase: str, agent: str, **more: Any) -> dict[str, Any]:
    details = {"caller_type": "subagent", "agent_name": agent, "name": f"Task of {agent}", "goal": "Do it."}
    run = phase.partition(":")[0]
    answer: dict[str, Any] = await client.ok("start_task", workflow_id=run, phase_id=phase, **details, **more)
    return answer


async def done(client: ProfileClient, task: dict[str, Any], status: str = "success") -> None:
    await client.ok("complete_task", task_id=task["task_id"], status=status, outcome={"summary": "It is."})


async def first_phase_done(client: ProfileClient, workflow: str) -> None:
    phase = await phase_of(client, workflow, 1)
    for agent in ("analyzer", "auditor"):
        await done(client, await task_of(client, phase, agent))
    await client.ok("complete_phase", phase_id=phase, status="completed")


async def decided(site: Application, workflow: str, verdict: str, comment: str | None = None) -> str:
    """Answer the checkpoint as a person, with what the inbox shows."""
    person = key_of(Scope.READ, Scope.ANSWER, agent_id="alice", name="key:fedcba987654")
    (task,) = (await ask(site, person, "list_human_tasks", workflow_id=workflow))["tasks"]
    names = {name: task[name] for name in ("workflow_id", "state", "gate", "content_sha256")}
    answer = await ask(site, person, "decide_gate", verdict=verdict, agent_id="alice", comment=comment, **names)
    return answer.code


async def asked_content(site: Application, workflow: str) -> str:
    """Return the hash of what a person is asked."""
    person = key_of(Scope.READ, Scope.ANSWER, agent_id="alice", name="key:fedcba987654")
    (task,) = (await ask(site, person, "list_human_tasks", workflow_id=workflow))["tasks"]
    return str(task["content_sha256"])


async def test_the_plan_says_what_the_workflow_is_about(orchestrator: ProfileClient) -> None:
    begun = await orchestrator.ok("start_workflow", name="shop", workflow_files=FILES, scope="Only the cart.")
    assert (begun["objective"], begun["total_phases"]) == ("Sell in zloty.", 2)
    assert [phase["number"] for phase in begun["phases"]] == [1, 2]
    workflow = begun["workflow_id"]
    read = await orchestrator.ok("get_context", workflow_id=workflow, include=["phase_summary", "blockers"])
    assert [(element["phase_name"], element["status"]) for element in read["phase_summary"]] == [
        ("Analysis", "PENDING"),
        ("Change", "PENDING"),
    ]
    assert (read["total_phases"], read["has_blockers"]) == (2, False)
    item = {"workflow_id": workflow, "include": ["tasks"], "filter": {"phase": 2}}
    assert (await orchestrator.ok("get_context", **item))["tasks"] == []


async def test_a_wrong_plan_starts_nothing_and_everything_wrong_is_told(orchestrator: ProfileClient) -> None:
    wrong = WORKFLOW_MD.replace("requires: 1", "requires: 7").replace("type: analyzer", "type: stranger")
    refused = await orchestrator.failed("start_workflow", name="shop", workflow_files={**FILES, "workflow": wrong})
    assert (refused.json["code"], refused.json["reason"]) == ("VALIDATION_ERROR", "invalid_workflow")
    assert "workflow.md:24" in refused.json["message"]
    assert "'stranger'" in refused.json["message"]


async def test_a_phase_begins_after_those_that_it_requires(orchestrator: ProfileClient) -> None:
    workflow = await planned(orchestrator)
    early = await orchestrator.failed("start_phase", workflow_id=workflow, number=2, name="Change")
    assert early.json["code"] == "PHASE_REQUIRED"
    await phase_of(orchestrator, workflow, 1)
    early = await orchestrator.failed("start_phase", workflow_id=workflow, number=2, name="Change")
    assert "IN_PROGRESS" in early.json["message"]
    unknown = await orchestrator.failed("start_phase", workflow_id=workflow, number=3, name="More")
    assert unknown.json["code"] == "NOT_FOUND"


async def test_a_phase_is_complete_when_every_agent_of_it_succeeded(orchestrator: ProfileClient) -> None:
    workflow = await planned(orchestrator)
    phase = await phase_of(orchestrator, workflow, 1)
    await done(orchestrator, await task_of(orchestrator, phase, "analyzer"))
    await done(orchestrator, await task_of(orchestrator, phase, "auditor"), "failed")
    refused = await orchestrator.failed("complete_phase", phase_id=phase, status="completed")
    assert refused.json["code"] == "COMPLETION_NOT_MET"
    assert "auditor" in refused.json["message"]
    await done(orchestrator, await task_of(orchestrator, phase, "auditor-2"))
    await orchestrator.ok("complete_phase", phase_id=phase, status="completed")


async def test_a_checkpoint_waits_for_a_person(site: Application, orchestrator: ProfileClient) -> None:
    workflow = await planned(orchestrator)
    await first_phase_done(orchestrator, workflow)
    expected = {"workflow_id": workflow, "number": 2, "name": "Change"}
    for _ in range(2):
        waiting = await orchestrator.failed("start_phase", **expected)
        assert waiting.json["code"] == "CHECKPOINT_OPEN"
        assert f"dcf inbox {workflow}" in waiting.json["hint"]
    read = await orchestrator.ok("get_context", workflow_id=workflow, include=["blockers", "tasks"])
    assert [blocker["type"] for blocker in read["blockers"]] == ["CHECKPOINT"]
    assert (read["has_blockers"], read["tasks_count"]) == (True, 2)
    early = await orchestrator.failed("complete_workflow", workflow_id=workflow, status="completed", summary="All.")
    assert early.json["code"] == "PHASES_OPEN"
    assert await decided(site, workflow, "fail", "Not before the audit.") == "ok"
    refused = await orchestrator.failed("start_phase", **expected)
    assert refused.json["code"] == "CHECKPOINT_REJECTED"
    assert "Not before the audit." in refused.json["message"]
    again = await orchestrator.failed("start_phase", **expected, description="The audit is done.")
    assert again.json["code"] == "CHECKPOINT_OPEN"
    assert await decided(site, workflow, "pass") == "ok"
    begun = await orchestrator.ok("start_phase", **expected)
    assert begun["status"] == "IN_PROGRESS"
    assert not (await orchestrator.ok("get_context", workflow_id=workflow, include=["blockers"]))["has_blockers"]
    await orchestrator.ok("complete_phase", phase_id=begun["phase_id"], status="completed")
    closed = await orchestrator.ok("complete_workflow", workflow_id=workflow, status="completed", summary="All.")
    assert (closed["status"], closed["metrics"]["total_tasks"]) == ("COMPLETED", 2)


async def test_a_rejection_with_another_description_reaches_the_orchestrator(
    site: Application, orchestrator: ProfileClient
) -> None:
    workflow = await planned(orchestrator)
    await first_phase_done(orchestrator, workflow)
    expected = {"workflow_id": workflow, "number": 2, "name": "Change"}
    await orchestrator.failed("start_phase", **expected, description="First.")
    question = await asked_content(site, workflow)
    waiting = await orchestrator.failed("start_phase", **expected)
    assert waiting.json["code"] == "CHECKPOINT_OPEN"
    assert await asked_content(site, workflow) == question, "the question stays as the person reads it"
    assert await decided(site, workflow, "fail", "Not yet.") == "ok"
    for more in ({}, {"description": "First."}):
        refused = await orchestrator.failed("start_phase", **expected, **more)
        assert (refused.json["code"], "Not yet." in refused.json["message"]) == ("CHECKPOINT_REJECTED", True)
    again = await orchestrator.failed("start_phase", **expected, description="Second.")
    assert again.json["code"] == "CHECKPOINT_OPEN"
    assert await asked_content(site, workflow) != question


async def test_a_rejected_checkpoint_does_not_wait_for_a_person_until_it_is_asked_again(
    site: Application, orchestrator: ProfileClient
) -> None:
    workflow = await planned(orchestrator)
    await first_phase_done(orchestrator, workflow)
    phase = {"workflow_id": workflow, "number": 2, "name": "Change"}
    await orchestrator.failed("start_phase", **phase)
    assert await decided(site, workflow, "fail", "Not before the audit.") == "ok"
    (blocker,) = (await orchestrator.ok("get_context", workflow_id=workflow))["blockers"]
    assert blocker["type"] == "CHECKPOINT_REJECTED"
    assert "did not agree" in blocker["description"]
    assert "another description" in blocker["resolution"]
    await orchestrator.failed("start_phase", **phase, description="The audit is done.")
    (blocker,) = (await orchestrator.ok("get_context", workflow_id=workflow))["blockers"]
    assert (blocker["type"], blocker["resolution"]) == ("CHECKPOINT", f"dcf inbox {workflow}")


async def test_whoever_decides_at_a_checkpoint_reads_how_the_phases_before_ended(
    site: Application, orchestrator: ProfileClient
) -> None:
    workflow = await planned(orchestrator)
    phase = await phase_of(orchestrator, workflow, 1)
    for agent in ("analyzer", "auditor"):
        await done(orchestrator, await task_of(orchestrator, phase, agent))
    await orchestrator.ok("complete_phase", phase_id=phase, status="completed", summary="Prices are known.")
    await orchestrator.failed("start_phase", workflow_id=workflow, number=2)
    person = key_of(Scope.READ, Scope.ANSWER, agent_id="alice", name="key:fedcba987654")
    (task,) = (await ask(site, person, "list_human_tasks", workflow_id=workflow))["tasks"]
    assert "Checkpoint before phase 2" in task["title"]
    (gate,) = (await ask(site, person, "list_gates", workflow_id=workflow, state="checkpoint-2"))["gates"]
    before = [{"phase": 1, "name": "Phase 1", "status": "COMPLETED", "summary": "Prices are known."}]
    assert (gate["output"]["name"], gate["output"]["phases_before"]) == ("Change", before)


async def test_the_orchestrator_does_not_agree_with_itself(site: Application, orchestrator: ProfileClient) -> None:
    workflow = await planned(orchestrator)
    await first_phase_done(orchestrator, workflow)
    await orchestrator.failed("start_phase", workflow_id=workflow, number=2, name="Change")
    itself = key_of(Scope.READ, Scope.WORK, Scope.PLAN, Scope.ANSWER, agent_id="orchestrator")
    (gate,) = (await ask(site, itself, "list_gates", workflow_id=workflow))["gates"]
    details = {"gate": gate["name"], "state": gate["state"], "content_sha256": gate["content_sha256"]}
    own = await ask(site, itself, "decide_gate", workflow_id=workflow, verdict="pass", **details)
    assert own.code == "author_may_not_review"


async def test_agents_of_the_plan_and_members_share_the_run_with_keys_of_their_own(
    site: Application, connect: Connect, orchestrator: ProfileClient
) -> None:
    workflow = await planned(orchestrator)
    phase = await phase_of(orchestrator, workflow, 1)
    async with connect(_key(site, "analyzer")) as analyzer, connect(_key(site, "helga")) as helga:
        task = await task_of(analyzer, phase, "analyzer")
        await analyzer.ok("log_milestone", task_id=task["task_id"], message="Half.")
        await done(analyzer, task)
        details = {"caller_type": "subagent", "agent_name": "helga", "name": "Help", "goal": "Help."}
        refused = await helga.failed("start_task", workflow_id=workflow, phase_id=phase, **details)
        assert refused.json["code"] == "FORBIDDEN"
        again = await orchestrator.ok("start_phase", workflow_id=workflow, number=1, name="Phase 1", members=["helga"])
        assert again["already_exists"]
        await done(helga, await task_of(helga, phase, "helga"))


async def test_scopes_of_the_plan_are_areas_and_overlap_is_told(orchestrator: ProfileClient) -> None:
    workflow = await planned(orchestrator)
    phase = await phase_of(orchestrator, workflow, 1)
    first = await task_of(orchestrator, phase, "analyzer")
    assert "warnings" not in first
    second = await task_of(orchestrator, phase, "auditor", areas=["src/catalogue/*.py"])
    assert "src/catalogue/**" in second["warnings"][0]
    changed = {"added": ["src/catalogue/new.py"], "modified": ["README.md"], "deleted": []}
    outcome = {"summary": "It is."}
    ended = await orchestrator.ok(
        "complete_task", task_id=first["task_id"], status="success", outcome=outcome, files_changed=changed
    )
    assert ended["verification"]["unexpected_files"] == ["README.md"]
    unknown = await orchestrator.ok("complete_task", task_id=second["task_id"], status="success", outcome=outcome)
    assert unknown["verification"]["scope_match"] is None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools of dcf that calls of the profile have called."""
    names, call = list[str](), NativeTools.call

    async def noted(native: NativeTools, tool: str, /, **arguments: Any) -> Any:
        names.append(tool)
        return await call(native, tool, **arguments)

    monkeypatch.setattr(NativeTools, "call", noted)
    return names


async def test_the_end_of_a_workflow_reads_how_its_phases_stand_once(
    orchestrator: ProfileClient, asked: list[str]
) -> None:
    for status, journals in (("completed", 1), ("partial", 1), ("failed", 0)):
        workflow = str((await orchestrator.ok("start_workflow", name="shop"))["workflow_id"])
        phase = await phase_of(orchestrator, workflow, 1)
        await orchestrator.ok("complete_phase", phase_id=phase, status="completed")
        asked.clear()
        await orchestrator.ok("complete_workflow", workflow_id=workflow, status=status, summary="Over.")
        assert asked.count("read_journal") == journals, asked
        assert asked.count("close_run") == 1


async def test_the_end_of_a_planned_workflow_reads_how_its_phases_stand_once(
    orchestrator: ProfileClient, asked: list[str]
) -> None:
    workflow = await planned(orchestrator)
    await first_phase_done(orchestrator, workflow)
    asked.clear()
    await orchestrator.failed("complete_workflow", workflow_id=workflow, status="completed", summary="Over.")
    assert asked == ["read_workflow_control_plane", "read_journal"]


async def test_the_beginning_of_a_phase_reads_the_plan_once(
    orchestrator: ProfileClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow, plans_read, read = await planned(orchestrator), list[str](), plans.planned

    def noted(run: Grown) -> Any:
        plans_read.append(run.run)
        return read(run)

    monkeypatch.setattr(plans, "planned", noted)
    await phase_of(orchestrator, workflow, 1)
    assert plans_read == [workflow]
