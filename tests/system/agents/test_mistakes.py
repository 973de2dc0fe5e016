"""Mistakes of planners and workers: every refusal names the next legal call, and following it works."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.verbs.description.table import TABLE
from tests.system.agents.policies import read_the_page
from tests.system.agents.seat import Seat

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

Json = Any
Sit = Callable[..., Awaitable[Seat]]
FORM = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
WRITE = {"Type": "Task", "OutputSchema": FORM, "Errors": ["TooVague"], "End": True}
EACH = {
    "StartAt": "Each",
    "States": {
        "Each": {"Type": "Map", "ItemProcessor": {"StartAt": "Write", "States": {"Write": WRITE}}, "Next": "Join"},
        "Join": {"Type": "Task", "End": True},
    },
}
GOOD = {"text": "an abstract"}


async def started(planner: Seat, agent: str, talks: int = 1) -> str:
    how = await read_the_page(planner)
    answer = await planner.call(how.tool, **how.arguments(EACH, {"*": agent}, list(range(talks))))
    return str(answer["workflow_id"])


def assert_legal(*seats: Seat) -> None:
    """Every refusal that these agents got names the next legal call."""
    dead_ends = [item for seat in seats for item in seat.without_a_legal_next()]
    assert not dead_ends, "\n".join(dead_ends)


async def took(worker: Seat) -> Json:
    """Wait for work and return the answer that brought it."""
    while "work" not in (answer := await worker.call("await_workflow_event", agent_id=worker.agent_id, timeout_s=20)):
        assert answer["status"] in {"timeout", "event"}, answer
    return answer


@pytest.mark.parametrize("nonsense", [42, {"text": 42}, {}, [GOOD], '{"text": null}', "an abstract"])
async def test_an_output_of_the_wrong_form_is_refused_and_mended_with_the_next_call(sit: Sit, nonsense: Json) -> None:
    planner, worker = await sit("planner"), await sit("worker")
    await started(planner, worker.agent_id)
    answer = await took(worker)
    refused = await worker.follow(answer, {"output_json": nonsense})
    assert refused["code"] in {"output_invalid", "invalid_argument"}
    mended = await worker.follow(refused if refused.get("next") else answer, {"output_json": GOOD})
    assert mended["code"] == "ok"
    assert_legal(worker)


async def test_mistakes_of_a_worker_are_met_with_the_next_legal_call(sit: Sit) -> None:
    planner, worker, other = await sit("planner"), await sit("worker"), await sit("worker")
    run = await started(planner, worker.agent_id, talks=2)
    answer = await took(worker)
    holding = {name: answer["work"][name] for name in ("workflow_id", "state", "lease_token")}
    place = {"workflow_id": run, "state": answer["work"]["state"]}
    write, take = "update_workflow_control_plane", "acquire_state_lease"
    wrong: list[dict[str, Json]] = [
        {"new_status": "completed", "output_json": GOOD},
        {"new_status": "succeeded", "result": GOOD},
        {"new_status": "succeeded", "output": GOOD},
        {"new_status": "succeeded"},
        {"new_status": 1},
        {"new_status": "failed", "error_name": 7},
        {"new_status": "succeeded", "output_json": GOOD, "lease_ttl_s": 0},
    ]
    for sent in wrong:
        await worker.call(write, **holding, **sent)
    good: dict[str, Json] = {"new_status": "succeeded", "output_json": GOOD}
    await worker.call(write, **place, **good)
    await worker.call(write, **holding | {"lease_token": "mine"}, **good)
    await worker.call(write, **holding | {"state": "Write"}, **good)
    await worker.call(write, **holding | {"state": "Each/7/Write"}, **good)
    await worker.call(write, **holding | {"state": "each/0/write"}, **good)
    await worker.call(write, **holding | {"workflow_id": "no-such-run"}, **good)
    await worker.call(write, state=place["state"], **good)
    await worker.call(take, **place, owner_agent_id=worker.agent_id)
    await worker.call(take, **place, owner_agent_id="somebody-else")
    await worker.call(take, **place, agent_id=worker.agent_id)
    await worker.call(take, workflow_id=run, state="Join", owner_agent_id=worker.agent_id)
    await worker.call(take, workflow_id=run, state="Each", owner_agent_id=worker.agent_id)
    await worker.call("renew_state_lease", **place, lease_token="other")
    await worker.call("release_state_lease", **place, lease_token="other")
    await worker.call("release_state_lease", **place)
    await worker.call("notify_next_worker_agent", workflow_id=run, source_state="Nowhere")
    await worker.call("get_my_assignment", agent_id=worker.agent_id, workflow_id="no-such-run")
    await worker.call("get_my_assignment", agent_id=worker.agent_id, workflow_id=run, state="Nowhere")
    await worker.call("get_my_assignment")
    await worker.call("await_workflow_event", agent_id="somebody-else")
    await worker.call("await_workflow_event", agent_id=worker.agent_id, timeout_s=600)
    await worker.call("await_workflow_event", agent_id=worker.agent_id, timeout_s=0, ack_message_id="the last")
    await worker.call("load_skill", skill_json="skill://nobody@1.0.0", agent_id=worker.agent_id)
    await worker.call("complete_state", **holding, output=GOOD)
    await other.call(take, **place, owner_agent_id=other.agent_id)
    done = await worker.call(write, **holding, **good)
    assert done["code"] == "ok", done
    late: list[dict[str, Json]] = [
        {"new_status": "succeeded", "output_json": {"text": "another"}},
        {"new_status": "failed", "error_name": "TooVague"},
        {"new_status": "pending"},
        {"output_json": {"text": "in part"}},
    ]
    for sent in late:
        again = await worker.call(write, **holding, **sent)
        assert again["code"] != "ok", "the first result stays, and that is told"
    await worker.call("renew_state_lease", **holding)
    await worker.call(take, **place, owner_agent_id=worker.agent_id)
    await planner.call("cancel_run", workflow_id=run, reason="not wanted")
    await worker.call(take, workflow_id=run, state="Each/1/Write", owner_agent_id=worker.agent_id)
    assert len(worker.refusals) > 25
    assert_legal(worker, other)


async def test_mistakes_of_a_planner_are_met_with_the_next_legal_call(sit: Sit, onlooker: Application) -> None:
    planner, worker = await sit("planner"), await sit("worker")
    stranger = await sit("planner")
    run = await started(planner, worker.agent_id, talks=2)
    await took(worker)
    start = "start_run"
    here: dict[str, Json] = {"workflow_id": run}
    starts: list[dict[str, Json]] = [
        {},
        {"workflow_json": EACH, "definition": "x"},
        {"definition": "nobody-started-this"},
        {"workflow_json": "{"},
        {"workflow_json": "write three abstracts"},
        {"workflow_json": []},
        {"workflow_json": {}},
        {"workflow_json": {"name": "x", "nodes": []}},
        {"workflow_json": {"steps": []}},
        {"workflow_json": {"StartAt": "A"}},
        {"workflow_json": {"States": {"A": {"Type": "Task", "End": True}}}},
        {"workflow_json": {"StartAt": "A", "States": {"A": {"type": "task", "end": True}}}},
        {"workflow_json": {"StartAt": "A", "States": {"A": {"Type": "Agent", "End": True}}}},
        {"workflow_json": EACH, "agents_map_json": [worker.agent_id]},
        {"workflow_json": EACH, "agents_map_json": {"Write": None}},
        {"workflow_json": EACH, "agents_map_json": {"Write": "two words"}},
        {"workflow_json": EACH, "agents_map_json": "agent"},
        {"workflow_json": EACH, "input_json": "plain text"},
        {"workflow_json": EACH, "workflow_id": "with a space"},
        {"workflow_json": EACH, "tags_json": ["a tag"]},
        {"workflow_json": EACH, "planner_agent_id": "somebody-else"},
        {"document": EACH},
        {"workflow_json": EACH, **here},
    ]
    for sent in starts:
        refused = await planner.call(start, **sent)
        assert refused["code"] != "ok", sent
    mistakes: list[tuple[str, dict[str, Json]]] = [
        ("validate_workflow", {"workflow_json": {"StartAt": "A", "States": {}}}),
        ("validate_workflow", {"workflow_json": "{"}),
        ("validate_workflow", {}),
        ("create_workflow_control_plane", {"workflow_json": {"asl": {}}}),
        ("read_workflow_control_plane", {"workflow_id": "no-such-run"}),
        ("read_workflow_control_plane", here | {"states_json": ["Nowhere"]}),
        ("read_workflow_control_plane", here | {"inside": "Join"}),
        ("read_workflow_control_plane", here | {"inside": "Nowhere"}),
        ("read_workflow_control_plane", here | {"state": "Join"}),
        ("read_run_events", {"workflow_id": "no-such-run"}),
        ("explain_run", {"workflow_id": "no-such-run"}),
        ("explain_run", here | {"state": "Nowhere"}),
        ("notify_next_worker_agent", {"workflow_id": "no-such-run"}),
        ("resolve_state", here | {"state": "Write", "skip": True}),
        ("resolve_state", here | {"state": "Each/9/Write", "skip": True}),
        ("resolve_state", here | {"state": "Each/0/Write"}),
        ("resolve_state", here | {"state": "Each/0/Write", "skip": True, "error": "x"}),
        ("resolve_state", here | {"state": "Join", "skip": True}),
        ("resolve_state", here | {"state": "Each/1/Write", "assign_json": "nobody here"}),
        ("rerun", {"workflow_id": "no-such-run"}),
        ("rerun", here | {"from_state": "Write"}),
        ("rerun", here | {"from_state": "Join"}),
        ("retry_run", here),
        ("send_signal", here | {"name": "go", "payload_json": "plain text"}),
        ("create_worker_agents", {}),
        ("create_worker_agents", {"workflow_id": "no-such-run"}),
        ("get_skill", {}),
        ("finalize_workflow", here | {"overall_status": "done"}),
        ("list_runs", {"status": "done"}),
        ("list_runs", {"since": "yesterday"}),
        ("leave_note", here),
        ("answer_question", here | {"question_id": "q", "answer": "yes"}),
    ]
    for tool, more in mistakes:
        assert tool in planner.purposes or tool in TABLE or tool == "get_skill"
        await planner.call(tool, **more)
    await stranger.call("cancel_run", **here)
    await planner.call("cancel_run", **here)
    await planner.call("resolve_state", **here, state="Each/0/Write", skip=True)
    for tool in ("cancel_run", "notify_next_worker_agent"):
        await planner.call(tool, **here)
    assert onlooker.runs.read(run).status == "cancelled"
    assert len(planner.refusals) > 50
    assert_legal(planner, stranger)
