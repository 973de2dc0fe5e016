"""Signals through the tools: who may send, and what clients see."""

import secrets

import pytest

from dcf.application.application import Application
from tests.support.workflows.machines import Document, workflow
from tests.tools.access import PLANNER, WORKER, ask, key_of
from tests.tools.calls import Tools, new_run

pytestmark = pytest.mark.anyio

WAITS: Document = workflow(
    {"Paid": {"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": "paid"}, "End": True}}
)


async def test_a_client_sends_a_signal_and_hears_which_state_it_ended(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, WAITS, agents_map_json={})
    seen = await tools.ok("explain_run", workflow_id=run_id)
    assert seen["findings"][0]["cause"] in {"waiting_for_signal", "not_started"}
    answer = await tools.ok("send_signal", workflow_id=run_id, name="paid", payload_json='{"n": 1}', request_id="p")
    assert (answer["state"], answer["kept"], answer["run_status"]) == ("Paid", False, "succeeded")
    again = await tools.ok("send_signal", workflow_id=run_id, name="paid", payload_json={"n": 1}, request_id="p")
    assert (again["repeated"], again["state"]) == (True, "Paid")
    await tools.refused("run_over", "send_signal", workflow_id=run_id, name="paid")


async def test_kept_signals_are_seen_in_what_is_read_of_a_run(tools: Tools, run_id: str) -> None:
    before = {"Work": {"Type": "Task", "Next": "Paid"}, **WAITS["asl"]["States"]}
    await new_run(tools, run_id, workflow(before), agents_map_json={})
    assert (await tools.ok("send_signal", workflow_id=run_id, name="paid", payload_json=1))["kept"] is True
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert [(signal["number"], signal["name"]) for signal in read["meta"]["signals"]] == [(1, "paid")]
    await tools.refused("unknown_signal", "send_signal", workflow_id=run_id, name="pad")


async def test_only_the_planner_of_a_run_sends_signals_into_it(alone: Application) -> None:
    run = f"run-{secrets.token_hex(4)}"
    await ask(alone, key_of(*PLANNER), "start_run", workflow_json=WAITS, workflow_id=run)
    assert (await ask(alone, key_of(*WORKER), "send_signal", workflow_id=run, name="paid")).code == "forbidden"
    bound = key_of(*PLANNER, agent_id="somebody")
    assert (await ask(alone, bound, "send_signal", workflow_id=run, name="paid")).code == "forbidden"
