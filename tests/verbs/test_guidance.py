"""Every answer says what comes next, and what is almost right is met with what was probably meant."""

import json
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.answers.guidance import AFTER
from dcf.verbs.registry import TOOLS
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.scopes import each, task
from tests.tools.access import PLANNER, WORKER, ask, key_of
from tests.tools.calls import ONE_TASK, ORDER_WORKFLOW, TWO_TASKS, Answer, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

UPDATE = "update_workflow_control_plane"


def next_of(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    return [(step["tool"], step["arguments"]) for step in answer["next"]]


def test_what_is_said_to_follow_is_about_tools_that_there_are() -> None:
    assert set(AFTER) <= set(TOOLS)


@rows(
    ("tool", "wrong", "right"),
    [
        ("await_workflow_event", "agent", "agent_id"),
        ("await_workflow_event", "owner_agent_id", "agent_id"),
        ("acquire_state_lease", "agent_id", "owner_agent_id"),
        (UPDATE, "status", "new_status"),
        (UPDATE, "output", "output_json"),
        (UPDATE, "lease_tokn", "lease_token"),
        ("read_workflow_control_plane", "run_id", "workflow_id"),
        ("resolve_state", "error_name", "error"),
    ],
)
async def test_an_argument_by_another_name_is_met_with_its_name_and_the_call_to_make(
    tools: Tools, tool: str, wrong: str, right: str
) -> None:
    answer = await tools.refused("invalid_argument", tool, **{wrong: "x-1"})
    assert answer.hint.startswith(f"Did you mean {right}? The arguments are: ")
    assert next_of(answer) == [(tool, {right: "x-1"})]


async def test_names_that_are_like_nothing_are_met_with_the_list_alone(tools: Tools) -> None:
    answer = await tools.refused("invalid_argument", "read_workflow_control_plane", zzz=1)
    assert answer.hint.startswith("The arguments are: workflow_id, ")
    assert "redis_url" not in answer.hint
    assert "next" not in answer.payload


async def test_a_missing_argument_is_met_with_the_call_that_has_a_place_for_it(tools: Tools) -> None:
    answer = await tools.refused("invalid_argument", "acquire_state_lease", workflow_id="r")
    mended = {"workflow_id": "r", "state": "<state>", "owner_agent_id": "<owner_agent_id>"}
    assert next_of(answer) == [("acquire_state_lease", mended)]


async def test_long_values_are_not_repeated_in_the_call_to_make(tools: Tools) -> None:
    answer = await tools.refused("invalid_argument", UPDATE, output={"text": "x" * 1000}, workflow_id="r")
    assert next_of(answer) == [(UPDATE, {"output_json": "<as you sent it>", "workflow_id": "r"})]


async def test_an_unknown_run_is_met_with_the_one_that_is_called_almost_so(tools: Tools, run_id: str) -> None:
    await new_run(tools, f"{run_id}-orders")
    answer = await tools.refused("unknown_run", "read_workflow_control_plane", workflow_id=f"{run_id}-ordres")
    assert answer.hint.startswith(f"Did you mean '{run_id}-orders'?")
    assert next_of(answer)[0] == ("read_workflow_control_plane", {"workflow_id": f"{run_id}-orders"})
    assert next_of(answer)[1][0] == "list_runs"


@pytest.mark.parametrize("said", ["score", "Scores", "Each/0/score", "Each/0/Scor"])
async def test_an_unknown_state_is_met_with_the_one_that_is_called_almost_so(
    tools: Tools, run_id: str, said: str
) -> None:
    document = {"asl": {"StartAt": "Each", "States": {"Each": each({"Score": task()})}}}
    await new_run(tools, run_id, document, agents_map_json={"Score": "worker-1"}, input_json=[1])
    wish = {"workflow_id": run_id, "owner_agent_id": "worker-1"}
    answer = await tools.refused("unknown_state", "acquire_state_lease", state=said, **wish)
    assert answer.hint.startswith("Did you mean 'Each/0/Score'?")
    tool, arguments = next_of(answer)[0]
    assert (await tools.ok(tool, **arguments))["work"]["input"] == 1


PRICES: dict[str, Any] = {
    "asl": {
        "StartAt": "First",
        "States": {
            "First": {"Type": "Task", "Next": "Both"},
            "Both": {
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "Price", "States": {"Price": task()}},
                    {"StartAt": "Ship", "States": {"Ship": task()}},
                ],
                "End": True,
            },
        },
    }
}


@rows(
    ("tool", "arguments"),
    [
        ("acquire_state_lease", {"state": "Price", "owner_agent_id": "worker-1"}),
        ("notify_next_worker_agent", {"source_state": "Price"}),
        ("notify_if_ready", {"state": "price"}),
    ],
)
async def test_a_state_in_a_branch_is_named_by_its_path_before_the_branch_begins(
    tools: Tools, run_id: str, tool: str, arguments: dict[str, Any]
) -> None:
    await new_run(tools, run_id, PRICES, agents_map_json={"Price": "worker-1"})
    answer = await tools.refused("unknown_state", tool, workflow_id=run_id, **arguments)
    assert answer.hint.startswith("Did you mean 'Both/0/Price'?")
    assert "Both/0/Price" in next_of(answer)[0][1].values()


@rows("said", [["First", "Price", "Ship"], '["First", "Price", "Ship"]'])
async def test_a_list_of_states_is_met_with_their_paths(tools: Tools, run_id: str, said: Any) -> None:
    await new_run(tools, run_id, PRICES, agents_map_json={"First": "worker-1"})
    answer = await tools.refused("unknown_state", "read_workflow_control_plane", workflow_id=run_id, states_json=said)
    tool, arguments = next_of(answer)[0]
    assert json.loads(arguments["states_json"]) == ["First", "Both/0/Price", "Both/1/Ship"]
    assert "First" in (await tools.ok(tool, **arguments))["states"]


@pytest.mark.parametrize("word", ["complete", "completed", "finished", "sucess"])
async def test_a_status_that_there_is_not_is_met_with_the_one_that_is_meant(
    tools: Tools, run_id: str, word: str
) -> None:
    await new_run(tools, run_id)
    holding = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    answer = await tools.refused("invalid_argument", UPDATE, **holding, new_status=word)
    assert answer.hint.startswith("Did you mean 'succeeded'?")
    assert next_of(answer) == [(UPDATE, {**holding, "new_status": "succeeded"})]


async def test_a_word_that_stands_for_another_status_is_said_to(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    holding = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    answer = await tools.ok(UPDATE, **holding, new_status="done", output_json=1)
    assert "succeeded ('done' means succeeded), and its output is stored." in answer["status"]


async def test_a_failure_says_when_the_state_is_tried_again_or_that_it_is_final(tools: Tools, run_id: str) -> None:
    retry = [{"ErrorEquals": ["Odd"], "IntervalSeconds": 60, "MaxAttempts": 1}]
    document = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, "Retry": retry}}}}
    await new_run(tools, run_id, document)
    holding = {"workflow_id": run_id, "state": "A", "new_status": "failed", "claim_next": True}
    token = await lease_on(tools, run_id)
    again = await tools.ok(UPDATE, **holding, lease_token=token, error_name="Odd")
    assert again["retry_at"] in again["status"]
    assert next_of(again)[0][0] == "await_workflow_event"
    await new_run(tools, f"{run_id}-2", document)
    token = await lease_on(tools, f"{run_id}-2")
    final = await tools.ok(UPDATE, **holding | {"workflow_id": f"{run_id}-2"}, lease_token=token, error_name="Even")
    assert "that is final: the run is failed." in final["status"]
    assert "retry_at" not in final.payload


async def test_after_one_item_of_a_map_a_worker_hears_the_truth_about_the_others(tools: Tools, run_id: str) -> None:
    work = {"Type": "Task", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Out"}], "End": True}
    each = {"StartAt": "Work", "States": {"Work": work, "Out": {"Type": "Pass", "End": True}}}
    states = {"Each": {"Type": "Map", "ItemProcessor": each, "Next": "Last"}, "Last": {"Type": "Task", "End": True}}
    agents = {"Work": "worker-1", "Last": "worker-1"}
    document = {"asl": {"StartAt": "Each", "States": states}}
    await new_run(tools, run_id, document, agents_map_json=agents, input_json=[1, 2])
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    first = {"workflow_id": run_id, "state": "Each/0/Work", "owner_agent_id": "worker-1"}
    token = await lease_on(tools, run_id, first["state"])
    done = await tools.ok(UPDATE, **first, lease_token=token, new_status="succeeded", output_json=1)
    assert "nothing to do" not in done.text
    token = await lease_on(tools, run_id, "Each/1/Work")
    other = first | {"state": "Each/1/Work", "new_status": "failed", "error_name": "Odd"}
    caught = await tools.ok(UPDATE, **other, lease_token=token)
    assert "failed; that is handled, and Last can start." in caught["status"]


async def test_a_second_result_does_not_look_stored(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    holding = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    await tools.ok(UPDATE, **holding, new_status="succeeded", output_json={"n": 1})
    for other in ({"new_status": "succeeded", "output_json": {"n": 2}}, {"new_status": "failed", "error_name": "E"}):
        answer = await tools.refused("already_completed", UPDATE, **holding, **other)
        assert answer["stored"]["output"] == {"n": 1}
        assert "correct_result" in answer.hint
    same = await tools.ok(UPDATE, **holding, new_status="succeeded", output_json={"n": 1})
    assert "nothing was written now" in same["status"]


async def expired(tools: Tools, run: str, raw_redis: Any) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a renewal is met with whose lease has expired."""
    await new_run(tools, run)
    token = await lease_on(tools, run)
    past = "2001-01-01T00:00:00.000000Z"
    set_member(raw_redis.execute_command, f"cp:wf:{run}:state:A", ("lease", "expires_at"), past)
    place = {"workflow_id": run, "state": "A", "lease_token": token}
    return next_of(await tools.refused("lease_expired", "renew_state_lease", **place))


async def test_after_its_lease_expired_a_worker_hears_that_it_may_still_deliver(
    tools: Tools, run_id: str, raw_redis: Any
) -> None:
    written, arguments = (await expired(tools, run_id, raw_redis))[0]
    assert written == UPDATE
    await tools.ok(written, **arguments | {"output_json": 1})


async def test_after_its_lease_expired_a_worker_hears_how_to_go_on_with_it(
    tools: Tools, run_id: str, raw_redis: Any
) -> None:
    taken, arguments = (await expired(tools, run_id, raw_redis))[1]
    assert taken == "acquire_state_lease"
    await tools.ok(taken, **arguments | {"owner_agent_id": "worker-1"})


async def test_every_refusal_of_a_worker_names_the_next_call(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS, agents_map_json={"A": "one", "B": "two"})
    item = {"workflow_id": run_id, "owner_agent_id": "one"}
    await tools.ok("acquire_state_lease", state="A", **item)
    refusals = [
        await tools.refused("lease_held", "acquire_state_lease", state="A", lease_token="another", **item),
        await tools.refused("not_ready", "acquire_state_lease", state="B", **item | {"owner_agent_id": "two"}),
        await tools.refused("nothing_ready", "claim_ready_state", **item),
        await tools.refused("token_required", UPDATE, state="A", new_status="succeeded", **item),
        await tools.refused("lease_lost", UPDATE, state="A", new_status="succeeded", lease_token="x", **item),
    ]
    await tools.ok("cancel_run", workflow_id=run_id)
    refusals.append(await tools.refused("terminal", "claim_ready_state", **item))
    tools_named = [next_of(answer)[0][0] for answer in refusals]
    assert tools_named == ["await_workflow_event"] * 3 + ["acquire_state_lease"] + ["await_workflow_event"] * 2


async def test_who_gives_a_state_back_is_told_to_wait_if_the_server_knows_the_agent(
    alone: Application, tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id)
    for agent_id, following in (("worker-1", ["await_workflow_event"]), (None, [])):
        holding = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
        answer = await ask(alone, key_of(*WORKER, agent_id=agent_id), "release_state_lease", **holding)
        assert [step["tool"] for step in answer.payload.get("next", [])] == following


@rows(
    ("said", "meant"),
    [
        ("list_run", "list_runs"),
        ("await_event", "await_workflow_event"),
        ("describe_language", "describe_workflow_language"),
        ("start_workflow", "start_run"),
        ("create_run", "start_run"),
        ("run_workflow", "start_run"),
        ("get_run", "read_workflow_control_plane"),
        ("list_workflows", "list_runs"),
        ("complete_state", "update_workflow_control_plane"),
    ],
)
async def test_a_tool_that_there_is_not_is_met_with_the_one_that_was_meant(tools: Tools, said: str, meant: str) -> None:
    result = await tools.client.call_tool(said, {})
    content = result.structured_content
    assert isinstance(content, dict)
    assert (result.is_error, content["code"]) == (True, "unknown_tool")
    assert f"Did you mean {meant}?" in content["hint"]


async def test_a_refusal_whose_hint_names_no_call_names_the_one_to_repeat(tools: Tools) -> None:
    sent = {"workflow_json": ONE_TASK, "agents_map_json": {"A": None}}
    refused = await tools.refused("invalid_argument", "start_run", **sent)
    assert refused.hint == "Correct the argument and call `start_run` again; nothing was changed."


async def test_a_planner_is_led_from_the_document_to_the_end_of_the_run(tools: Tools, run_id: str) -> None:
    led = [step for step, _ in next_of(await tools.ok("validate_workflow", workflow_json=ORDER_WORKFLOW))]
    assert led == ["start_run", "create_worker_agents"]
    sent = {"workflow_json": ONE_TASK, "workflow_id": run_id, "agents_map_json": {"A": "worker-1"}}
    made = await tools.ok("create_workflow_control_plane", **sent)
    tool, arguments = next_of(made)[0]
    begun = await tools.ok(tool, **arguments)
    tool, arguments = next_of(begun)[0]
    assert (await tools.ok(tool, **arguments))["meta"]["status"] == "running"
    over = await tools.ok("cancel_run", workflow_id=run_id)
    tool, arguments = next_of(over)[0]
    assert (await tools.ok(tool, **arguments))["status"] == "finalized"
    closed = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert next_of(closed) == [("list_runs", {})]
    late = await tools.refused("run_over", "pause_run", workflow_id=run_id)
    assert next_of(late)[0] == ("read_workflow_control_plane", {"workflow_id": run_id, "summary": True})


async def test_who_waits_under_an_id_that_no_run_names_hears_of_the_one_that_is_almost_so(
    tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id, agents_map_json={"A": f"pricing-{run_id}"})
    answer = await tools.ok("await_workflow_event", agent_id=f"prcing-{run_id}", timeout_s=0)
    assert answer.hint.endswith(f"did you mean 'pricing-{run_id}'?")
    for agent in (f"pricing-{run_id}", "somebody-quite-else"):
        answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=0)
        assert answer.hint == "Call again to keep waiting."


async def test_an_argument_that_no_list_shows_is_never_what_was_meant(tools: Tools) -> None:
    answer = await tools.refused("invalid_argument", "claim_ready_state", token="x-1")
    assert "lease_token" not in answer.text


async def test_no_call_is_suggested_that_the_scopes_of_a_key_forbid(alone: Application, run_id: str) -> None:
    """A key that may only read was told to start the run, and a worker who planned one to finalize it."""
    valid = await ask(alone, key_of(Scope.READ), "validate_workflow", workflow_json=ONE_TASK)
    assert (valid.code, "next" in valid.payload) == ("ok", False)
    details = {}
    for number, scopes in enumerate((WORKER, PLANNER)):
        planner, run = f"planner-{number}-{run_id}", {"workflow_id": f"{run_id}-{number}"}
        made = {"workflow_json": ONE_TASK, "planner_agent_id": planner, "agents_map_json": {"A": "worker-1"}}
        await ask(alone, key_of(*PLANNER), "create_workflow_control_plane", **made, **run)
        await ask(alone, key_of(*PLANNER), "cancel_run", **run)
        ended = await ask(alone, key_of(*scopes), "await_workflow_event", agent_id=planner, timeout_s=50)
        details[scopes] = [tool for tool, _ in next_of(ended)]
    assert details[PLANNER] == ["read_workflow_control_plane", "finalize_workflow", "await_workflow_event"]
    assert details[WORKER] == ["read_workflow_control_plane", "await_workflow_event"]


async def test_a_waiter_with_an_agents_key_does_not_hear_of_agents_that_it_may_not_be(
    alone: Application, run_id: str
) -> None:
    named = {"workflow_json": ONE_TASK, "workflow_id": run_id, "agents_map_json": {"A": f"pricing-{run_id}"}}
    await ask(alone, key_of(*PLANNER), "create_workflow_control_plane", **named)
    mine = f"prcing-{run_id}"
    waiting = {"agent_id": mine, "timeout_s": 0}
    bound = await ask(alone, key_of(*WORKER, agent_id=mine), "await_workflow_event", **waiting)
    assert bound.hint == "Call again to keep waiting."
    assert "did you mean" in (await ask(alone, key_of(*WORKER), "await_workflow_event", **waiting)).hint


async def test_a_partial_write_is_followed_by_the_result_also_where_it_is_repeated(tools: Tools, run_id: str) -> None:
    """A caller that repeated one heard that there was no work, while it held the state."""
    await new_run(tools, run_id)
    holding = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    partial = holding | {"output_json": {"half": 1}, "request_id": "r-1"}
    for repeated in (False, True):
        answer = await tools.ok(UPDATE, **partial)
        assert (answer["repeated"], next_of(answer)[0][0]) == (repeated, UPDATE)
    await tools.ok(UPDATE, **holding, new_status="succeeded", output_json=1)
    answer = await tools.ok(UPDATE, **partial, owner_agent_id="worker-1")
    assert (answer["repeated"], next_of(answer)[0][0]) == (True, "await_workflow_event")


async def test_the_start_of_a_run_says_how_its_worker_gets_the_task(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, ONE_TASK, agents_map_json={"A": f"agent-{run_id}"})
    answer = await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    (wait,) = [arguments for tool, arguments in next_of(answer) if tool == "await_workflow_event"]
    assert (await tools.ok("await_workflow_event", **wait))["work"]["state"] == "A"


async def test_a_notification_after_a_state_that_goes_on_says_why_nobody_gets_one(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    answer = await tools.ok("notify_next_worker_agent", workflow_id=run_id, source_state="A")
    assert not any(target["sent"] for target in answer["targets"])
    assert "'A' is pending, and who comes next is notified when it has ended" in answer["status"]


async def test_a_notification_before_the_start_is_followed_by_the_start(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, ONE_TASK, agents_map_json={"A": f"agent-{run_id}"})
    answer = await tools.ok("notify_if_ready", workflow_id=run_id, state="A")
    assert next_of(answer) == [("notify_next_worker_agent", {"workflow_id": run_id})]


async def test_a_run_whose_skills_are_found_nowhere_is_created_with_a_warning(tools: Tools, run_id: str) -> None:
    machine = {"StartAt": "A", "States": {"A": {**task(), "Skills": ["skill://nowhere@1.0.0"], "End": True}}}
    created = await tools.ok("create_workflow_control_plane", workflow_json={"asl": machine}, workflow_id=run_id)
    (warning,) = [warning for warning in created["warnings"] if "validate_workflow" in warning]
    assert "'skill://nowhere@1.0.0' is in no file of skill_imports" in warning
