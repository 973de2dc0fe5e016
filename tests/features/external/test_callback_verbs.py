"""The tools of task tokens, through an MCP client."""

import json
import secrets
from typing import Any

import pytest

from tests.tools.calls import Tools, new_run

pytestmark = pytest.mark.anyio


def document(resource: str) -> dict[str, Any]:
    asks = {"Type": "Task", "Resource": resource, "Parameters": {"token.$": "$$.Task.Token"}, "Next": "B"}
    return {
        "workflow_name": "asks",
        "asl": {"StartAt": "A", "States": {"A": asks, "B": {"Type": "Task", "End": True}}},
    }


async def asking(tools: Tools, resource: str = "dcf:callback.waitForTaskToken") -> str:
    worked = {} if resource.startswith("dcf:") else {"A": "worker-1"}
    named = f"run-{secrets.token_hex(4)}"
    run = await new_run(tools, named, document(resource), agents_map_json={**worked, "B": "worker-1"})
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    return run


async def token_of(tools: Tools, run: str) -> str:
    read = await tools.ok("read_workflow_control_plane", workflow_id=run, states_json=["A"])
    token: str = read["inputs"]["A"]["token"]
    return token


async def test_a_callback_succeeds_once(tools: Tools) -> None:
    run = await asking(tools)
    token = await token_of(tools, run)
    alive = await tools.ok("send_task_heartbeat", task_token=token)
    assert (alive["workflow_id"], alive["state"], alive["heartbeat_due"]) == (run, "A", None)
    done = await tools.ok("send_task_success", task_token=token, output_json={"ok": True})
    assert (done["workflow_id"], done["state_status"], done["next_states"]) == (run, "succeeded", ["B"])
    again = await tools.ok("send_task_success", task_token=token, output_json='{"ok": true}')
    assert again["repeated"] is True
    refused = await tools.refused("task_token_used", "send_task_failure", task_token=token, error="Late")
    assert token not in refused.text
    await tools.refused("task_token_outdated", "send_task_heartbeat", task_token=token)


async def test_a_callback_fails_the_state(tools: Tools) -> None:
    run = await asking(tools)
    failed = await tools.ok("send_task_failure", task_token=await token_of(tools, run), error="No", cause="not allowed")
    assert (failed["state_status"], failed["run_status"]) == ("failed", "failed")


async def test_a_token_that_nobody_made_is_refused(tools: Tools) -> None:
    for tool in ("send_task_success", "send_task_failure", "send_task_heartbeat"):
        await tools.refused("task_token_unknown", tool, task_token="a-token")


async def test_a_worker_gets_the_token_with_its_lease_and_its_completion_waits(tools: Tools) -> None:
    run = await asking(tools, "mail.waitForTaskToken")
    worker = {"workflow_id": run, "state": "A", "owner_agent_id": "worker-1"}
    answer = await tools.ok("acquire_state_lease", **worker)
    assert answer["work"]["task_token"] == answer["work"]["input"]["token"]
    handed = {"workflow_id": run, "state": "A", "lease_token": answer["lease"]["token"], "new_status": "succeeded"}
    done = await tools.ok("update_workflow_control_plane", **handed, output_json={"sent": True})
    assert (done["next_states"], done["output_written"]) == ([], False)
    assert (done["updated_state"]["status"], done["updated_state"]["type"]) == ("running", "Callback")
    await tools.refused("not_ready", "acquire_state_lease", **worker)
    explained = await tools.ok("explain_run", workflow_id=run)
    (result,) = (finding for finding in explained["findings"] if finding["state"] == "A")
    assert result["cause"] == "waiting_for_callback"
    assert "`send_task_result(outcome=success)`" in result["remedy"]["sentence"]
    await tools.ok("send_task_success", task_token=answer["work"]["task_token"], output_json=1)
    claimed = await tools.ok("claim_ready_state", workflow_id=run, owner_agent_id="worker-1")
    assert (claimed["state"], claimed["work"]["input"]) == ("B", 1)
    assert "task_token" not in claimed["work"]


async def test_several_are_handed_out_in_one_call(tools: Tools) -> None:
    run = await asking(tools, "mail.waitForTaskToken")
    answer = await tools.ok("claim_ready_state", workflow_id=run, owner_agent_id="worker-1")
    results = [{"state": "A", "lease_token": answer["lease"]["token"], "output_json": None}]
    done = await tools.ok("complete_states", workflow_id=run, results=results)
    assert [item["code"] for item in done["completed"]] == ["ok"]
    await tools.ok("send_task_success", task_token=answer["work"]["task_token"], output_json=json.dumps("answer"))


async def test_no_reading_tool_shows_the_secret_of_a_run(tools: Tools, raw_redis: Any) -> None:
    run = await asking(tools)
    secret = raw_redis.get(f"cp:wf:{run}:secret").decode()
    read = await tools.call("read_workflow_control_plane", workflow_id=run)
    exported = await tools.call("export_run", workflow_id=run)
    looked = await tools.call("json_read", redis_key=f"cp:wf:{run}:secret")
    meta = await tools.call("json_read", redis_key=f"cp:wf:{run}:meta")
    assert secret not in read.text + exported.text + looked.text + meta.text
    assert looked.code != "ok"
