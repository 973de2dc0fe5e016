"""find_work and its limits, as an MCP client calls them."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from dcf.verbs.answers.work import steps_of
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio

TWO: dict[str, Any] = {
    "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
}
USED: dict[str, Any] = {"tokens_in": 90, "tokens_out": 20, "cost": "0.5", "currency": "EUR", "seconds": 2}


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    place = tmp_path_factory.mktemp("work")
    with open_application(Settings(redis_url=None, data_dir=place, allow_operator=True)) as opened:
        yield opened


async def test_work_is_found_claimed_completed_with_usage_and_stopped_by_its_budget(application: Application) -> None:
    me, run = f"a-{uuid.uuid4().hex[:8]}", f"r-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.call("start_run", workflow_json=TWO, workflow_id=run, agents_map_json={"*": me}, project="shop")
        await tools.call("set_budget", workflow_id=run, budget_json={"tokens": 100})
        result = await tools.call("find_work", agent_id=me, project="shop")
        assert [(item["state"], item["status"]) for item in result.payload["items"]] == [("A", "ready")]
        taken = await tools.call("find_work", agent_id=me, claim=True, request_id="r1")
        again = await tools.call("find_work", agent_id=me, claim=True, request_id="r1")
        token = taken.payload["work"]["lease_token"]
        assert again.payload["work"]["lease_token"] == token
        done = {"workflow_id": run, "state": "A", "lease_token": token, "new_status": "succeeded", "output_json": {}}
        for _ in range(2):
            answer = await tools.call("update_workflow_control_plane", **done, usage_json=USED, claim_next=True)
            assert answer.code == "ok"
            assert "work" not in answer.payload, "the budget is used up"
        meta = (await tools.call("read_workflow_control_plane", workflow_id=run, summary=True)).payload["meta"]
        assert (meta["usage"]["tokens_in"], meta["budget"]["tokens"]) == (90, 100)
        (listed,) = (await tools.call("list_runs", project="shop", agent=me)).payload["runs"]
        assert listed["usage"]["cost"] == {"EUR": "0.5"}
        used = (await tools.call("read_usage", workflow_id=run)).payload
        assert used["total"] == {"tokens_in": 90, "tokens_out": 20, "seconds": 2, "cost": {"EUR": "0.5"}, "reports": 1}
        assert used["states"] == {"A": used["total"]}
        assert (await tools.call("read_usage", project="shop")).payload["total"]["reports"] >= 1
        waits = (await tools.call("find_work", agent_id=me, claim=True)).payload
        assert waits["code"] == "nothing_ready"
        (blocked,) = (await tools.call("find_work", agent_id=me)).payload["items"]
        assert (blocked["status"], blocked["why"]) == ("blocked", "its run is blocked")
        journal = (await tools.call("read_journal", workflow_id=run, open=True)).payload["entries"]
        assert "110 of 100 tokens" in journal[0]["text"]
        raised = await tools.call("set_budget", workflow_id=run, budget_json={"tokens": 1000}, reason="go on")
        assert raised.payload["used_up"] is None
        assert (await tools.call("read_journal", workflow_id=run, open=True)).payload["entries"] == []
        assert (await tools.call("find_work", agent_id=me, claim=True)).payload["state"] == "B"


async def test_only_ready_work_can_be_claimed(application: Application) -> None:
    me = f"a-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        for status in ("running", "blocked", "done"):
            answer = await tools.call("find_work", agent_id=me, claim=True, status=status)
            assert (answer.code, answer.payload["hint"]) == ("invalid_argument", "Leave status out."), status
        assert (await tools.call("find_work", agent_id=me, claim=True, status="ready")).code == "nothing_ready"


def test_the_steps_for_work_load_its_skills_for_the_agent_that_has_it() -> None:
    work: dict[str, Any] = {
        "workflow_id": "r",
        "state": "A",
        "lease_token": "t",
        "skills": [{"manifestId": "style@1.0.0", "load": True}, {"manifestId": "there@1.0.0"}],
    }
    (load, complete) = steps_of(work, "ann")
    assert (load["tool"], load["arguments"]["agent_id"]) == ("load_skill", "ann")
    assert load["arguments"]["skill_json"] == "style@1.0.0"
    assert complete["tool"] == "update_workflow_control_plane"


async def test_a_limit_of_an_agent_is_told_by_the_tools(application: Application) -> None:
    me, run = f"a-{uuid.uuid4().hex[:8]}", f"r-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        limited = await tools.call("register_agent", agent_id=me, max_in_progress=1)
        assert limited.payload["max_in_progress"] == 1
        for number in range(2):
            await tools.call("start_run", workflow_json=TWO, workflow_id=f"{run}-{number}", agents_map_json={"*": me})
        await tools.call("find_work", agent_id=me, claim=True, request_id="first")
        refused = (await tools.call("find_work", agent_id=me, claim=True)).payload
        assert refused["code"] == "work_limit_reached"
        assert f"'A' of run '{run}-0'" in refused["error"]
        named = await tools.call("acquire_state_lease", workflow_id=f"{run}-1", state="A", owner_agent_id=me)
        assert named.code == "work_limit_reached"
        waited = (await tools.call("await_workflow_event", agent_id=me, timeout_s=50)).payload
        assert "work" not in waited, "an event of work that it may not take yet is told, not dropped"
        assert waited["event"]["workflow_id"] == f"{run}-1"
        assert [item["arguments"].get("ack_message_id") for item in waited["next"]] == [None], "it is to come again"
        await tools.call("register_agent", agent_id=me, max_in_progress=0)
        assert (await tools.call("find_work", agent_id=me, claim=True)).payload["workflow_id"] == f"{run}-1"


async def test_an_agent_at_its_limit_is_not_told_of_what_nobody_can_take_any_more(application: Application) -> None:
    me, run = f"a-{uuid.uuid4().hex[:8]}", f"r-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.call("register_agent", agent_id=me, max_in_progress=1)
        await tools.call("start_run", workflow_json=TWO, workflow_id=f"{run}-0", agents_map_json={"*": me})
        await tools.call("find_work", agent_id=me, claim=True)
        await tools.call("start_run", workflow_json=TWO, workflow_id=f"{run}-1", agents_map_json={"*": me})
        waited = (await tools.call("await_workflow_event", agent_id=me, timeout_s=50)).payload
        assert waited["event"]["workflow_id"] == f"{run}-1"
        await tools.call("cancel_run", workflow_id=f"{run}-1", reason="not needed")
        application.inbox.give_back(me, waited["message_id"])
        assert (await tools.call("await_workflow_event", agent_id=me, timeout_s=0)).payload["status"] == "timeout"


async def test_a_project_is_given_limits_by_who_plans(application: Application) -> None:
    project = f"p-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        put = await tools.call("put_project", project=project, max_in_progress=1, budget_json={"tokens": 5})
        assert (put.payload["project"]["max_in_progress"], put.payload["project"]["budget"]) == (1, {"tokens": 5})
        for number in range(2):
            agents = {"*": f"w{number}"}
            await tools.call(
                "start_run",
                workflow_json=TWO,
                workflow_id=f"{project}-{number}",
                agents_map_json=agents,
                project=project,
            )
        taken = (await tools.call("find_work", agent_id="w0", claim=True, project=project)).payload
        workflow_id, token = taken["workflow_id"], taken["work"]["lease_token"]
        refused = await tools.call("find_work", agent_id="w1", claim=True, project=project)
        assert refused.code == "work_limit_reached"
        assert f"Project '{project}' may have 1" in refused.error
        done = {"workflow_id": workflow_id, "state": "A", "lease_token": token, "output_json": {}}
        await tools.call("update_workflow_control_plane", **done, new_status="succeeded", usage_json=USED)
        assert (await tools.call("list_runs", project=project, blocked=True)).payload["runs"][0][
            "workflow_id"
        ] == workflow_id
        free = await tools.call("put_project", project=project, max_in_progress=0, budget_json={"tokens": 500})
        assert (await tools.call("list_runs", project=project, blocked=True)).payload["runs"] == []
        assert (await tools.call("read_journal", workflow_id=workflow_id, open=True)).payload["entries"] == []
        assert "max_in_progress" not in free.payload["project"]
        mend = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Areas": ["src/**"], "End": True}}}}
        details = []
        for agent_id in ("w2", "w3"):
            await tools.call("start_run", workflow_json=mend, agents_map_json={"*": agent_id}, project=project)
            claimed = (await tools.call("find_work", agent_id=agent_id, claim=True, project=project)).payload
            details.append(str(claimed["work"].get("warnings", "")))
        assert (details[0], "is worked on by 'w2' in 'src/**'" in details[1]) == ("", True)


async def test_a_limit_beyond_what_is_kept_is_refused(application: Application) -> None:
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        for most in (-1, 1001):
            assert (await tools.call("register_agent", agent_id="a", max_in_progress=most)).code == "invalid_argument"
            assert (await tools.call("put_project", project="p", max_in_progress=most)).code == "invalid_argument"
