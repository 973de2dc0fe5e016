"""Outputs that do not match the OutputSchema of their Task: refused with all errors, and corrected by the sender."""

import json
import secrets
from typing import Any

import pytest

from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio

PRICE: dict[str, Any] = {
    "type": "object",
    "required": ["total", "currency"],
    "properties": {"total": {"type": "number", "minimum": 0}, "currency": {"enum": ["EUR", "USD"]}},
    "additionalProperties": False,
}
GOOD = {"total": 7.5, "currency": "EUR"}
BAD = {"total": "7.5", "curency": "EUR"}
WRONG = [
    {"path": "", "message": "'currency' is missing."},
    {"path": "/total", "message": 'Must be a number, not "7.5".'},
    {"path": "/curency", "message": "The schema has no 'curency'; it has total, currency."},
]
DONE = {"Type": "Task", "End": True}


def priced(**more: Any) -> dict[str, Any]:
    first = {"Type": "Task", "OutputSchema": PRICE, "Errors": ["OutOfStock"], **more, "Next": "Done"}
    return {"workflow_name": "priced", "asl": {"StartAt": "Price", "States": {"Price": first, "Done": DONE}}}


async def run_of(tools: Tools, document: dict[str, Any], *worked: str) -> str:
    agents = {"agents_map_json": dict.fromkeys((*worked, "Done"), "worker-1")}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", document, **agents)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    return run


async def held(tools: Tools, **more: Any) -> dict[str, Any]:
    """The arguments with which worker-1, who holds Price, writes."""
    run = await run_of(tools, priced(**more), "Price")
    worker = {"workflow_id": run, "state": "Price", "owner_agent_id": "worker-1"}
    taken = await tools.ok("acquire_state_lease", **worker)
    return {**worker, "lease_token": taken["lease"]["token"]}


async def deliver(tools: Tools, holder: dict[str, Any], output: Any, **more: Any) -> Answer:
    written = {"new_status": "succeeded", "output_json": json.dumps(output)}
    return await tools.call("update_workflow_control_plane", **holder, **written, **more)


async def state_of(tools: Tools, run: str) -> dict[str, Any]:
    read = await tools.ok("read_workflow_control_plane", workflow_id=run, states_json=["Price"])
    result: dict[str, Any] = read["states"]["Price"]
    return result


async def test_an_output_that_does_not_match_is_refused_with_all_that_is_wrong(tools: Tools) -> None:
    holder = await held(tools)
    before = await state_of(tools, holder["workflow_id"])
    answer = await deliver(tools, holder, BAD)
    assert answer.code == "output_invalid"
    assert answer["problems"] == WRONG
    assert "(2 more)" in answer.error
    assert "the lease is still yours" in answer.hint
    (call,) = answer["next"]
    assert (call["tool"], call["arguments"]["lease_token"]) == ("update_workflow_control_plane", holder["lease_token"])
    assert await state_of(tools, holder["workflow_id"]) == before


async def test_the_holder_mends_the_output_and_delivers_it_with_the_same_lease(tools: Tools) -> None:
    holder = await held(tools)
    await deliver(tools, holder, BAD)
    answer = await deliver(tools, holder, GOOD, claim_next=True)
    assert (answer.code, answer["next_states"], answer["work"]["input"]) == ("ok", ["Done"], GOOD)
    assert "problems" not in answer.payload
    again = await deliver(tools, holder, GOOD, claim_next=True)
    assert again["repeated"] is True


async def test_a_completion_without_an_output_is_checked_too(tools: Tools) -> None:
    holder = await held(tools)
    answer = await tools.refused("output_invalid", "update_workflow_control_plane", **holder, new_status="done")
    assert answer["problems"] == [{"path": "", "message": "Must be an object, not null."}]


async def test_a_part_that_was_stored_before_is_the_output_that_is_checked(tools: Tools) -> None:
    holder = await held(tools)
    await tools.ok("update_workflow_control_plane", **holder, output_json=BAD)
    await tools.refused("output_invalid", "update_workflow_control_plane", **holder, new_status="done")
    await tools.ok("update_workflow_control_plane", **holder, output_json=GOOD)
    done = await tools.ok("update_workflow_control_plane", **holder, new_status="done")
    assert done["next_states"] == ["Done"]


async def test_a_failure_needs_no_output(tools: Tools) -> None:
    holder = await held(tools)
    failed = {"new_status": "failed", "error_name": "OutOfStock", "error_message": "none left"}
    done = await tools.ok("update_workflow_control_plane", **holder, **failed)
    assert done["run_status"] == "failed"
    assert "note" not in done.payload


async def test_a_failure_of_another_name_is_taken_and_noted(tools: Tools) -> None:
    holder = await held(tools)
    done = await tools.ok("update_workflow_control_plane", **holder, new_status="failed", error_name="OutOfStok")
    assert done["run_status"] == "failed"
    assert done["note"] == (
        "'OutOfStok' is not among the Errors of 'Price' (OutOfStock). Did you mean 'OutOfStock'? It was recorded."
    )


async def test_names_that_any_task_may_fail_with_are_not_noted(tools: Tools) -> None:
    holder = await held(tools)
    done = await tools.ok("update_workflow_control_plane", **holder, new_status="failed", error_name="States.Timeout")
    assert "note" not in done.payload


async def test_of_several_results_only_those_that_match_are_taken(tools: Tools) -> None:
    rate = {"Type": "Task", "OutputSchema": PRICE, "Errors": ["Late"], "End": True}
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "Rate", "States": {"Rate": rate}}, "Next": "Done"}
    document = {"asl": {"StartAt": "Each", "States": {"Each": each, "Done": DONE}}}
    run = await new_run(
        tools,
        f"run-{secrets.token_hex(4)}",
        document,
        agents_map_json={"Rate": "worker-1", "Done": "worker-1"},
        input_json=[1, 2, 3],
    )
    results: list[dict[str, Any]] = []
    for number, output in enumerate([BAD, GOOD, {}]):
        state = f"Each/{number}/Rate"
        taken = await tools.ok("acquire_state_lease", workflow_id=run, state=state, owner_agent_id="worker-1")
        results.append({"state": state, "lease_token": taken["lease"]["token"], "output_json": output})
    results[2] |= {"error_name": "Broken"}
    answer = await tools.ok("complete_states", workflow_id=run, results=results)
    first, second, third = answer["completed"]
    assert (first["code"], first["problems"]) == ("output_invalid", WRONG)
    assert (second["code"], third["code"]) == ("ok", "ok")
    assert third["note"].startswith("'Broken' is not among the Errors of 'Each/2/Rate' (Late).")


async def test_whoever_has_a_task_token_mends_the_output_too(tools: Tools) -> None:
    asks = {"Resource": "dcf:callback.waitForTaskToken", "Parameters": {"token.$": "$$.Task.Token"}}
    run = await run_of(tools, priced(**asks))
    read = await tools.ok("read_workflow_control_plane", workflow_id=run, states_json=["Price"])
    token = read["inputs"]["Price"]["token"]
    answer = await tools.refused("output_invalid", "send_task_success", task_token=token, output_json=BAD)
    assert answer["problems"] == WRONG
    assert "same task token" in answer.hint
    done = await tools.ok("send_task_success", task_token=token, output_json=GOOD)
    assert done["next_states"] == ["Done"]


async def test_what_an_agent_says_who_hands_a_token_out_is_no_output(tools: Tools) -> None:
    holder = await held(tools, Resource="arn:aws:states:::lambda:invoke.waitForTaskToken")
    assert (await deliver(tools, holder, "handed out")).code == "ok"


async def test_an_answer_of_a_person_must_match_too(operator: Tools) -> None:
    schema = {"properties": {"comment": {"type": "string"}}}
    asks = {"Resource": "dcf:human", "Parameters": {"to": "alice", "title": "Approve it"}, "OutputSchema": schema}
    run = await run_of(operator, priced(**asks))
    reply = {"workflow_id": run, "state": "Price", "agent_id": "alice", "choice": "approve"}
    answer = await operator.refused("output_invalid", "answer_human_task", **reply)
    assert answer["problems"] == [{"path": "/comment", "message": "Must be a string, not null."}]
    done = await operator.ok("answer_human_task", **reply, comment="fine")
    assert done["next_states"] == ["Done"]


async def test_whoever_ends_a_state_by_hand_is_told_too_and_may_force_it(tools: Tools) -> None:
    run = (await held(tools))["workflow_id"]
    wish = {"workflow_id": run, "state": "Price", "output_json": BAD}
    answer = await tools.refused("output_invalid", "resolve_state", **wish)
    assert answer["problems"] == WRONG
    assert "force" in answer.hint
    done = await tools.ok("resolve_state", **wish, force=True)
    assert done["next_states"] == ["Done"]
    read = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert read["inputs"]["Done"] == BAD


async def test_force_without_an_output_makes_no_sense(tools: Tools) -> None:
    run = (await held(tools))["workflow_id"]
    await tools.refused("invalid_argument", "resolve_state", workflow_id=run, state="Price", skip=True, force=True)


async def test_a_state_that_is_skipped_by_hand_passes_its_input_on_unchecked(tools: Tools) -> None:
    run = (await held(tools))["workflow_id"]
    done = await tools.ok("resolve_state", workflow_id=run, state="Price", skip=True)
    assert done["next_states"] == ["Done"]


async def test_many_problems_are_cut_and_nothing_unprintable_is_told(tools: Tools) -> None:
    holder = await held(tools)
    answer = await deliver(tools, holder, {**GOOD, **{f"\u202e{number}": "x" * 9_000 for number in range(25)}})
    assert len(answer["problems"]) == 20
    assert "(19 or more)" in answer.error
    assert all(problem["path"].isprintable() and len(problem["message"]) < 400 for problem in answer["problems"])


# The brief of a worker


async def test_an_assignment_tells_what_the_task_says(tools: Tools) -> None:
    document = priced(Instructions="Price order {% $states.input.id %}.")
    agent = f"agent-{secrets.token_hex(4)}"
    arguments = {"agents_map_json": {"Price": agent, "Done": agent}, "input_json": {"id": 7}}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", document, **arguments)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    for state in (None, "Price"):
        mine = await tools.ok("get_my_assignment", agent_id=agent, workflow_id=run, state=state)
        price = next(state for state in mine["states"] if state["state"] == "Price")
        assert (price["instructions"], price["output_schema"], price["errors"]) == (
            "Price order 7.",
            PRICE,
            ["OutOfStock"],
        )
        assert list(price)[-1] == "input"
    others = [
        state for state in (await tools.ok("get_my_assignment", agent_id=agent))["states"] if state["state"] == "Done"
    ]
    assert all("instructions" not in other for other in others)
    taken = await tools.ok("acquire_state_lease", workflow_id=run, state="Price", owner_agent_id=agent)
    assert taken["work"]["instructions"] == "Price order 7."
    assert taken["work"]["output_schema"] == PRICE


async def test_instructions_that_cannot_be_shown_do_not_keep_the_work_away(tools: Tools) -> None:
    run = await run_of(tools, priced(Instructions="Price {% $states.input.id + 1 %}."), "Price")
    mine = await tools.ok("get_my_assignment", agent_id="worker-1", workflow_id=run, state="Price")
    assert mine["states"][0]["instructions"].startswith("Price [cannot be shown: ")
    await tools.ok("acquire_state_lease", workflow_id=run, state="Price", owner_agent_id="worker-1")


async def test_of_long_instructions_an_assignment_says_where_they_are(tools: Tools) -> None:
    rate = {"Type": "Task", "Instructions": "x" * 9_000, "End": True}
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "Rate", "States": {"Rate": rate}}, "End": True}
    agent = f"agent-{secrets.token_hex(4)}"
    arguments = {"agents_map_json": {"Rate": agent}, "input_json": [1, 2, 3]}
    document = {"asl": {"StartAt": "Each", "States": {"Each": each}}}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", document, **arguments)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    mine = await tools.ok("get_my_assignment", agent_id=agent, workflow_id=run)
    assert ["instructions" in state for state in mine["states"]] == [True, True, False]
    assert "acquire_state_lease" in mine["states"][2]["instructions_left_out"]
