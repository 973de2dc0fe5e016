"""Lease tokens are for their holder only: a whole run is made with known tokens, then everything said is searched."""

import json

import pytest

from dcf.application.application import Application
from tests.tools.calls import STEPS, Answer, Tools, new_run, run_orders

pytestmark = pytest.mark.anyio

CANARY = "canary-token"


async def test_nobody_but_the_holder_is_told_a_token(tools: Tools, application: Application, run_id: str) -> None:
    text: list[str] = []

    async def listen(answer: Answer) -> None:
        text.append(answer.text)

    await run_orders(tools, run_id, listen)
    history = [entry.as_json() for entry in application.history.after(run_id)]
    assert {entry["state"] for entry in history} >= set(STEPS)
    assert "lease-" not in "\n".join([*text, json.dumps(history)])


async def test_onlookers_see_that_a_state_is_held_and_not_the_token(
    tools: Tools, application: Application, run_id: str
) -> None:
    await new_run(tools, run_id)
    wish = {"workflow_id": run_id, "state": "A", "owner_agent_id": "worker-1"}
    mine = await tools.ok("acquire_state_lease", **wish, lease_token=CANARY)
    assert mine["lease"]["token"] == CANARY
    assert (await tools.ok("acquire_state_lease", **wish, lease_token=CANARY))["status"] == "lease_already_held"
    onlookers = [
        await tools.ok("read_workflow_control_plane", workflow_id=run_id, compute_readiness=True),
        await tools.refused("lease_held", "acquire_state_lease", **wish),
        await tools.refused("lease_lost", "renew_state_lease", workflow_id=run_id, state="A", lease_token="guess"),
        await tools.refused("lease_lost", "release_state_lease", workflow_id=run_id, state="A", lease_token="guess"),
        await tools.refused(
            "lease_lost", "update_workflow_control_plane", workflow_id=run_id, state="A", lease_token="guess"
        ),
        await tools.ok("notify_if_ready", workflow_id=run_id, state="A"),
        await tools.ok("notify_next_worker_agent", workflow_id=run_id),
        await tools.ok("await_workflow_event", agent_id="worker-1", timeout_s=0),
        await tools.ok("finalize_workflow", workflow_id=run_id),
    ]
    lease = onlookers[0]["states"]["A"]["lease"]
    assert (lease["token"], lease["owner_agent_id"]) == ("***", "worker-1")
    events = json.dumps([entry.as_json() for entry in application.history.after(run_id)])
    assert not any(CANARY in text for text in [events, *(answer.text for answer in onlookers)])


async def test_the_next_lease_comes_only_to_the_one_who_completed(tools: Tools, run_id: str) -> None:
    two = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}}
    await new_run(tools, run_id, two)
    answer = await tools.ok("claim_ready_state", workflow_id=run_id, owner_agent_id="worker-1", lease_token=CANARY)
    assert answer["state"] == "A"
    done = {"workflow_id": run_id, "state": "A", "lease_token": CANARY, "new_status": "succeeded", "claim_next": True}
    first = await tools.ok("update_workflow_control_plane", **done, output_json={"n": 1})
    token = first["work"]["lease_token"]
    assert first["work"]["state"] == "B"
    assert CANARY not in first.text
    again = await tools.ok("update_workflow_control_plane", **done, output_json={"n": 1})
    assert again["repeated"]
    assert again["work"]["lease_token"] == token
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert token not in read.text
