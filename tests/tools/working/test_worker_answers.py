"""Answers to a worker that asks about a state without work, releases one, or reads the permitted words."""

import pytest

from dcf.verbs.registry import TOOLS
from tests.support.workflows.scopes import machine, parallel, task
from tests.tools.calls import ONE_TASK, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

AHEAD = {"asl": machine({"First": task("Both"), "Both": parallel({"Left": task()}, {"Right": task()})})}
"""A Parallel behind a Task, so that it is opened late."""


async def _done(tools: Tools, run_id: str, state: str) -> None:
    token = await lease_on(tools, run_id, state)
    await tools.ok(
        "update_workflow_control_plane", workflow_id=run_id, state=state, lease_token=token, new_status="succeeded"
    )


async def test_who_asks_about_a_finished_state_is_told_so_and_what_else_is_ready(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, AHEAD, agents_map_json=dict.fromkeys(("First", "Left", "Right"), "worker-1"))
    await _done(tools, run_id, "First")
    mine = await tools.ok("get_my_assignment", agent_id="worker-1", workflow_id=run_id, state="First")
    assert mine["status"] == "'First' is over: succeeded. 'Both/0/Left' is ready for you."
    assert {state["state"]: state["ready"] for state in mine["states"]} == {
        "Both/0/Left": True,
        "Both/1/Right": True,
        "First": False,
    }
    assert mine["next"][0]["tool"] == "acquire_state_lease"
    assert mine["next"][0]["arguments"]["state"] == "Both/0/Left"
    for state in ("Both/0/Left", "Both/1/Right"):
        await _done(tools, run_id, state)
    mine = await tools.ok("get_my_assignment", agent_id="worker-1", workflow_id=run_id, state="First")
    assert mine["status"] == "'First' is over: succeeded. Nothing else is ready for you now."
    assert [state["state"] for state in mine["states"]] == ["First"]


async def test_a_caller_that_asks_about_anothers_or_a_waiting_state_is_given_the_reason(
    tools: Tools, run_id: str
) -> None:
    agents = {"First": "worker-1", "Left": "worker-2", "Right": "worker-3"}
    await new_run(tools, run_id, AHEAD, agents_map_json=agents)

    async def told(agent_id: str, state: str) -> str:
        answer = await tools.ok("get_my_assignment", agent_id=agent_id, workflow_id=run_id, state=state)
        return str(answer["status"])

    assert await told("worker-1", "First") == "'First' is ready for you."
    assert await told("worker-2", "First") == "'First' is assigned to others. Nothing else is ready for you now."
    assert await told("worker-2", "Both/0/Left") == "'Both/0/Left' is not open. Nothing else is ready for you now."
    assert await told("worker-1", "Both") == "'Both' waits. 'First' is ready for you."
    await lease_on(tools, run_id, "First")
    assert await told("worker-1", "Both") == "'Both' waits. You hold 'First'."
    nothing = "'First' is under way, held by worker-1. Nothing else is ready for you now."
    assert await told("worker-3", "First") == nothing


async def test_a_state_that_no_parallel_has_opened_is_not_ready_to_be_announced(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, AHEAD, agents_map_json={"Left": "worker-1"})
    waits = await tools.ok("notify_if_ready", workflow_id=run_id, state="Both/0/Left")
    assert (waits["status"], waits["ready"], waits["skip_reason"]) == ("not_ready", False, "upstream_incomplete")
    answer = await tools.refused("unknown_state", "notify_if_ready", workflow_id=run_id, state="Both/2/Left")
    assert answer.broken


@pytest.mark.parametrize("word", ["succeeded", "done", "success", "succeed", "failed", "fail", "error", "Done"])
async def test_every_word_that_ends_a_state_is_named_where_a_worker_reads_it(
    tools: Tools, run_id: str, word: str
) -> None:
    described = TOOLS["update_workflow_control_plane"].arguments.model_fields["new_status"].description or ""
    final, _, rest = described.partition(", both final")
    assert word.lower() in final.replace(",", " ").replace(")", " ").replace("(", " ").split()
    assert "running" in rest
    assert "pending" in rest
    await new_run(tools, run_id, ONE_TASK)
    place = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    ended = await tools.ok("update_workflow_control_plane", **place, new_status=word)
    is_good = final.index(word.lower()) < final.index(" or ")
    assert ended["updated_state"]["status"] == ("succeeded" if is_good else "failed")


@pytest.mark.parametrize("tool", ["release_state_lease", "update_workflow_control_plane"])
async def test_giving_back_counts_as_an_attempt_and_the_description_says_so(
    tools: Tools, run_id: str, tool: str
) -> None:
    assert "the attempt counts" in TOOLS[tool].description
    await new_run(tools, run_id, ONE_TASK)
    place = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    await tools.ok(tool, **place, **({} if tool == "release_state_lease" else {"new_status": "pending"}))
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert (read["states"]["A"]["status"], read["states"]["A"]["attempts"]) == ("pending", 1)


async def test_the_inputs_of_all_states_together_are_not_too_long_for_one_answer(tools: Tools, run_id: str) -> None:
    inner = {"StartAt": "In", "States": {"In": {"Type": "Task", "End": True}}}
    each = {"Type": "Map", "ItemProcessor": inner, "End": True}
    document = {"asl": {"StartAt": "Each", "States": {"Each": each}}}
    await tools.ok(
        "create_workflow_control_plane",
        workflow_json=document,
        workflow_id=run_id,
        input_json=["x" * 9_000] * 3,
        agents_map_json={"In": f"agent-{run_id}"},
    )
    answer = await tools.ok("get_my_assignment", agent_id=f"agent-{run_id}", workflow_id=run_id)
    assert [state["input"] is None for state in answer["states"]] == [False, False, True]
    assert "json_read" in answer["states"][2]["input_left_out"]
