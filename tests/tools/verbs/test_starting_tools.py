"""The tools that begin and continue runs, through an MCP client."""

import json
import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.tools.access import ask, key_of
from tests.tools.calls import TWO_TASKS, Tools, lease_on

pytestmark = pytest.mark.anyio


def workflow(**more: Any) -> dict[str, Any]:
    return TWO_TASKS | {"workflow_name": f"flow-{secrets.token_hex(4)}", "version": "1"} | more


async def end(tools: Tools, run: str, state: str, status: str, **more: Any) -> None:
    token = await lease_on(tools, run, state)
    written = {"workflow_id": run, "state": state, "lease_token": token, "new_status": status}
    await tools.ok("update_workflow_control_plane", **written, **more)


async def test_a_run_is_started_from_a_document_and_then_by_its_name(tools: Tools) -> None:
    document = workflow()
    agent = f"agent-{document['workflow_name']}"
    await tools.ok("find_work", agent_id=agent)
    first = await tools.ok(
        "start_run", workflow_json=json.dumps(document), input_json={"n": 1}, agents_map_json={"A": agent, "B": agent}
    )
    assert (first["run_status"], first["existed"], first["warnings"]) == ("running", False, [])
    event = await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=50)
    assert (event["event"]["workflow_id"], event["event"]["target_state"]) == (first["workflow_id"], "A")
    second = await tools.ok("start_run", definition=f"{document['workflow_name']}@1")
    assert second["definition"] == first["definition"]
    assert second["workflow_id"] != first["workflow_id"]
    assert "'A', 'B'" in second["warnings"][0]


async def test_an_agent_that_nobody_knows_is_warned_of_and_kept(tools: Tools, application: Application) -> None:
    ids = {item: f"{item}-{secrets.token_hex(4)}" for item in ("typing-error", "called", "bound", "told")}
    await tools.ok("find_work", agent_id=ids["called"])
    application.keys.create((Scope.READ, Scope.WORK), agent_id=ids["bound"], label=None, life_s=60)
    application.inbox.put(ids["told"], "run:A:1:state_ready", {})
    assigned = {"A": [ids["typing-error"], ids["called"], ids["bound"]], "B": ids["told"]}
    for tool in ("create_workflow_control_plane", "start_run"):
        made = await tools.ok(tool, workflow_json=workflow(), agents_map_json=assigned)
        (warning,) = made["warnings"]
        assert f"'{ids['typing-error']}'. None of them" in warning
        assert not [agent_id for agent_id in list(ids.values())[1:] if agent_id in warning]
        read = await tools.ok("read_workflow_control_plane", workflow_id=made["workflow_id"])
        assert read["meta"]["agents"]["A"] == assigned["A"]


async def test_a_bare_machine_is_started_with_what_can_be_defaulted(tools: Tools) -> None:
    started = await tools.ok("start_run", workflow_json=TWO_TASKS["asl"])
    assert started["workflow_id"].startswith("unnamed-workflow-")


async def test_a_repeated_start_finds_the_run_and_another_is_refused(tools: Tools) -> None:
    document = workflow()
    first = await tools.ok("start_run", workflow_json=document, request_id="once")
    again = await tools.ok("start_run", workflow_json=document, request_id="once")
    assert (again["workflow_id"], again["existed"]) == (first["workflow_id"], True)
    await tools.refused("conflict", "start_run", workflow_json=document, request_id="once", tags_json=["other"])


async def test_a_start_says_what_is_wrong(tools: Tools) -> None:
    document = workflow()
    await tools.refused("invalid_argument", "start_run")
    await tools.refused("invalid_argument", "start_run", workflow_json=document, definition="x")
    await tools.refused("unknown_definition", "start_run", definition="nobody-started-this")
    wrong = await tools.refused("invalid_definition", "start_run", workflow_json={"asl": {}})
    assert wrong["problems"]
    await tools.ok("start_run", workflow_json=document)
    changed = workflow(workflow_name=document["workflow_name"], description="changed")
    await tools.refused("conflict", "start_run", workflow_json=changed)


async def test_the_planner_of_a_run_is_the_agent_of_the_key_that_started_it(application: Application) -> None:
    planner = key_of(Scope.READ, Scope.PLAN, agent_id=f"boss-{secrets.token_hex(4)}")
    started = await ask(application, planner, "start_run", workflow_json=workflow(), request_id="r")
    assert application.runs.read(started["workflow_id"]).planner_agent_id == planner.agent_id
    other = key_of(Scope.READ, Scope.PLAN, agent_id="somebody-else", name="key:other0000000")
    taken = await ask(application, other, "start_run", workflow_json=workflow(), workflow_id=started["workflow_id"])
    assert taken.code == "conflict"


async def test_a_run_is_repeated_from_a_state(tools: Tools) -> None:
    run = (await tools.ok("start_run", workflow_json=workflow(), agents_map_json={"A": "worker-1"}))["workflow_id"]
    await end(tools, run, "A", "succeeded", output_json={"price": 5})
    again = await tools.ok("rerun", workflow_id=run, from_state="B", reason="other rates", request_id="r")
    read = await tools.ok("read_workflow_control_plane", workflow_id=again["workflow_id"])
    assert (read["states"]["A"]["status"], read["inputs"]["B"]) == ("succeeded", {"price": 5})
    assert read["meta"]["rerun_of"] == run
    same = await tools.ok("rerun", workflow_id=run, from_state="B", reason="other rates", request_id="r")
    assert (same["workflow_id"], same["existed"]) == (again["workflow_id"], True)
    await tools.refused("invalid_argument", "rerun", workflow_id=run, from_state="B", input_json={})
    await tools.refused("cannot_rerun", "rerun", workflow_id=again["workflow_id"], from_state="A")


async def test_a_failed_run_goes_on_and_a_finalized_one_does_not(tools: Tools) -> None:
    run = (await tools.ok("start_run", workflow_json=workflow()))["workflow_id"]
    await tools.refused("cannot_retry", "retry_run", workflow_id=run)
    await end(tools, run, "A", "failed", error_name="NoRates")
    goes_on = await tools.ok("retry_run", workflow_id=run, reason="the rates are back", request_id="r")
    assert (goes_on["run_status"], goes_on["states"], goes_on["retried"]) == ("running", ["A"], 1)
    assert (await tools.ok("retry_run", workflow_id=run, request_id="r"))["repeated"]
    await end(tools, run, "A", "failed", error_name="NoRates")
    await tools.ok("finalize_workflow", workflow_id=run)
    refused = await tools.refused("cannot_retry", "retry_run", workflow_id=run)
    assert "rerun" in refused.hint
