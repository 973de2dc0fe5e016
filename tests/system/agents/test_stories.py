"""The tasks of two models that had the list of tools alone, as scripts: a programme of talks.

Three abstracts in a Map, a programme from them, shortened if it is longer than 600 characters, an abstract that fails
twice left out, and an approval. Then a talk is cancelled while somebody writes about it, and others are written about.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dcf.application.application import Application
from tests.system.agents.policies import Failure, Worker, read_the_page
from tests.system.agents.seat import Seat

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

Json = Any
Sit = Callable[..., Awaitable[Seat]]
TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}
WRITE = {
    "Type": "Task",
    "Instructions": "Write an abstract of '{% $states.input.title %}'.",
    "OutputSchema": TEXT,
    "Errors": ["TooVague"],
    "Retry": [{"ErrorEquals": ["TooVague"], "IntervalSeconds": 1, "MaxAttempts": 1}],
    "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "LeaveOut"}],
    "End": True,
}
PROGRAMME = {
    "QueryLanguage": "JSONata",
    "StartAt": "EachTalk",
    "States": {
        "EachTalk": {
            "Type": "Map",
            "Items": "{% $states.input.talks %}",
            "ItemProcessor": {
                "StartAt": "WriteAbstract",
                "States": {"WriteAbstract": WRITE, "LeaveOut": {"Type": "Pass", "Output": {"text": ""}, "End": True}},
            },
            "Output": {"texts": "{% [$states.result.text[$ != '']] %}"},
            "Next": "Compose",
        },
        "Compose": {"Type": "Task", "Instructions": "Join the texts.", "OutputSchema": TEXT, "Next": "IsLong"},
        "IsLong": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% $length($states.input.text) > 600 %}", "Next": "Shorten"}],
            "Default": "Approve",
        },
        "Shorten": {"Type": "Task", "Instructions": "600 characters.", "OutputSchema": TEXT, "Next": "Approve"},
        "Approve": {
            "Type": "Task",
            "Resource": "dcf:human",
            "Arguments": {"to": "<person>", "title": "Publish the programme?", "details": "{% $states.input %}"},
            "Output": {"text": "{% $states.input.text %}", "choice": "{% $states.result.choice %}"},
            "End": True,
        },
    },
}
TALKS = [{"title": "Leases"}, {"title": "Something"}, {"title": "Joins"}]


def programme(person: str) -> Json:
    states = PROGRAMME["States"]
    assert isinstance(states, dict)
    approve = states["Approve"] | {"Arguments": states["Approve"]["Arguments"] | {"to": person}}
    return PROGRAMME | {"States": states | {"Approve": approve}}


def do(work: Json) -> Json:
    """Follow the instructions; an abstract about something fails."""
    if "abstract" in work["instructions"]:
        if "'Something'" in work["instructions"]:
            raise Failure("TooVague")
        return {"text": work["instructions"].split("'")[1] * 60}
    if "Join" in work["instructions"]:
        return {"text": " ".join(work["input"]["texts"])}
    return {"text": work["input"]["text"][:600]}


@asynccontextmanager
async def at_work(*workers: Worker) -> AsyncIterator[None]:
    over = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for worker in workers:
            tasks.start_soon(worker.serve, over.is_set)
        try:
            yield
        finally:
            over.set()


async def approves(person: Seat) -> Json:
    """Wait for the question, look at it, and answer with the call of `next`."""
    wait = person.tool_for("Wait for `work`")
    while (
        "event" not in (request := await person.call(wait, agent_id=person.agent_id, timeout_s=20))
        or not request["event"]
    ):
        pass
    assert request["event"]["type"] == "human_task"
    shown = await person.follow(request)
    assert shown["tasks"][0]["title"] == "Publish the programme?"
    assert shown["tasks"][0]["details"]["text"]
    return await person.follow(request, {"choice": "approve"}, at=1)


async def hears_of_the_end(planner: Seat, run: str) -> Json:
    """Wait for the notification of the run's end, and read the run with the call of `next`."""
    wait = planner.tool_for("Wait for `work`")
    acknowledged: dict[str, Json] = {}
    while True:
        details = await planner.call(wait, agent_id=planner.agent_id, timeout_s=20, **acknowledged)
        event = details.get("event") or {}
        if event.get("type") == "run_finished" and event["workflow_id"] == run:
            return await planner.follow(details)
        acknowledged = {"ack_message_id": details["message_id"]} if details.get("message_id") else {}


async def test_a_programme_is_written_shortened_and_approved_without_a_failed_abstract(
    sit: Sit, onlooker: Application
) -> None:
    planner, person = await sit("planner"), await sit("person")
    workers = [Worker(seat=await sit("worker"), do=do) for _ in range(2)]
    how = await read_the_page(planner)
    agents = {"WriteAbstract": [worker.seat.agent_id for worker in workers], "*": workers[0].seat.agent_id}
    arguments = how.arguments(programme(person.agent_id), agents, {"talks": TALKS})
    async with at_work(*workers):
        started = await planner.call(how.tool, **arguments)
        run = started["workflow_id"]
        assert not [text for text in started["warnings"] if "no agent" in text]
        await approves(person)
        ended = await hears_of_the_end(planner, run)
    output = ended["meta"]["output"]
    assert (output["choice"], len(output["text"])) == ("approve", 600)
    assert output["text"].startswith("LeasesLeases")
    assert "Something" not in output["text"]
    inside = await planner.follow(ended)
    vague = inside["states"]["EachTalk/1/WriteAbstract"]
    assert (vague["status"], vague["attempts"]) == ("failed", 2), "how often it failed can be read"
    assert "TooVague" in vague["last_error"]
    assert inside["outputs"]["EachTalk/0/WriteAbstract"]["text"].startswith("Leases")
    seats = [planner, person, *(worker.seat for worker in workers)]
    assert [item for seat in seats for item in seat.without_a_legal_next()] == []
    again = await planner.call("rerun", workflow_id=run, input_json={"talks": [{"title": "Clocks"}]})
    async with at_work(*workers):
        await approves(person)
        other = await hears_of_the_end(planner, again["workflow_id"])
    assert other["meta"]["output"]["text"] == "Clocks" * 60
    assert other["meta"]["rerun_of"] == run


async def test_a_talk_is_cancelled_while_somebody_writes_about_it(sit: Sit, onlooker: Application) -> None:
    planner, person, slow = await sit("planner"), await sit("person"), await sit("worker")
    quick = Worker(seat=await sit("worker"), do=do)
    how = await read_the_page(planner)
    agents = {"WriteAbstract": slow.agent_id, "*": quick.seat.agent_id}
    talks = {"talks": [TALKS[0], TALKS[2]]}
    run = (await planner.call(how.tool, **how.arguments(programme(person.agent_id), agents, talks)))["workflow_id"]
    wait = slow.tool_for("Wait for `work`")
    holding = [await slow.call(wait, agent_id=slow.agent_id, timeout_s=20, request_id=f"next {n}") for n in range(2)]
    by_title = {answer["work"]["input"]["title"]: answer for answer in holding}
    seen = await planner.call("read_workflow_control_plane", workflow_id=run, inside="EachTalk")
    (joins,) = (state for state, value in seen["inputs"].items() if value["title"] == "Joins")
    reason = "the speaker is ill"
    done = await planner.call("resolve_state", workflow_id=run, state=joins, output_json={"text": "-"}, reason=reason)
    assert done["code"] == "ok"
    late = await slow.follow(by_title["Joins"], {"output_json": {"text": "too late"}})
    assert late["code"] in {"lease_lost", "terminal", "state_done"}, late
    finished = await slow.follow(by_title["Leases"], {"output_json": {"text": "in time"}})
    assert finished["code"] == "ok"
    async with at_work(quick):
        await approves(person)
        ended = await hears_of_the_end(planner, run)
    assert ended["meta"]["output"]["text"] == "in time -"
    events = await planner.call("read_run_events", workflow_id=run, states_json=[joins])
    assert any(reason in str(event) for event in events["events"])
    assert [item for seat in (planner, slow, person) for item in seat.without_a_legal_next()] == []
