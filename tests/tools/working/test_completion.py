"""complete_states: several results in one call, each accepted or refused alone, and the requested number of leases."""

import pytest

from dcf.values.json_text import Json
from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio

SCORE: Json = {"StartAt": "Score", "States": {"Score": {"Type": "Task", "End": True}}}
EACH: Json = {
    "asl": {
        "StartAt": "Each",
        "States": {
            "Each": {"Type": "Map", "ItemProcessor": SCORE, "MaxConcurrency": 4, "Next": "After"},
            "After": {"Type": "Task", "End": True},
        },
    }
}
AGENTS: Json = {"Score": "worker-1", "After": "worker-1"}


async def begun(tools: Tools, run_id: str, size: int) -> list[dict[str, Json]]:
    """A run of a Map over N items, and the results of the first two of them."""
    await new_run(tools, run_id, EACH, agents_map_json=AGENTS, input_json=list(range(size)))
    return [await result(tools, run_id, number) for number in range(2)]


async def result(tools: Tools, run_id: str, number: int) -> dict[str, Json]:
    state = f"Each/{number}/Score"
    taken = await tools.ok("acquire_state_lease", workflow_id=run_id, state=state, owner_agent_id="worker-1")
    return {"state": state, "lease_token": taken["lease"]["token"], "output_json": number}


async def completed(tools: Tools, run_id: str, results: list[dict[str, Json]], claim_next: int = 0) -> Answer:
    return await tools.ok("complete_states", workflow_id=run_id, results=results, claim_next=claim_next)


def codes(answer: Answer) -> list[str]:
    return [item["code"] for item in answer["completed"]]


async def test_results_are_accepted_together_and_the_next_leases_come_along(tools: Tools, run_id: str) -> None:
    answer = await completed(tools, run_id, await begun(tools, run_id, 6), claim_next=3)
    assert codes(answer) == ["ok", "ok"]
    assert answer["run_status"] == "running"
    assert len(answer["work"]) == 3
    for lease in answer["work"]:
        assert lease["input"] == int(lease["state"].split("/")[1])
        assert lease["provenance"]


async def test_a_repeated_call_brings_the_same_leases(tools: Tools, run_id: str) -> None:
    results = await begun(tools, run_id, 6)
    first, again = [await completed(tools, run_id, results, claim_next=3) for _ in range(2)]
    assert [item["repeated"] for item in again["completed"]] == [True, True]
    tokens = [{item["state"]: item["lease_token"] for item in answer["work"]} for answer in (first, again)]
    assert tokens[0] == tokens[1]
    assert [item["input"] for item in again["work"]] == [item["input"] for item in first["work"]]


async def test_a_result_that_is_refused_says_why_and_the_others_count(tools: Tools, run_id: str) -> None:
    good, bad = await begun(tools, run_id, 2)
    answer = await completed(tools, run_id, [bad | {"lease_token": "forged"}, good])
    assert codes(answer) == ["lease_lost", "ok"]
    refusal = answer["completed"][0]
    assert refusal["error"].startswith("lease_lost: ")
    assert refusal["hint"].endswith(".")


async def test_the_last_results_end_the_run_and_failures_have_their_names(tools: Tools, run_id: str) -> None:
    good, bad = await begun(tools, run_id, 2)
    failed = {"state": bad["state"], "lease_token": bad["lease_token"], "error_name": "Broken", "error_message": "why"}
    answer = await completed(tools, run_id, [good, failed])
    assert answer["run_status"] == "failed"
    meta = (await tools.ok("read_workflow_control_plane", workflow_id=run_id))["meta"]
    assert (meta["error"], meta["cause"]) == ("Broken", "why")


async def test_a_single_result_may_bring_several_leases_too(tools: Tools, run_id: str) -> None:
    first, _ = await begun(tools, run_id, 8)
    answer = await completed(tools, run_id, [first], claim_next=3)
    assert len({item["state"] for item in answer["work"]}) == 3


async def test_a_state_that_does_not_exist_is_told_before_anything_is_written(tools: Tools, run_id: str) -> None:
    good, bad = await begun(tools, run_id, 2)
    for state in ("Nowhere", "Each/0/Nowhere"):
        await tools.refused(
            "unknown_state", "complete_states", workflow_id=run_id, results=[good, bad | {"state": state}]
        )
    assert codes(await completed(tools, run_id, [good, bad])) == ["ok", "ok"]


async def test_several_ready_states_are_claimed_with_one_call_and_found_again(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, EACH, agents_map_json=AGENTS, input_json=list(range(6)))
    wish = {"workflow_id": run_id, "owner_agent_id": "worker-1", "lease_token": f"lease-{run_id}", "claim_next": 3}
    result = []
    for _ in range(2):
        answer = await tools.ok("claim_ready_state", **wish)
        result.append(
            [(item["state"], item["lease_token"], item["input"]) for item in (answer["work"], *answer["more_work"])]
        )
    assert sorted(result[0]) == sorted(result[1])
    assert len({state for state, _, _ in result[0]}) == 3
    assert all(value == int(state.split("/")[1]) for state, _, value in result[0])
    results = [
        {"state": state, "lease_token": token, "output_json": output_json} for state, token, output_json in result[0]
    ]
    assert codes(await completed(tools, run_id, results)) == ["ok"] * 3
