"""await_workflow_event: a wait costs other callers nothing, and ends as soon as an event comes."""

import anyio
import pytest
import redis

from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.store.events.inbox import VISIBILITY_S
from tests.support.tables import rows
from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio

SECOND = 1.0


@rows("timeout_s", [0, 0.0001, 0.05])
async def test_nothing_to_do_is_a_timeout_and_no_error(tools: Tools, run_id: str, timeout_s: float) -> None:
    answer = await tools.ok("await_workflow_event", lease=False, agent_id=f"idle-{run_id}", timeout_s=timeout_s)
    assert (answer["status"], answer["event"], answer["message_id"]) == ("timeout", None, None)
    assert "again" in answer.hint


async def test_a_waiting_agent_is_woken_at_once(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await new_run(tools, run_id, agents_map_json={"A": agent})
    answers: list[Answer] = []

    async def wait() -> None:
        answers.append(await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=50))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    (answer,) = answers
    assert answer["event"]["target_state"] == "A"
    assert answer["event"]["workflow_id"] == run_id


async def test_an_acknowledged_event_does_not_come_again(tools: Tools, run_id: str, raw_redis: redis.Redis) -> None:
    agent = f"agent-{run_id}"
    await new_run(tools, run_id, agents_map_json={"A": agent})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    first = await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=1)
    await tools.ok("notify_if_ready", workflow_id=run_id, state="A", reason="again")
    second = await tools.ok(
        "await_workflow_event", lease=False, agent_id=agent, timeout_s=1, ack_message_id=first["message_id"]
    )
    assert second["message_id"] != first["message_id"]
    assert second["event"]["reason"] == "again"
    last = await tools.ok(
        "await_workflow_event", lease=False, agent_id=agent, timeout_s=0, ack_message_id=second["message_id"]
    )
    assert last["status"] == "timeout"
    assert raw_redis.xlen(f"cp:idx:inbox:{agent}") == 0


async def heard(tools: Tools, agent: str) -> str | None:
    answer = await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=0)
    return None if answer["event"] is None else str(answer["event"]["reason"])


@pytest.mark.parametrize("how", ["taken", "done", "closed", "deleted"])
async def test_what_was_overtaken_while_it_lay_in_the_inbox_is_not_handed_out(
    tools: Tools, run_id: str, raw_redis: redis.Redis, how: str
) -> None:
    agent = f"agent-{run_id}"
    await new_run(tools, run_id, agents_map_json={"A": agent})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    if how in {"taken", "done"}:
        lease = await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id=agent)
        if how == "done":
            holding = {"state": "A", "lease_token": lease["lease"]["token"]}
            await tools.ok("update_workflow_control_plane", workflow_id=run_id, new_status="succeeded", **holding)
    if how == "closed":
        await tools.ok("finalize_workflow", workflow_id=run_id)
    if how == "deleted":
        raw_redis.delete(*raw_redis.keys(f"*:wf:{run_id}:*"))
    assert await heard(tools, agent) is None
    assert raw_redis.xlen(f"cp:idx:inbox:{agent}") == 0


async def test_an_agent_has_one_message_of_a_state_and_it_is_the_newest(
    tools: Tools, run_id: str, raw_redis: redis.Redis
) -> None:
    agent = f"agent-{run_id}"
    await new_run(tools, run_id, agents_map_json={"A": agent})
    for reason in ("one", "two", "three"):
        await tools.ok("notify_if_ready", workflow_id=run_id, state="A", reason=reason)
    assert raw_redis.xlen(f"cp:idx:inbox:{agent}") == 1
    assert [await heard(tools, agent), await heard(tools, agent)] == ["three", None]


async def test_an_event_whose_answer_was_lost_is_handed_out_again_soon(
    tools: Tools, run_id: str, raw_redis: redis.Redis
) -> None:
    """It came back with the reminder of the clock, 15 s later at best."""
    agent, key = f"agent-{run_id}", f"cp:idx:inbox:agent-{run_id}"
    await new_run(tools, run_id, agents_map_json={"A": agent})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    assert await heard(tools, agent) == "initial"
    assert await heard(tools, agent) is None, "somebody may be about to act on it"
    (message_id,) = map(str, map(bytes.decode, raw_redis.zrange(f"{key}:taken", 0, -1)))  # type: ignore[arg-type]
    raw_redis.zincrby(f"{key}:taken", -VISIBILITY_S * 1000, message_id)  # as if it had been handed out long ago
    assert VISIBILITY_S * SECOND < REMINDER_DELAY / 1_000_000
    assert await heard(tools, agent) == "initial"


@rows("wrong", ["99999999999999999999-0", "0-99999999999999999999"])
async def test_an_acknowledgement_of_no_possible_message_is_refused(tools: Tools, wrong: str) -> None:
    answer = await tools.refused(
        "invalid_argument", "await_workflow_event", lease=False, agent_id="a", ack_message_id=wrong
    )
    assert "ack_message_id" in answer.error


async def test_sixty_waiting_agents_do_not_hold_up_other_tools(tools: Tools, run_id: str) -> None:
    agents = [f"agent-{number}-{run_id}" for number in range(60)]
    answers: list[Answer] = []

    async def wait(agent: str) -> None:
        answers.append(await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=50))

    async with anyio.create_task_group() as tasks:
        for agent in agents:
            tasks.start_soon(wait, agent)
        await anyio.wait_all_tasks_blocked()
        await new_run(tools, run_id)
        for _ in range(20):
            await tools.ok("read_workflow_control_plane", workflow_id=run_id)
        assert not answers, "nobody had to end waiting for that"
        for agent in agents:
            await new_run(tools, f"r-{agent}", agents_map_json={"A": agent})
            await tools.ok("notify_next_worker_agent", workflow_id=f"r-{agent}")
    assert {answer["agent_id"] for answer in answers} == set(agents)
    assert {answer["status"] for answer in answers} == {"event"}
