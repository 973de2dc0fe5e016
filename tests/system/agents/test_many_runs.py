"""Three runs at once, two hundred states, workers who share them: two calls a piece, no event about finished work."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from dcf.application.application import Application
from tests.system.agents.policies import Failure, Worker, read_the_page
from tests.system.agents.seat import Seat

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

Json = Any
Sit = Callable[..., Awaitable[Seat]]
RUNS, TALKS, WORKERS = 3, 65, 4
STATES = RUNS * (TALKS + 2)
RETRIED = {"Retry": [{"ErrorEquals": ["TooVague"], "IntervalSeconds": 1, "MaxAttempts": 1}]}
DOCUMENT = {
    "StartAt": "Plan",
    "States": {
        "Plan": {"Type": "Task", "Next": "Each"},
        "Each": {
            "Type": "Map",
            "MaxConcurrency": 16,
            "ItemProcessor": {"StartAt": "Write", "States": {"Write": {"Type": "Task", "End": True, **RETRIED}}},
            "Next": "Join",
        },
        "Join": {"Type": "Task", "End": True},
    },
}


def do(work: Json) -> Json:
    """Plan the talks, write about one, join them; every tenth talk is too vague at first."""
    if work["state"] == "Plan":
        return list(range(TALKS))
    if work["state"] == "Join":
        return {"joined": len(work["input"])}
    if work["input"] % 10 == 0 and "last_error" not in work:
        raise Failure("TooVague")
    return {"text": f"about {work['input']}"}


async def test_no_event_is_about_finished_work_and_a_piece_takes_two_calls(sit: Sit, onlooker: Application) -> None:
    planner, pool = await sit("planner"), [await sit("worker") for _ in range(WORKERS)]
    how = await read_the_page(planner)
    agents = {"*": [seat.agent_id for seat in pool]}
    runs = [(await planner.call(how.tool, **how.arguments(DOCUMENT, agents, None)))["workflow_id"] for _ in range(RUNS)]

    def are_over() -> bool:
        return all(onlooker.runs.read(run).status != "running" for run in runs)

    workers = [Worker(seat=seat, do=do) for seat in pool]
    async with anyio.create_task_group() as tasks:
        for worker in workers:
            tasks.start_soon(worker.serve, are_over)
    assert [onlooker.runs.read(run).status.value for run in runs] == ["succeeded"] * RUNS
    retried = RUNS * len(range(0, TALKS, 10))
    pieces = sum(worker.pieces.total() for worker in workers)
    assert pieces == STATES + retried, "nobody did the same piece twice"
    assert [event for worker in workers for event in worker.idle_events] == []
    calls = sum(len(worker.seat.log) - worker.empty_waits for worker in workers)
    assert calls <= 2 * pieces
    assert [item for worker in workers for item in worker.seat.without_a_legal_next()] == []


async def test_the_holder_in_a_cancelled_run_is_notified_and_late_calls_get_a_next_call(
    sit: Sit, onlooker: Application
) -> None:
    planner, seat = await sit("planner"), await sit("worker")
    how = await read_the_page(planner)
    answer = await planner.call(how.tool, **how.arguments(DOCUMENT, {"*": seat.agent_id}, None))
    run = answer["workflow_id"]
    wait = seat.tool_for("Wait for `work`")
    holding = await seat.call(wait, agent_id=seat.agent_id, timeout_s=50)
    await planner.call("cancel_run", workflow_id=run, reason="the conference is off")
    late = await seat.follow(holding, {"output_json": [1, 2]})
    assert late["code"] == "terminal"
    follow = (
        await seat.follow(late) if late.get("next") else await seat.call(wait, agent_id=seat.agent_id, timeout_s=20)
    )
    assert "work" not in follow
    assert onlooker.runs.read(run).status == "cancelled"
    assert seat.without_a_legal_next() == []
