"""A completion notifies the agents of the next states at once: without another call, and without the timer loop."""

import pytest

from tests.tools.calls import ONE_TASK, TWO_TASKS, Answer, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

WAIT = {"timeout_s": 20}


async def completed(tools: Tools, run_id: str, **more: object) -> Answer:
    """The completion of A, after which B is ready for `next-…`."""
    agents = {"A": "worker-1", "B": f"next-{run_id}"}
    await new_run(tools, run_id, TWO_TASKS, agents_map_json=agents)
    token = await lease_on(tools, run_id)
    done = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded", "output_json": 1}
    return await tools.ok("update_workflow_control_plane", **done, **more)


async def test_the_next_agent_is_woken_by_the_completion_alone(tools: Tools, run_id: str) -> None:
    await completed(tools, run_id)
    event = (await tools.ok("await_workflow_event", lease=False, agent_id=f"next-{run_id}", **WAIT))["event"]
    assert (event["target_state"], event["source_state"], event["reason"]) == ("B", "A", "upstream_done")


async def test_the_planner_is_told_of_the_end_by_the_last_completion(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, ONE_TASK, planner_agent_id=f"planner-{run_id}")
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    token = await lease_on(tools, run_id)
    done = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded"}
    await tools.ok("update_workflow_control_plane", **done)
    event = (await tools.ok("await_workflow_event", lease=False, agent_id=f"planner-{run_id}", **WAIT))["event"]
    assert (event["type"], event["status"]) == ("run_finished", "succeeded")


async def test_telling_the_next_agent_again_adds_nothing(tools: Tools, run_id: str) -> None:
    await completed(tools, run_id)
    first = await tools.ok("await_workflow_event", lease=False, agent_id=f"next-{run_id}", **WAIT)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id, source_state="A")
    again = await tools.ok(
        "await_workflow_event", lease=False, agent_id=f"next-{run_id}", timeout_s=0, ack_message_id=first["message_id"]
    )
    assert again["event"] is None


async def test_a_payload_that_comes_after_the_event_is_brought_by_another_event(tools: Tools, run_id: str) -> None:
    await completed(tools, run_id)
    first = await tools.ok("await_workflow_event", lease=False, agent_id=f"next-{run_id}", **WAIT)
    payload = {"look": "at this"}
    for _ in range(2):
        await tools.ok("notify_next_worker_agent", workflow_id=run_id, source_state="A", payload_json=payload)
    second = await tools.ok(
        "await_workflow_event", lease=False, agent_id=f"next-{run_id}", ack_message_id=first["message_id"], **WAIT
    )
    assert (second["event"]["target_state"], second["event"]["payload"]) == ("B", payload)


async def test_a_start_that_notifies_nobody_says_how_the_first_state_stands(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, ONE_TASK)
    await lease_on(tools, run_id)
    answer = await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    assert answer["status"] == f"Notified 0 target(s) for run '{run_id}': 'A' is running, and cannot be leased now."


async def test_a_notification_after_a_branch_says_that_dcf_notifies_the_next_agents(tools: Tools, run_id: str) -> None:
    branch = {"StartAt": "B", "States": {"B": {"Type": "Task", "End": True}}}
    states = {
        "Both": {"Type": "Parallel", "Branches": [branch], "Next": "D"},
        "D": {"Type": "Task", "End": True},
    }
    agents = {"B": f"branch-{run_id}", "D": f"after-{run_id}"}
    await new_run(tools, run_id, {"asl": {"StartAt": "Both", "States": states}}, agents_map_json=agents)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    work = (await tools.ok("await_workflow_event", agent_id=f"branch-{run_id}", timeout_s=50))["work"]
    place = {"workflow_id": run_id, "state": work["state"]}
    await tools.ok("update_workflow_control_plane", **place, lease_token=work["lease_token"], new_status="succeeded")
    event = await tools.ok("await_workflow_event", agent_id=f"after-{run_id}", timeout_s=50)
    assert event["work"]["state"] == "D"
    answer = await tools.ok("notify_next_worker_agent", workflow_id=run_id, source_state=work["state"])
    assert answer["status"].endswith("in its part of 'Both'; dcf notifies who comes after that.")
