"""The table of limits: each is kept, named by its code, and answered with what to do; a page never cuts JSON."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Scope, local_caller
from dcf.core.access.quotas import Account, Quotas
from dcf.errors import RateLimited
from dcf.tools.mcp.server import build_http_app, build_server
from dcf.verbs.limits import Meter
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Answer, Tools, lease_on, new_run, serving

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


class _Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def meter(clock: _Clock) -> Meter:
    return Meter(rate_per_s=2, burst=3, concurrency=2, monotonic=clock)


READER = key_of(Scope.READ)


def _turn(meter: Meter, name: str = "key:0123456789ab") -> None:
    with meter.turn(key_of(Scope.READ, name=name)):
        pass


def test_after_the_burst_a_caller_waits_for_its_rate(meter: Meter, clock: _Clock) -> None:
    for _ in range(3):
        _turn(meter)
    with pytest.raises(RateLimited) as refused:
        _turn(meter)
    assert refused.value.retry_after_s == 0.5
    clock.now += 0.5
    _turn(meter)
    with pytest.raises(RateLimited):
        _turn(meter)


def test_a_caller_works_on_threads_of_its_own(meter: Meter) -> None:
    """So that a busy caller delays no other."""
    first, second = key_of(Scope.READ, name="key:aaaaaaaaaaaa"), key_of(Scope.READ, name="key:bbbbbbbbbbbb")
    with meter.turn(first) as mine, meter.turn(first) as also_mine, meter.turn(second) as yours:
        assert mine is also_mine
        assert yours is not mine
        assert mine is not None
        assert mine.total_tokens == 16


def test_a_pause_fills_the_bucket_and_no_more(meter: Meter, clock: _Clock) -> None:
    _turn(meter)
    clock.now += 3600
    for _ in range(3):
        _turn(meter)
    with pytest.raises(RateLimited):
        _turn(meter)


def test_callers_are_counted_apart_and_the_local_user_is_not(meter: Meter) -> None:
    for _ in range(3):
        _turn(meter, "key:a")
    _turn(meter, "key:b")
    for _ in range(100):
        with meter.turn(local_caller(operator=False)):
            pass


def test_only_so_many_calls_of_a_caller_run_at_once(meter: Meter) -> None:
    with meter.turn(READER):
        with meter.turn(READER):
            with pytest.raises(RateLimited, match="More than 2 calls at once"), meter.turn(READER):
                pass
            with meter.turn(key_of(Scope.READ, name="key:b")):
                pass
        with meter.turn(READER):
            pass


def test_a_call_that_fails_gives_its_place_back(clock: _Clock) -> None:
    meter = Meter(rate_per_s=100, burst=100, concurrency=1, monotonic=clock)
    for _ in range(3):
        with pytest.raises(KeyError), meter.turn(READER):
            raise KeyError
    _turn(meter)


def test_callers_that_stay_away_are_forgotten(clock: _Clock) -> None:
    meter = Meter(rate_per_s=1, burst=1, concurrency=1, monotonic=clock)
    for number in range(10_050):
        _turn(meter, f"key:{number}")
    assert len(meter._accounts) == 10_000


def test_calls_that_redis_counted_are_not_counted_again_and_others_are(meter: Meter) -> None:
    counted = replace(READER, account=Account(key_id="0123456789ab", quotas=Quotas()))
    uncounted = replace(counted, account=Account(key_id="0123456789ab", quotas=Quotas(), was_counted=False))
    for _ in range(10):
        with meter.turn(counted):
            pass
    for _ in range(3):
        with meter.turn(uncounted):
            pass
    with pytest.raises(RateLimited), meter.turn(uncounted):
        pass


async def test_too_many_calls_are_told_so_and_when_to_come_again(alone: Application, meter: Meter) -> None:
    answers = [await ask(alone, READER, "read_workflow_control_plane", meter, workflow_id="nobody") for _ in range(4)]
    assert [answer.code for answer in answers] == ["unknown_run"] * 3 + ["rate_limited"]
    assert answers[3].broken
    assert answers[3]["retry_after_s"] == 0.5
    assert answers[3].hint == "Wait retry_after_s seconds, then repeat the same call."


# What is sent


def test_a_body_beyond_the_limit_is_413(replica: Replica) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * 5000}})
    with serving(build_http_app(replica(max_body_bytes=4096))) as url:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        assert httpx2.post(f"{url}/mcp", content=body, headers=headers).status_code == 413


async def test_a_workflow_beyond_the_limit_is_too_large(replica: Replica, run_id: str) -> None:
    async with Client(build_server(replica(max_document_bytes=2048))) as client:
        tools = await Tools.of(client)
        large = ONE_TASK | {"Comment": "x" * 3000}
        answer = await tools.refused("too_large", "create_workflow_control_plane", workflow_json=large, workflow_id="x")
        assert answer.error == "too_large: workflow_json is larger than 2048 bytes."
        await new_run(tools, run_id)


async def test_an_output_and_an_input_beyond_the_limit_are_too_large(replica: Replica, run_id: str) -> None:
    async with Client(build_server(replica(max_output_bytes=1024))) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id)
        holder = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
        large = {"new_status": "succeeded", "output_json": {"text": "x" * 2000}}
        answer = await tools.refused("too_large", "update_workflow_control_plane", **holder, **large)
        assert "reference" in answer.hint
        await tools.ok("update_workflow_control_plane", **holder, new_status="succeeded", output_json={"n": 1})
        wish = {"workflow_json": ONE_TASK, "workflow_id": f"{run_id}-2", "input_json": ["x" * 2000]}
        await tools.refused("too_large", "create_workflow_control_plane", **wish)


@pytest.mark.parametrize(
    ("depth", "code"), [(60, "ok"), (65, "invalid_argument"), (3000, "invalid_argument")], ids=["60", "65", "3000"]
)
async def test_json_is_nested_64_levels_at_most(tools: Tools, run_id: str, depth: int, code: str) -> None:
    await new_run(tools, run_id)
    holder = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    await tools.refused(code, "update_workflow_control_plane", **holder, output_json="[" * depth + "]" * depth)


def _nested(levels: int) -> dict[str, Any]:
    machine: dict[str, Any] = {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}
    for level in range(levels):
        state = {"Type": "Parallel", "Branches": [machine], "End": True}
        machine = {"StartAt": f"P{level}", "States": {f"P{level}": state}}
    return {"asl": machine}


async def test_thirty_parallel_states_in_each_other_are_run_and_one_more_is_refused(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, _nested(30), agents_map_json={"A": "ann"})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    leased = await tools.ok("claim_ready_state", workflow_id=run_id, owner_agent_id="ann")
    holding = {"workflow_id": run_id, "state": leased["state"], "lease_token": leased["lease"]["token"]}
    done = await tools.ok("update_workflow_control_plane", **holding, new_status="succeeded", output_json={"n": 1})
    assert done["run_status"] == "succeeded"
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert repr(read["meta"]["output"]) == "[" * 30 + "{'n': 1}" + "]" * 30

    wish = {"workflow_json": _nested(31), "workflow_id": f"{run_id}-2"}
    answer = await tools.refused("invalid_argument", "create_workflow_control_plane", **wish)
    assert "127 levels" in answer.error


async def test_a_workflow_has_ten_thousand_states_at_most(tools: Tools) -> None:
    states = {f"S{n}": {"Type": "Pass", "End": True} for n in range(10_001)}
    workflow = {"asl": {"StartAt": "S0", "States": states}}
    answer = await tools.refused(
        "invalid_definition", "create_workflow_control_plane", workflow_json=workflow, workflow_id="too-many"
    )
    assert "10000" in answer.error


# What is answered


def _wide(count: int) -> dict[str, Any]:
    branches = [{"StartAt": f"B{n}", "States": {f"B{n}": {"Type": "Task", "End": True}}} for n in range(count)]
    return {"asl": {"StartAt": "Par", "States": {"Par": {"Type": "Parallel", "Branches": branches, "End": True}}}}


def _chain(count: int) -> dict[str, Any]:
    names = [f"S{n:03}" for n in range(count)]
    states: dict[str, Any] = {name: {"Type": "Task", "Next": after} for name, after in pairwise(names)}
    return {"asl": {"StartAt": names[0], "States": states | {names[-1]: {"Type": "Task", "End": True}}}}


async def _pages(tools: Tools, run_id: str, **arguments: Any) -> list[Answer]:
    pages, cursor = [], None
    while True:
        pages.append(await tools.ok("read_workflow_control_plane", workflow_id=run_id, **arguments, cursor=cursor))
        cursor = pages[-1]["next_cursor"]
        if cursor is None:
            return pages


async def test_states_come_in_pages_each_once_and_in_order(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, _chain(25))
    pages = await _pages(tools, run_id, limit=10, compute_readiness=True)
    assert [len(page["states"]) for page in pages] == [10, 10, 5]
    assert [name for page in pages for name in page["states"]] == [f"S{n:03}" for n in range(25)]
    assert all(list(page["readiness"]) == list(page["outputs"]) == list(page["states"]) for page in pages)
    (whole,) = await _pages(tools, run_id)
    assert len(whole["states"]) == 25


async def test_named_states_come_in_pages_too(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, _chain(5))
    pages = await _pages(tools, run_id, limit=2, states_json=["S004", "S001", "S003"])
    assert [list(page["states"]) for page in pages] == [["S004", "S001"], ["S003"]]


async def test_what_is_open_inside_a_parallel_comes_after_the_states_of_the_workflow(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, _wide(7), agents_map_json={})
    pages = await _pages(tools, run_id, limit=3)
    names = [name for page in pages for name in page["states"]]
    assert names == ["Par", *sorted(f"Par/{n}/B{n}" for n in range(7))]


async def test_a_page_is_cut_between_states_where_it_would_grow_too_large(replica: Replica, run_id: str) -> None:
    limit = 64 * 1024
    async with Client(build_server(replica(max_result_bytes=limit))) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id, _chain(8), input_json={"text": "x" * 10})
        token = await lease_on(tools, run_id, "S000")
        for number in range(7):
            done = await tools.ok(
                "update_workflow_control_plane",
                workflow_id=run_id,
                state=f"S{number:03}",
                lease_token=token,
                new_status="succeeded",
                output_json={"text": "y" * 20_000},
                claim_next=True,
            )
            token = done["work"]["lease_token"]
        pages = await _pages(tools, run_id)
    assert len(pages) > 3
    assert all(len(page.text.encode()) <= limit for page in pages)
    assert [name for page in pages for name in page["states"]] == [f"S{n:03}" for n in range(8)]
    outputs = {name: value for page in pages for name, value in page["outputs"].items() if value is not None}
    assert {len(value["text"]) for value in outputs.values()} == {20_000}


async def test_one_state_that_fills_more_than_a_page_is_said_to(replica: Replica, run_id: str) -> None:
    async with Client(build_server(replica(max_result_bytes=16 * 1024))) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id, input_json={"text": "x" * 20_000})
        answer = await tools.refused("too_large", "read_workflow_control_plane", workflow_id=run_id, states_json=["A"])
        assert answer.error == "too_large: The answer is larger than 16384 bytes."
        holding = await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-1")
        assert len(holding["work"]["input"]["text"]) == 20_000, "what gives a lease is always answered"


@rows("cursor", ["nobody", "A/0", "0", "\x00"])
async def test_a_cursor_that_no_answer_gave_is_refused(tools: Tools, run_id: str, cursor: str) -> None:
    await new_run(tools, run_id)
    await tools.refused("invalid_argument", "read_workflow_control_plane", workflow_id=run_id, cursor=cursor)


async def test_skills_come_in_pages(tools: Tools) -> None:
    everything = (await tools.ok("get_skillset"))["available_skills"]
    result, cursor = [], None
    while True:
        page = await tools.ok("get_skillset", limit=1, cursor=cursor)
        result += page["available_skills"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert result == everything
    assert len(result) > 1
    await tools.refused("invalid_argument", "get_skillset", cursor="x")
