"""From the list of tools to the first state that moves: three calls of a planner, whatever it does wrong once."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dcf.application.application import Application
from tests.system.agents.policies import HowToStart, Worker, read_the_page
from tests.system.agents.seat import Seat

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

Json = Any
Sit = Callable[..., Awaitable[Seat]]
TASK = {"Type": "Task", "End": True}
EACH = {
    "StartAt": "Each",
    "States": {
        "Each": {"Type": "Map", "ItemProcessor": {"StartAt": "Write", "States": {"Write": TASK}}, "End": True},
    },
}
GIVEN = ["one talk"]


async def knows_what_to_do(seat: Seat, how: HowToStart, agent: str) -> Json:
    return await seat.call(how.tool, **how.arguments(EACH, {"Write": agent}, GIVEN))


async def validates_first(seat: Seat, how: HowToStart, agent: str) -> Json:
    sent = {"workflow_json": EACH, "agents_map_json": {"Write": agent}}
    answer = await seat.call(seat.tool_for("Validate a workflow"), **sent)
    return await seat.follow(answer, sent | {how.input: GIVEN} | {"workflow_json": EACH})


async def names_nobody(seat: Seat, how: HowToStart, agent: str) -> Json:
    answer = await seat.call(how.tool, **how.arguments(EACH, None, GIVEN))
    await seat.follow(answer, {"assign_json": [agent]})
    return answer


async def names_a_path(seat: Seat, how: HowToStart, agent: str) -> Json:
    refused = await seat.call(how.tool, **how.arguments(EACH, {"Each/0/Write": agent}, GIVEN))
    assert "'Write'" in refused["hint"]
    return await knows_what_to_do(seat, how, agent)


async def uses_a_wrong_name(seat: Seat, how: HowToStart, agent: str) -> Json:
    refused = await seat.call(how.tool, workflow=EACH, agents={"Write": agent})
    assert how.workflow in refused["hint"]
    return await knows_what_to_do(seat, how, agent)


async def writes_a_wrong_machine(seat: Seat, how: HowToStart, agent: str) -> Json:
    wrong = {"StartAt": "Each", "States": {"Each": {"Type": "Map", "Next": "Gone"}}}
    refused = await seat.call(how.tool, **how.arguments(wrong, {"Write": agent}, GIVEN))
    assert refused["problems"]
    return await knows_what_to_do(seat, how, agent)


async def binds_in_the_document(seat: Seat, how: HowToStart, agent: str) -> Json:
    task = TASK | {"AgentBinding": {"agent_ref": {"id": agent}}}
    document = json.loads(json.dumps(EACH))
    document["States"]["Each"]["ItemProcessor"]["States"]["Write"] = task
    return await seat.call(how.tool, **how.arguments({"asl": document}, None, GIVEN))


async def lists_steps(seat: Seat, how: HowToStart, agent: str) -> Json:
    return await seat.call(how.tool, **how.arguments({"steps": [{"step_id": "Write"}]}, {"*": agent}, GIVEN))


WAYS = [
    knows_what_to_do,
    validates_first,
    names_nobody,
    names_a_path,
    uses_a_wrong_name,
    writes_a_wrong_machine,
    binds_in_the_document,
    lists_steps,
]


@pytest.mark.parametrize("begin", WAYS, ids=lambda way: way.__name__)
async def test_the_first_state_moves_after_three_calls_of_the_planner(
    sit: Sit, onlooker: Application, begin: Callable[[Seat, HowToStart, str], Awaitable[Json]]
) -> None:
    planner, hand = await sit("planner"), await sit("worker")
    worker = Worker(seat=hand, do=lambda work: {"text": f"about {work['input']}"})
    answer = await begin(planner, await read_the_page(planner), hand.agent_id)
    run = answer["workflow_id"]
    assert len(planner.log) <= 3
    await worker.serve(lambda: onlooker.runs.read(run).status != "running")
    assert onlooker.runs.read(run).status == "succeeded"
    assert worker.pieces.total() == 1
    assert planner.without_a_legal_next() == hand.without_a_legal_next() == []


async def test_a_planner_is_told_who_is_there_to_work(sit: Sit) -> None:
    planner, first, other = await sit("planner"), await sit("worker"), await sit("worker")
    for seat in (first, other):
        await seat.call("await_workflow_event", agent_id=seat.agent_id, timeout_s=0)
    how = await read_the_page(planner)
    assert {first.agent_id, other.agent_id} <= set(how.agents_seen)
    assert planner.agent_id not in how.agents_seen


async def test_a_worker_makes_two_calls_for_a_piece_of_work(sit: Sit, onlooker: Application) -> None:
    planner, hand = await sit("planner"), await sit("worker")
    how = await read_the_page(planner)
    agents = {"Write": hand.agent_id}
    run = (await planner.call(how.tool, **how.arguments(EACH, agents, list(range(8)))))["workflow_id"]
    worker = Worker(seat=hand, do=lambda work: {"number": work["input"]})
    await worker.serve(lambda: onlooker.runs.read(run).status != "running")
    assert worker.pieces.total() == 8
    assert worker.calls_per_piece <= 2
    assert worker.idle_events == []
