"""The visit that a lease holder gets: the same for all attempts, another whenever control enters the state again."""

from typing import Any

import pytest

from tests.tools.calls import Tools, new_run

pytestmark = pytest.mark.anyio

AGAIN = {"ErrorEquals": ["Busy"], "IntervalSeconds": 1, "MaxAttempts": 3, "MaxDelaySeconds": 1}
LOOP = {
    "asl": {
        "StartAt": "Work",
        "States": {
            "Work": {"Type": "Task", "Next": "More"},
            "More": {
                "Type": "Choice",
                "Choices": [{"Variable": "$", "IsBoolean": True, "Next": "Work"}],
                "Default": "End",
            },
            "End": {"Type": "Succeed"},
        },
    }
}
EACH = {
    "asl": {
        "StartAt": "Each",
        "States": {
            "Each": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "Score", "States": {"Score": {"Type": "Task", "End": True}}},
                "End": True,
            }
        },
    }
}


async def lease(tools: Tools, run_id: str, state: str) -> tuple[str, int]:
    """Lease a state: the token, and the visit that the holder gets."""
    granted = await tools.ok("acquire_state_lease", workflow_id=run_id, state=state, owner_agent_id="me")
    return granted["lease"]["token"], granted["updated_state"]["entry_epoch"]


async def write(tools: Tools, run_id: str, state: str, token: str, **result: Any) -> Any:
    return await tools.ok("update_workflow_control_plane", workflow_id=run_id, state=state, lease_token=token, **result)


async def test_another_attempt_is_the_same_visit_and_another_turn_of_a_loop_is_not(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, LOOP, agents_map_json={"Work": "me"})
    token, first = await lease(tools, run_id, "Work")
    assert first > 0, "of the first state, when the run was created"
    await tools.ok("release_state_lease", workflow_id=run_id, state="Work", lease_token=token)
    token, again = await lease(tools, run_id, "Work")
    assert again == first
    done = {"new_status": "succeeded", "output_json": True, "claim_next": True, "owner_agent_id": "me"}
    answer = await write(tools, run_id, "Work", token, **done)
    second = answer["work"]["entry_epoch"]
    assert second > first
    token = answer["work"]["lease_token"]
    await tools.ok("release_state_lease", workflow_id=run_id, state="Work", lease_token=token)
    assert (await lease(tools, run_id, "Work"))[1] == second


TURNS = {
    "asl": {
        "StartAt": "Before",
        "States": {
            "Before": {"Type": "Task", "Next": "Each"},
            "Each": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "Pay", "States": {"Pay": {"Type": "Task", "End": True}}},
                "Next": "More",
            },
            "More": {
                "Type": "Choice",
                "Choices": [{"Variable": "$[0]", "NumericEquals": 1, "Next": "Each"}],
                "Default": "End",
            },
            "End": {"Type": "Succeed"},
        },
    }
}


async def test_the_first_state_of_an_iteration_has_one_visit_however_it_is_leased(tools: Tools, run_id: str) -> None:
    """An effect outside was repeated where one attempt was leased with a completion and the next by name."""
    await new_run(tools, run_id, TURNS, agents_map_json={"Before": "me", "Pay": "me"})
    token, _ = await lease(tools, run_id, "Before")
    done = {"new_status": "succeeded", "output_json": [1, 1, 1], "claim_next": True, "owner_agent_id": "me"}
    visits = []
    for _ in range(2):  # also where the answer was lost
        mine = (await write(tools, run_id, "Before", token, **done))["work"]
        visits.append(mine["entry_epoch"])
    give_back = {"workflow_id": run_id, "state": mine["state"]}
    await tools.ok("release_state_lease", **give_back, lease_token=mine["lease_token"])
    token, visit = await lease(tools, run_id, mine["state"])
    await tools.ok("release_state_lease", **give_back, lease_token=token)
    answer = await tools.ok("claim_ready_state", workflow_id=run_id, owner_agent_id="me", claim_next=3)
    visits += [
        visit,
        answer["updated_state"]["entry_epoch"],
        *(element["entry_epoch"] for element in answer["more_work"]),
    ]
    assert len(visits) == 6
    assert set(visits) == {visit}
    for item in (answer["work"], *answer["more_work"]):
        await write(tools, run_id, item["state"], item["lease_token"], new_status="succeeded", output_json=1)
    assert (await lease(tools, run_id, "Each/0/Pay"))[1] > visit, "another turn of the loop"


async def test_a_run_that_is_made_again_under_the_same_id_has_other_visits(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, LOOP, agents_map_json={"Work": "me"})
    _, first = await lease(tools, run_id, "Work")
    await tools.ok("cancel_run", workflow_id=run_id)
    await tools.ok("delete_run", workflow_id=run_id)
    await new_run(tools, run_id, LOOP, agents_map_json={"Work": "me"})
    assert (await lease(tools, run_id, "Work"))[1] > first


async def test_a_run_that_is_retried_goes_on_in_the_same_visit(tools: Tools, run_id: str) -> None:
    """A failed attempt may have had its effect outside; the same key finds it there."""
    for flow, state in ((LOOP, "Work"), (EACH, "Each/1/Score")):
        run = f"{run_id}-{state[:4]}"
        agents = {state.rpartition("/")[2]: "me"}
        await new_run(tools, run, flow, input_json=[1, 2], agents_map_json=agents)
        token, first = await lease(tools, run, state)
        await write(tools, run, state, token, new_status="failed", error_name="Broken")
        await tools.ok("retry_run", workflow_id=run)
        assert (await lease(tools, run, state))[1] == first, state
