"""await_workflow_event brings the work itself: the state is leased, with input and the next call."""

import threading
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import Status
from dcf.core.leasing import lease
from dcf.store.events.inbox import VISIBILITY_S
from dcf.tools.mcp.server import build_server
from dcf.tools.verbs import awaited_leases
from dcf.tools.verbs.awaiting import await_workflow_event
from dcf.values.records import replace
from dcf.verbs.answers.work import work_shown
from tests.tools.calls import ONE_TASK, TWO_TASKS, Answer, Tools, new_run

pytestmark = pytest.mark.anyio


async def ready(tools: Tools, run_id: str, agent: str, **more: object) -> None:
    """A run of two Tasks, both the agent's, of which the first is ready."""
    arguments = {"agents_map_json": {"A": agent, "B": agent}, "input_json": {"n": 1}} | more
    await new_run(tools, run_id, TWO_TASKS, **arguments)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)


async def test_an_event_of_a_ready_state_brings_its_lease_its_input_and_the_next_call(
    tools: Tools, run_id: str
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=50)
    work = answer["work"]
    assert (work["workflow_id"], work["state"], work["attempt"], work["input"]) == (run_id, "A", 1, {"n": 1})
    assert list(work)[-1] == "input"
    assert None not in work.values()
    (step,) = answer["next"]
    assert step["tool"] == "update_workflow_control_plane"
    await tools.ok(step["tool"], **step["arguments"] | {"output_json": {"n": 2}})
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert (read["states"]["A"]["status"], read["outputs"]["A"]) == ("succeeded", {"n": 2})


async def test_an_event_that_brings_work_names_the_documents_of_its_state(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    documents = {
        "meta_key": f"cp:wf:{run_id}:meta",
        "state_key": f"cp:wf:{run_id}:state:A",
        "input_key": f"dp:wf:{run_id}:input:A",
        "output_key": f"dp:wf:{run_id}:output:A",
    }
    for _ in range(2):
        answer = await awaited(tools, agent, request_id="first")
        assert answer["event"]["control_plane"] == documents
    read = await tools.ok("json_read", redis_key=documents["input_key"])
    assert read["value_json"] == '{"n":1}'


async def awaited(tools: Tools, agent: str, **more: object) -> Answer:
    return await tools.ok("await_workflow_event", **{"agent_id": agent, "timeout_s": 0} | more)


def _lasting(work: Any) -> dict[str, Any]:
    """Work without the end of its lease, which asking again puts off."""
    return {name: value for name, value in work.items() if name != "lease_expires_at"}


async def test_of_states_that_a_worker_does_not_name_it_is_only_told(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    answer = await awaited(tools, agent, lease_states=["B"])
    assert answer["event"]["target_state"] == "A"
    assert "work" not in answer.payload
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert (read["states"]["A"]["status"], read["states"]["A"]["attempts"]) == ("pending", 0)


async def test_of_a_state_that_means_another_function_a_worker_is_only_told(tools: Tools, run_id: str) -> None:
    agent, own = f"agent-{run_id}", {"lease_functions": {"A": ["flow.double", "flow.half"]}}
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "dcf:task:other.double", "End": True}}}
    await new_run(tools, run_id, {**ONE_TASK, "asl": machine}, agents_map_json={"A": agent})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    answer = await awaited(tools, agent, **own)
    assert (answer["event"]["target_state"], answer["event"]["function"]) == ("A", "other.double")
    assert "work" not in answer.payload
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert read["states"]["A"]["attempts"] == 0
    await tools.ok("notify_if_ready", workflow_id=run_id, state="A")
    more = {"lease_functions": {"A": ["shop.other.double"]}, "ack_message_id": answer["message_id"]}
    assert (await awaited(tools, agent, **more))["work"]["resource"] == "other.double"


async def test_a_wait_that_is_repeated_with_its_token_finds_the_lease_again(
    tools: Tools, run_id: str, raw_redis: redis.Redis
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    first = await awaited(tools, agent, lease_token="token-of-mine", lease_states=["A"])
    taken = f"cp:idx:inbox:{agent}:taken"
    raw_redis.zincrby(taken, -VISIBILITY_S * 1000, first["message_id"])  # as if it had been handed out long ago
    again = await awaited(tools, agent, lease_token="token-of-mine", lease_states=["A"])
    assert _lasting(again["work"]) == _lasting(first["work"])
    assert (again["work"]["lease_token"], again["work"]["attempt"]) == ("token-of-mine", 1)


async def test_a_loop_of_two_calls_does_a_run_and_waits_at_its_end(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    (step,) = (await awaited(tools, agent))["next"]
    done = await tools.ok(step["tool"], **step["arguments"] | {"output_json": {"n": 2}})
    assert (done["work"]["state"], done["work"]["input"]) == ("B", {"n": 2})
    (step,) = done["next"]
    last = await tools.ok(step["tool"], **step["arguments"] | {"output_json": 3})
    assert last["run_status"] == "succeeded"
    assert "work" not in last.payload
    assert last["status"].endswith("The run is succeeded: nothing is left to do in it.")
    (step,) = last["next"]
    assert step["tool"] == "await_workflow_event"
    assert (await tools.ok(step["tool"], **step["arguments"] | {"timeout_s": 0}))["status"] == "timeout"


async def test_a_repeated_completion_brings_what_it_brought_then_only_while_that_is_held(
    tools: Tools, run_id: str
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    (step,) = (await awaited(tools, agent))["next"]
    first = {name: value for name, value in step["arguments"].items() if name != "owner_agent_id"} | {"output_json": 2}
    work = (await tools.ok(step["tool"], **first))["work"]
    again = await tools.ok(step["tool"], **first)
    assert (again["repeated"], again["work"]) == (True, work)
    holder = {name: work[name] for name in ("workflow_id", "state", "lease_token")}
    await tools.ok("release_state_lease", **holder)
    late = await tools.ok(step["tool"], **first)
    assert (late["repeated"], "work" in late.payload) == (True, False)


async def test_of_a_pool_that_waits_one_gets_the_work_and_the_others_go_on_waiting(tools: Tools, run_id: str) -> None:
    pool = [f"{name}-{run_id}" for name in ("ann", "bob", "cyd")]
    await new_run(tools, run_id, agents_map_json={"A": [*pool, f"never-seen-{run_id}"]})
    answers: list[Answer] = []

    async with anyio.create_task_group() as tasks:

        async def wait(agent: str) -> None:
            answers.append(await awaited(tools, agent, timeout_s=50))
            tasks.cancel_scope.cancel()

        for agent in pool:
            tasks.start_soon(wait, agent)
        await anyio.wait_all_tasks_blocked()
        await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    (answer,) = answers
    assert (answer["work"]["workflow_id"], answer["work"]["state"]) == (run_id, "A")
    view = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    holder = view["states"]["A"]["lease"]["owner_agent_id"]
    assert holder in pool
    for agent in pool:
        if agent != holder:
            assert (await awaited(tools, agent))["status"] == "timeout", "its event is no longer true"


async def test_an_event_of_a_state_that_another_took_is_dropped_and_the_wait_goes_on(
    tools: Tools, run_id: str, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    acquire = application.control_plane.acquire

    def overtaken(workflow_id: str, request: lease.Acquire) -> Any:
        """Another process of the agent is faster between the look into the inbox and the lease."""
        taken = acquire(workflow_id, replace(request, token=f"token-{run_id}"))
        assert isinstance(taken, Leased)
        return acquire(workflow_id, request)

    with monkeypatch.context() as patch:
        patch.setattr(application.control_plane, "acquire", overtaken)
        answer = await awaited(tools, agent, timeout_s=0.1)
    assert (answer["status"], answer["event"]) == ("timeout", None)
    assert application.inbox.waiting(agent, 10) == []


async def test_a_repeated_call_gets_the_same_lease_and_another_process_does_not(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    first = await awaited(tools, agent, request_id="id-1")
    again = await awaited(tools, agent, request_id="id-1")
    assert again["repeated"] is True
    assert (_lasting(again["work"]), again["next"][0]["tool"]) == (_lasting(first["work"]), first["next"][0]["tool"])
    for other in ({}, {"request_id": "id-2"}, {"lease_token": "token-2"}):
        assert (await awaited(tools, agent, **other))["event"] is None
    written = again["next"][0]["arguments"] | {"output_json": 2, "claim_next": False}
    await tools.ok("update_workflow_control_plane", **written)
    following = await awaited(tools, agent, timeout_s=50, request_id="id-1")
    assert (following["work"]["state"], "repeated" in following.payload) == ("B", False), "the first is done with"


async def test_two_processes_that_acknowledge_the_same_event_do_not_get_the_same_lease(
    tools: Tools, run_id: str
) -> None:
    """An event that is acknowledged late is handed out to a second process, and its id is no secret."""
    agent, process = f"agent-{run_id}", {"ack_message_id": "1-1"}
    await ready(tools, run_id, agent)
    assert (await awaited(tools, agent, **process, request_id="one"))["work"]["state"] == "A"
    assert (await awaited(tools, agent, **process, request_id="other"))["status"] == "timeout"


async def test_whoever_stops_waiting_while_its_state_is_leased_leaves_it_to_others(
    alone: Application, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = f"agent-{run_id}"
    plane, acquire = alone.control_plane, alone.control_plane.acquire
    async with Client(build_server(alone)) as client:
        await ready(await Tools.of(client), run_id, agent)
    async with anyio.create_task_group() as tasks:

        def leased_too_late(workflow_id: str, request: lease.Acquire) -> Any:
            leased_too_late = acquire(workflow_id, request)
            anyio.from_thread.run_sync(tasks.cancel_scope.cancel)
            return leased_too_late

        monkeypatch.setattr(plane, "acquire", leased_too_late)
        tasks.start_soon(partial(await_workflow_event, alone, agent, timeout_s=50))
    monkeypatch.undo()
    doc = plane.read(run_id, ("A",)).states["A"]
    assert (doc.status, doc.lease.token) == (Status.PENDING, None)


async def test_work_is_read_outside_the_event_loop_so_that_other_calls_are_answered(
    alone: Application, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, threads = f"agent-{run_id}", list[int]()
    async with Client(build_server(alone)) as client:
        await ready(await Tools.of(client), run_id, agent)

    def shown(*args: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return work_shown(*args, **more)

    monkeypatch.setattr(awaited_leases, "work_shown", shown)
    await_workflow_events = [await await_workflow_event(alone, agent, timeout_s=50, request_id="1") for _ in "12"]
    assert [await_workflow_event.members["work"]["state"] for await_workflow_event in await_workflow_events] == [
        "A",
        "A",
    ]
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_an_acknowledgement_is_answered_even_where_nothing_comes(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    event = await awaited(tools, agent, lease=False)
    assert "acknowledged" not in event.payload
    awaiteds = [await awaited(tools, agent, ack_message_id=event["message_id"], lease=False) for _ in range(2)]
    assert [(awaited["status"], awaited["acknowledged"]) for awaited in awaiteds] == [
        ("timeout", True),
        ("timeout", False),
    ]


async def test_an_acknowledgement_counts_also_where_the_work_of_before_is_given_again(
    tools: Tools, run_id: str, application: Application
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    assert (await awaited(tools, agent, request_id="1"))["work"]["state"] == "A"
    ended = await new_run(tools, f"{run_id}-2", planner_agent_id=agent)
    await tools.ok("cancel_run", workflow_id=ended)
    event = await awaited(tools, agent, timeout_s=50)
    assert event["event"]["type"] == "run_finished"
    again = await awaited(tools, agent, request_id="1", ack_message_id=event["message_id"])
    assert (again["repeated"], again["acknowledged"], again["work"]["state"]) == (True, True, "A")
    assert not application.inbox.acknowledge(agent, event["message_id"]), "it comes no more"


async def test_a_paused_run_hands_out_nothing_until_it_is_resumed(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    await tools.ok("pause_run", workflow_id=run_id)
    assert (await awaited(tools, agent))["status"] == "timeout"
    await tools.ok("resume_run", workflow_id=run_id)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    assert (await awaited(tools, agent, timeout_s=50))["work"]["state"] == "A"


async def test_iterations_of_a_map_come_one_after_the_other_also_after_a_failure(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    each = {"Type": "Map", "ItemProcessor": ONE_TASK["asl"], "ToleratedFailureCount": 3, "End": True}
    document = {"asl": {"StartAt": "Each", "States": {"Each": each}}}
    await new_run(tools, run_id, document, agents_map_json={"A": agent}, input_json=[0, 1, 2, 3])
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    result = await awaited(tools, agent, timeout_s=50)
    sent = [result["work"]["input"]]
    for _ in range(3):
        (step,) = result["next"]
        more = {"new_status": "failed", "error_name": "Odd"} if sent[-1] % 2 else {"output_json": 1}
        arguments = {name: value for name, value in step["arguments"].items() if name != "output_json"}
        result = await tools.ok(step["tool"], **arguments | more)
        sent.append(result["work"]["input"])
    assert sorted(sent) == [0, 1, 2, 3]


async def test_the_holders_of_a_run_that_is_cancelled_hear_of_it_with_what_to_do(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    await awaited(tools, agent)
    await tools.ok("cancel_run", workflow_id=run_id)
    answer = await awaited(tools, agent, timeout_s=50)
    assert (answer["event"]["type"], answer["event"]["status"]) == ("run_over", "cancelled")
    (step,) = answer["next"]
    last = await tools.ok(step["tool"], **step["arguments"] | {"timeout_s": 0})
    assert (last["status"], last["acknowledged"]) == ("timeout", True)


async def test_a_long_input_is_left_out_of_work_unless_it_is_wanted_whole(tools: Tools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent, input_json={"text": "x" * 30_000})
    heard = await awaited(tools, agent, request_id="1")
    work, step = heard["work"], heard["next"][0]
    assert "input" not in work
    read = (await tools.ok(step["tool"], **step["arguments"]))["work"]
    assert (read["input"], read["lease_token"], read["attempt"]) == ({"text": "x" * 30_000}, work["lease_token"], 1)
    key = work["input_left_out"].partition('redis_key="')[2].partition('"')[0]
    assert (await tools.ok("json_read", redis_key=key, path="text", cursor=0))["success"]
    whole = (await awaited(tools, agent, request_id="1", whole_input=True))["work"]
    assert len(whole["input"]["text"]) == 30_000


async def test_instructions_schema_errors_and_skills_come_with_the_work(tools: Tools, run_id: str) -> None:
    details = {
        "Instructions": "Double {% $states.input.n %}.",
        "OutputSchema": {"type": "integer"},
        "Errors": ["Odd"],
        "Skills": ["skill://validate.order@0.1.0"],
    }
    document = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **details}}}}
    agent = f"agent-{run_id}"
    await new_run(tools, run_id, document, agents_map_json={"A": agent}, input_json={"n": 4})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    work = (await awaited(tools, agent, timeout_s=50))["work"]
    assert (work["instructions"], work["output_schema"], work["errors"]) == ("Double 4.", {"type": "integer"}, ["Odd"])
    (skill,) = work["skills"]
    assert skill["manifestId"] == "skill.validate.order@0.1.0"
    assert skill["directives"]
    assert list(work)[-6:] == ["instructions", "output_schema", "errors", "skills", "provenance", "input"]
