"""The tools that operate a run, through an MCP client."""

import secrets

import pytest

from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


async def started(tools: Tools) -> str:
    """A run whose first state, A, worker-1 holds."""
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", TWO_TASKS)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    await tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="worker-1", lease_token=f"t-{run}")
    return run


async def test_a_run_is_paused_and_resumed(tools: Tools) -> None:
    run = await started(tools)
    paused = await tools.ok("pause_run", workflow_id=run, reason="lunch")
    assert (paused["run_status"], paused["repeated"]) == ("running", False)
    assert paused["paused_at"]
    await tools.ok("renew_state_lease", workflow_id=run, state="A", lease_token=f"t-{run}")
    holding = {
        "workflow_id": run,
        "state": "A",
        "lease_token": f"t-{run}",
        "new_status": "succeeded",
        "claim_next": True,
    }
    completed = await tools.ok("update_workflow_control_plane", **holding, output_json={})
    assert (completed["next_states"], "work" in completed.payload) == (["B"], False)
    worker = {"workflow_id": run, "owner_agent_id": "worker-1"}
    refused = await tools.refused("run_paused", "acquire_state_lease", **worker, state="B")
    assert "operate_run(action=resume)" in refused.hint
    await tools.refused("run_paused", "claim_ready_state", **worker)
    await tools.refused("run_paused", "notify_next_worker_agent", workflow_id=run)
    read = await tools.ok("read_workflow_control_plane", workflow_id=run, compute_readiness=True)
    assert (read["status"], read["readiness"]) == (f"Run '{run}' is paused.", {"A": False, "B": False})
    woken = await tools.ok("notify_if_ready", workflow_id=run, state="B")
    assert woken["skip_reason"] == "run_paused"
    mine = await tools.ok("get_my_assignment", agent_id="worker-1", workflow_id=run)
    assert mine["status"] == "The run is paused: nothing can be taken until it is resumed."
    assert [step["tool"] for step in mine["next"]] == ["await_workflow_event"]
    resumed = await tools.ok("resume_run", workflow_id=run)
    assert (resumed["paused_at"], resumed["announced"]) == (None, 1)
    await tools.ok("claim_ready_state", **worker)


async def test_a_run_is_cancelled_once(tools: Tools) -> None:
    run = await started(tools)
    await tools.ok("cancel_run", workflow_id=run, request_id="r1")
    again = await tools.ok("cancel_run", workflow_id=run, request_id="r1")
    assert (again["run_status"], again["repeated"]) == ("cancelled", True)
    late = {"workflow_id": run, "state": "A", "lease_token": f"t-{run}", "new_status": "succeeded"}
    refused = await tools.refused("terminal", "update_workflow_control_plane", **late, output_json={})
    assert "cancelled" in refused.error
    await tools.refused("conflict", "pause_run", workflow_id=run, request_id="r1")
    await tools.refused("run_over", "resume_run", workflow_id=run)
    closed = await tools.ok("finalize_workflow", workflow_id=run)
    assert closed["summary"]["final_status"] == "cancelled"


async def test_a_state_is_resolved(tools: Tools) -> None:
    run = await started(tools)
    done = await tools.ok("resolve_state", workflow_id=run, state="A", output_json='{"by": "hand"}', reason="by phone")
    assert (done["state_status"], done["run_status"], done["next_states"]) == ("succeeded", "running", ["B"])
    late = {"workflow_id": run, "state": "A", "lease_token": f"t-{run}", "new_status": "succeeded"}
    await tools.refused("lease_lost", "update_workflow_control_plane", **late, output_json={})
    answer = await tools.ok("resolve_state", workflow_id=run, state="B", assign_json=["worker-2"])
    assert answer["assigned"] == ["worker-2"]
    over = await tools.ok("resolve_state", workflow_id=run, state="B", skip=True)
    assert over["run_status"] == "succeeded"
    read = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert read["outputs"] == {"A": {"by": "hand"}, "B": {"by": "hand"}}
    await tools.refused("run_over", "resolve_state", workflow_id=run, state="B", skip=True)


async def test_a_state_is_resolved_in_one_way(tools: Tools) -> None:
    run = await started(tools)
    await tools.refused("invalid_argument", "resolve_state", workflow_id=run, state="A")
    await tools.refused("invalid_argument", "resolve_state", workflow_id=run, state="A", skip=True, error="E")
    await tools.refused("unknown_state", "resolve_state", workflow_id=run, state="Nobody", skip=True)
    failed = await tools.ok("resolve_state", workflow_id=run, state="A", error="ByHand", cause="cannot be done")
    assert (failed["state_status"], failed["run_status"]) == ("failed", "failed")
