"""await_workflow_event with `unassigned`: work that no agent is assigned to reaches agents that wait for it."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.core.listing.runs import FOR_ANYBODY, Facet
from dcf.features.work.taker_storage import TAKERS
from dcf.features.work.takers import MOST_NOTIFIED, MOST_OF_A_STATE, Taker, spread
from dcf.store.keys import table as keys
from tests.support.tables import rows
from tests.support.waiting import until
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, TWO_TASKS, Answer, Tools

pytestmark = pytest.mark.anyio

LONGEST_S = 50
WORKER = (Scope.READ, Scope.WORK)


@pytest.fixture(autouse=True)
def _no_other_work(raw_redis: redis.Redis) -> None:
    """Other tests leave runs with unassigned states; these tests look at their own."""
    raw_redis.delete(keys.runs_by(Facet.AGENT, FOR_ANYBODY))


@pytest.fixture
def agent() -> str:
    return f"agent-{secrets.token_hex(4)}"


def key(agent: str, project: str | None = None) -> Caller:
    """A worker with a key of its own, perhaps bound to a project."""
    return replace(key_of(*WORKER, agent_id=agent, name=f"key:{agent}"), project=project)


async def started(tools: Tools, run_id: str, workflow: Any = ONE_TASK, **more: Any) -> None:
    """Start a run that names no agent."""
    await tools.ok("start_run", workflow_json=workflow, workflow_id=run_id, **more)


async def awaited(application: Application, caller: Caller, **more: Any) -> Answer:
    arguments = {"agent_id": caller.agent_id, "timeout_s": 0, "unassigned": True} | more
    if not {"request_id", "lease_token"} & arguments.keys():
        arguments["request_id"] = secrets.token_hex(4)
    return await ask(application, caller, "await_workflow_event", **arguments)


@asynccontextmanager
async def waiting(application: Application, *callers: Caller, **more: Any) -> AsyncIterator[list[Answer]]:
    """Answers of waits, which have begun when the block does, and are broken off at its end."""
    answers: list[Answer] = []

    async def wait(caller: Caller) -> None:
        answers.append(await awaited(application, caller, timeout_s=LONGEST_S, **more))

    async with anyio.create_task_group() as tasks:
        for caller in callers:
            tasks.start_soon(wait, caller)
        await until(lambda: application.reader.waiting >= len(callers))
        yield answers
        tasks.cancel_scope.cancel()


async def test_waiting_agent_gets_unassigned_work_of_a_run_that_starts_later(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    async with waiting(alone, key(agent)) as answers:
        await started(tools, run_id, input_json={"n": 1})
        await until(lambda: answers)
    (answer,) = answers
    work = answer["work"]
    assert (work["workflow_id"], work["state"], work["input"]) == (run_id, "A", {"n": 1})
    assert answer.payload["message_id"], "an event brought it, not the look at the end of the wait"
    (step,) = answer["next"]
    done = await ask(alone, key(agent), step["tool"], **step["arguments"] | {"output_json": 2})
    assert done["run_status"] == "succeeded"


async def test_unassigned_work_that_was_ready_before_comes_at_once(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    await started(tools, run_id)
    answer = await awaited(alone, key(agent))
    assert (answer["work"]["workflow_id"], answer["event"]["reason"]) == (run_id, "unassigned")
    assert answer["event"]["control_plane"]["state_key"] == f"cp:wf:{run_id}:state:{answer['work']['state']}"


async def test_wait_without_the_argument_gets_no_unassigned_work(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    async with waiting(alone, key(agent), lease=False) as answers:
        await started(tools, run_id)
        await until(lambda: answers)
    assert answers[0]["event"]["unassigned"] is True
    answer = await awaited(alone, key(agent), unassigned=False)
    assert answer["status"].startswith("timeout"), "the event that was left in its inbox is dropped"
    assert alone.inbox.waiting(agent, 10) == []


async def test_agents_hear_only_of_runs_that_their_keys_may_see(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    ours, theirs = f"{agent}-ours", f"{agent}-theirs"
    mine, other, free = (key(name, of) for name, of in ((ours, "ours"), (theirs, "theirs"), (agent, None)))
    async with waiting(alone, other) as of_others:
        await started(tools, f"{run_id}-ours", project="ours")
        await started(tools, f"{run_id}-none")
        result = [
            (await awaited(alone, mine))["work"]["workflow_id"],
            (await awaited(alone, free))["work"]["workflow_id"],
        ]
        assert result == [f"{run_id}-ours", f"{run_id}-none"]
        assert of_others == []
    assert alone.inbox.waiting(theirs, 10) == []
    async with waiting(alone, mine, other) as answers:
        await started(tools, f"{run_id}-theirs", project="theirs")
        await until(lambda: answers)
        assert [(answer["agent_id"], answer["work"]["workflow_id"]) for answer in answers] == [
            (theirs, f"{run_id}-theirs")
        ]
    assert alone.inbox.waiting(ours, 10) == []


async def test_key_of_another_project_does_not_read_an_event_for_the_same_agent(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    async with waiting(alone, key(agent, "ours"), lease=False) as answers:
        await started(tools, run_id, project="ours")
        await until(lambda: answers)
    event = answers[0]
    for other in (key(agent, "theirs"), key(agent, "others")):
        answer = await awaited(alone, other, unassigned=False, ack_message_id=event["message_id"])
        assert answer["event"] is None
        assert (await awaited(alone, other))["event"] is None
    assert (await awaited(alone, key(agent, "ours")))["work"]["workflow_id"] == run_id


async def test_worker_is_notified_only_of_states_that_it_names(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    names = {"B": key(f"{agent}-b"), "A": key(f"{agent}-a")}
    async with (
        waiting(alone, names["B"], lease_states=["B"]) as of_b,
        waiting(alone, names["A"], lease_states=["A"], lease_functions={"A": ["shop.price"]}) as of_a,
    ):
        await until(lambda: alone.reader.waiting == 2)
        await started(tools, run_id, TWO_TASKS)
        await until(lambda: of_a)
        assert (of_a[0]["work"]["state"], of_b) == ("A", [])
        (step,) = of_a[0]["next"]
        await ask(alone, names["A"], step["tool"], **step["arguments"] | {"output_json": 1, "claim_next": False})
        await until(lambda: of_b)
        assert of_b[0]["work"]["state"] == "B"


async def test_worker_with_another_function_is_not_given_the_state(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "dcf:task:other.double", "End": True}}}
    await started(tools, run_id, {"asl": machine})
    assert "work" not in (await awaited(alone, key(agent), lease_functions={"A": ["flow.double"]})).payload
    assert (await awaited(alone, key(agent), lease_functions={"A": ["other.double"]}))["work"]["state"] == "A"


async def test_one_of_several_waiting_agents_gets_a_state_and_the_others_go_on_waiting(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    callers = [key(f"{agent}-{number}") for number in range(4)]
    async with waiting(alone, *callers) as answers:
        await started(tools, run_id)
        await until(lambda: answers)
        await started(tools, f"{run_id}-next")
        await until(lambda: len(answers) == 2)
        assert {answer["work"]["workflow_id"] for answer in answers} == {run_id, f"{run_id}-next"}
        assert len({answer["agent_id"] for answer in answers}) == 2
        await until(lambda: alone.reader.waiting == 2)


async def test_lost_answer_is_repeated_with_its_request_id_or_token(
    alone: Application, tools: Tools, run_id: str, agent: str
) -> None:
    for number, known in enumerate(({"request_id": "r-1"}, {"lease_token": "token-of-mine"})):
        await started(tools, f"{run_id}-{number}")
        first = await awaited(alone, key(agent), **known)
        again = await awaited(alone, key(agent), **known)
        assert again["repeated"] is True, known
        assert again["work"]["lease_token"] == first["work"]["lease_token"], known
        assert again["work"]["attempt"] == 1, known


async def test_lost_notification_is_made_up_for_at_the_end_of_the_wait(
    alone: Application, tools: Tools, raw_redis: redis.Redis, run_id: str, agent: str
) -> None:
    answers: list[Answer] = []

    async def wait() -> None:
        answers.append(await awaited(alone, key(agent), timeout_s=2))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await until(lambda: alone.reader.waiting)
        raw_redis.delete(TAKERS)  # as if the deliverer had died
        await started(tools, run_id)
    assert (answers[0]["work"]["workflow_id"], answers[0]["message_id"]) == (run_id, None)


async def test_agent_that_is_assigned_later_is_still_notified(
    alone: Application, tools: Tools, operator: Tools, run_id: str, agent: str
) -> None:
    async with waiting(alone, key(agent), lease=False) as answers:
        await started(tools, run_id)
        await until(lambda: answers)
    epoch = int(answers[0]["event"]["event_id"].split(":")[-2])
    await operator.ok("resolve_state", workflow_id=run_id, state="A", epoch=epoch, assign_json=[agent])
    answer = await awaited(alone, key(agent), unassigned=False, timeout_s=LONGEST_S)
    assert answer["work"]["workflow_id"] == run_id


async def test_wait_that_ends_is_taken_off_the_list_and_one_that_died_expires(
    alone: Application, raw_redis: redis.Redis, agent: str
) -> None:
    raw_redis.delete(TAKERS)
    async with waiting(alone, key(agent)):
        (listed,) = raw_redis.zrange(TAKERS, 0, -1)
        assert agent.encode() in listed
        raw_redis.zadd(TAKERS, {b'["dead",null,"x"]': 1})
        assert [item.agent_id for item in alone.takers.of("shop", 2)] == [agent]
    assert raw_redis.zrange(TAKERS, 0, -1) == [b'["dead",null,"x"]']
    await awaited(alone, key(agent))
    assert raw_redis.zcard(TAKERS) == 0, "the next wait takes off what has expired"


async def test_claim_that_finds_nothing_says_how_to_wait_for_unassigned_work(tools: Tools, agent: str) -> None:
    refused = await tools.refused("nothing_ready", "find_work", agent_id=agent, claim=True)
    (step,) = refused["next"]
    assert (step["tool"], step["arguments"]["unassigned"]) == ("await_workflow_event", True)
    (step,) = (await tools.ok(step["tool"], **step["arguments"] | {"timeout_s": 0}))["next"]
    assert step["arguments"]["unassigned"] is True
    refused = await tools.refused("nothing_ready", "find_work", agent_id=agent, claim=True, skill="pricing")
    assert "unassigned" not in refused["next"][0]["arguments"], "a wait has no such filter"


X, Y = Taker(agent_id="x"), Taker(agent_id="y")


@rows(
    "states, takers, expected",
    {
        "every wait gets another state": (["A", "B"], [X, Y], [(0, "x"), (1, "y")]),
        "an agent that waits twice gets two": (["A", "B"], [X, X, X], [(0, "x"), (1, "x")]),
        "only states that it names": (["A", "B"], [replace(X, states=("B",))], [(1, "x")]),
        "nobody waits": (["A"], [], []),
    }.values(),
)
def test_waits_are_spread_over_ready_states(
    states: list[str], takers: list[Taker], expected: list[tuple[int, str]]
) -> None:
    assert spread(states, takers) == expected


def test_one_delivery_wakes_a_bounded_number_of_waits() -> None:
    many = [Taker(agent_id=f"x{number}") for number in range(100)]
    assert len(spread(["A"], many)) == MOST_OF_A_STATE
    assert len(spread([f"S{number}" for number in range(100)], many)) == MOST_NOTIFIED
