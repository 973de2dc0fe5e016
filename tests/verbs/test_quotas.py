"""Quotas of API keys: counted once however many servers there are, for every request, whatever becomes of it."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Amount, Quotas
from dcf.core.listing.checks import ListKind
from dcf.store.access.quotas import refusal_in, reservation
from dcf.store.keys import table as keys
from dcf.store.keys.table import keys_of
from dcf.store.lists.elsewhere import ask
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.access import PLANNER, WORKER
from tests.tools.calls import ONE_TASK, serving

Replica = Callable[..., Application]

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
NEVER_AGAIN = 0.001
"""A rate by which nothing comes back while a test runs."""


@pytest.fixture(scope="module")
def sites(replica: Replica) -> list[Application]:
    """Three applications on one Redis, each with connections of its own, as three servers have."""
    return [replica(auth="keys") for _ in range(3)]


@pytest.fixture(scope="module")
def urls(sites: list[Application]) -> Iterator[list[str]]:
    with ExitStack() as stack:
        yield [stack.enter_context(serving(build_http_app(site))) for site in sites]


def _key(sites: Sequence[Application], *scopes: Scope, **quotas: Amount) -> str:
    made = sites[0].keys.create(scopes or WORKER, agent_id=None, label=None, life_s=3600, quotas=quotas)
    return made.text


def _post(url: str, key: str, method: str, **params: Any) -> dict[str, Any]:
    """The JSON-RPC answer to one request, of a client of before 2026."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = httpx2.post(f"{url}/mcp", content=body, headers=HEADERS | {"Authorization": f"Bearer {key}"})
    assert response.status_code in {200, 400, 404}, response.text
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith(("data: ", "{"))]
    answer: dict[str, Any] = json.loads(next(line for line in lines if line.strip()))
    return answer


def _tool(url: str, key: str, tool: str, /, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = _post(url, key, "tools/call", name=tool, arguments=arguments)["result"]
    result: dict[str, Any] = answer["structuredContent"]
    return result


def _is_limited(answer: dict[str, Any]) -> bool:
    data = answer.get("error", {}).get("data")
    return isinstance(data, dict) and data.get("code") == "rate_limited"


def test_the_rate_of_a_key_is_counted_once_over_three_servers(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=9)
    answers = [_post(url, key, "tools/list") for _ in range(4) for url in urls]
    assert [_is_limited(answer) for answer in answers] == [False] * 9 + [True] * 3


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "tools/list": ("tools/list", {}),
    "ping": ("ping", {}),
    "resources/list": ("resources/list", {}),
    "prompts/list": ("prompts/list", {}),
    "initialize": (
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
    ),
    "no method": ("nobody/knows", {}),
    "no tool": ("tools/call", {"name": "nobody_knows", "arguments": {}}),
    "no scope": ("tools/call", {"name": "finalize_workflow", "arguments": {"workflow_id": "x"}}),
    "no argument of that name": ("tools/call", {"name": "json_read", "arguments": {"x": 1}}),
    "nothing there": ("tools/call", {"name": "json_read", "arguments": {"redis_key": "doc:nothing"}}),
}


@rows("kind", REQUESTS)
def test_every_request_counts_as_a_call(sites: list[Application], urls: list[str], kind: str) -> None:
    """Refused ones too: who asks for what it may not do pays for it."""
    method, params = REQUESTS[kind]
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=2)
    _post(urls[0], key, method, **params)
    assert not _is_limited(_post(urls[1], key, method, **params))
    assert _is_limited(_post(urls[2], key, "tools/list"))


@rows("kind", REQUESTS)
def test_every_request_beyond_the_rate_is_refused(sites: list[Application], urls: list[str], kind: str) -> None:
    method, params = REQUESTS[kind]
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1)
    _post(urls[0], key, "tools/list")
    answer = _post(urls[0], key, method, **params)
    is_call_of_a_tool = method == "tools/call" and kind != "no tool"
    result = answer["result"]["structuredContent"] if is_call_of_a_tool else answer["error"]["data"]
    assert (result["code"], result["hint"]) == (
        "rate_limited",
        "Wait retry_after_s seconds, then repeat the same call.",
    )
    assert 900 < result["retry_after_s"] <= 1000


def test_a_call_that_is_refused_for_its_rate_makes_nobody_wait_longer(
    sites: list[Application], urls: list[str]
) -> None:
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1)
    _post(urls[0], key, "tools/list")
    waits = [_post(urls[0], key, "ping")["error"]["data"]["retry_after_s"] for _ in range(5)]
    assert waits == sorted(waits, reverse=True)


def test_a_notification_beyond_the_rate_is_counted_and_makes_no_noise(
    sites: list[Application], urls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1)
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for _ in range(2):
        response = httpx2.post(f"{urls[0]}/mcp", content=body, headers=HEADERS | {"Authorization": f"Bearer {key}"})
        assert response.status_code == 202
    assert _is_limited(_post(urls[0], key, "ping"))
    assert "raised" not in caplog.text


def test_several_requests_in_one_body_are_no_way_around(sites: list[Application], urls: list[str]) -> None:
    body = json.dumps([{"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(3)])
    headers = HEADERS | {"Authorization": f"Bearer {_key(sites)}"}
    assert httpx2.post(f"{urls[0]}/mcp", content=body, headers=headers).status_code == 400


def test_one_key_does_not_pay_for_another(sites: list[Application], urls: list[str]) -> None:
    first, other = (_key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1) for _ in range(2))
    _post(urls[0], first, "ping")
    wrong = f"dcf_{other.split('_')[1]}_{first.split('_', 2)[2]}"
    refused = httpx2.post(f"{urls[0]}/mcp", content="{}", headers=HEADERS | {"Authorization": f"Bearer {wrong}"})
    assert refused.status_code == 401, "who knows the id of a key and not its secret takes nothing from it"
    assert not _is_limited(_post(urls[0], other, "tools/list"))


# Stocks


def test_documents_are_counted_once_over_three_servers(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, documents=4)
    names = [_doc() for _ in range(6)]
    codes = [_tool(url, key, "json_create", redis_key=name)["code"] for url, name in zip(urls * 2, names, strict=True)]
    assert codes == ["ok"] * 4 + ["quota_exceeded"] * 2
    refused = _tool(urls[0], key, "json_create", redis_key=names[5])
    assert refused["error"] == "quota_exceeded: The quota documents of this key is used up: 4 of 4 documents."
    assert "json_delete" in refused["hint"]
    assert "operator" in refused["hint"]


def test_many_writers_at_once_stay_within_the_quota(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, documents=5, stored_bytes=17_000)
    with ThreadPoolExecutor(12) as pool:
        calls = [
            pool.submit(_tool, url, key, "json_create", redis_key=_doc(), initial_json={"text": "x" * 4985})
            for url in urls * 4
        ]
        codes = [call.result()["code"] for call in calls]
    assert Counter(codes) == {"ok": 3, "quota_exceeded": 9}
    assert _held(sites, key) == (3 * 4996, 3)


def test_what_is_deleted_or_expires_is_given_back(
    sites: list[Application], urls: list[str], raw_redis: redis.Redis
) -> None:
    key, names = _key(sites, documents=3), [_doc() for _ in range(5)]
    for name in names[:3]:
        assert _tool(urls[0], key, "json_create", redis_key=name, expires_in_s=3600)["code"] == "ok"
    assert _tool(urls[1], key, "json_create", redis_key=names[3])["code"] == "quota_exceeded"
    assert _tool(urls[1], key, "json_delete", redis_key=names[0], path="$")["code"] == "ok"
    assert _tool(urls[2], key, "json_create", redis_key=names[3])["code"] == "ok"
    for name in names[1:3]:  # as if their hour had passed
        raw_redis.delete(name)
        raw_redis.zadd(keys.quota(_id(key), "docs"), {name: 1})
    assert _tool(urls[2], key, "json_create", redis_key=names[4])["code"] == "ok"
    assert _held(sites, key) == (4, 2)


def test_a_document_belongs_to_who_wrote_it_last(sites: list[Application], urls: list[str]) -> None:
    """So that no caller fills another's quota by writing into its documents."""
    first, other, name = _key(sites), _key(sites, stored_bytes=250), _doc()
    assert _tool(urls[0], first, "json_create", redis_key=name, initial_json={"a": 1})["code"] == "ok"
    answer = _tool(urls[1], other, "json_set", redis_key=name, path="$.b", value_json="x" * 250, as_text=True)
    assert answer["code"] == "quota_exceeded"
    assert _tool(urls[1], other, "json_set", redis_key=name, path="$.b", value_json=1)["code"] == "ok"
    assert (_held(sites, first), _held(sites, other)) == ((0, 0), (len('{"a":1,"b":1}'), 1))


def test_a_key_beyond_its_quota_may_still_read_shrink_and_delete(sites: list[Application], urls: list[str]) -> None:
    name = _doc()
    key = _key(sites, stored_bytes=400)
    assert _tool(urls[0], key, "json_create", redis_key=name, initial_json={"a": "x" * 40})["code"] == "ok"
    grown = _tool(urls[0], key, "json_append", redis_key=name, path="$.a", value_json="y" * 300, as_text=True)
    assert grown["code"] == "quota_exceeded"
    assert _tool(urls[0], key, "json_read", redis_key=name)["code"] == "ok"
    assert _tool(urls[0], key, "json_set", redis_key=name, path="$.a", value_json=1)["code"] == "ok"
    assert _tool(urls[0], key, "json_delete", redis_key=name, path="$")["code"] == "ok"
    assert _held(sites, key) == (0, 0)


def test_a_repeated_write_is_answered_although_the_quota_is_used_up(sites: list[Application], urls: list[str]) -> None:
    key, wish = _key(sites, documents=1), {"redis_key": _doc(), "request_id": "once"}
    assert _tool(urls[0], key, "json_create", **wish)["code"] == "ok"
    assert _tool(urls[1], key, "json_create", **wish)["repeated"]


def test_live_runs_are_counted_once_over_three_servers(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, *PLANNER, live_runs=3)
    runs = [f"quota-{secrets.token_hex(6)}" for _ in range(5)]
    codes = [_created(url, key, run) for url, run in zip(urls * 2, runs, strict=False)]
    assert codes == ["ok"] * 3 + ["quota_exceeded"] * 2
    assert _created(urls[1], key, runs[0]) == "ok", "a repeated request finds its run"


@rows("ends", ["finalize_workflow", "cancel_run", "delete_run"])
def test_a_run_that_is_over_is_no_longer_a_live_one_at_once(
    sites: list[Application], urls: list[str], ends: str
) -> None:
    """Although the clock has not looked at it, and it was created a moment ago."""
    key = _key(sites, *PLANNER, Scope.OPERATE, live_runs=1)
    first, second, third = (f"quota-{secrets.token_hex(6)}" for _ in range(3))
    assert _created(urls[0], key, first) == "ok"
    assert _created(urls[1], key, second) == "quota_exceeded"
    calls = ["cancel_run", ends] if ends == "delete_run" else [ends]
    for call in calls:
        assert _tool(urls[0], key, call, workflow_id=first)["code"] == "ok"
    assert _created(urls[2], key, second) == "ok"
    assert _created(urls[2], key, third) == "quota_exceeded", "it took the place"


def test_runs_that_end_when_they_begin_take_no_place(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, *PLANNER, live_runs=20)
    wish = {"workflow_json": {"asl": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}}}
    runs = [f"quota-{secrets.token_hex(6)}" for _ in range(40)]
    answers = [_tool(urls[0], key, "create_workflow_control_plane", workflow_id=run, **wish) for run in runs]
    assert Counter(answer["code"] for answer in answers) == {"ok": 40}
    assert _tool(urls[0], key, "read_workflow_control_plane", workflow_id=runs[-1])["meta"]["status"] == "succeeded"


def test_a_run_that_is_about_to_be_created_takes_a_place(sites: list[Application], urls: list[str]) -> None:
    """Its key asked for the place, and died or has not yet written the run."""
    key, run = _key(sites, *PLANNER, live_runs=1), f"quota-{secrets.token_hex(6)}"
    account = Account(key_id=_id(key), quotas=Quotas(live_runs=1))
    connections = sites[0].history._connections
    assert refusal_in(ask(connections, reservation(connections.form, keys_of(run), 10, account))[0]) is None
    assert _created(urls[0], key, f"{run}-2") == "quota_exceeded"
    connections.send(("ZADD", keys.quota(_id(key), "live"), 1, run))  # a minute passes
    assert _created(urls[0], key, f"{run}-2") == "ok"


def test_a_workflow_and_its_data_count_as_stored_bytes_until_the_run_is_gone(
    sites: list[Application], urls: list[str], raw_redis: redis.Redis
) -> None:
    planner, worker = _key(sites, *PLANNER), _key(sites, stored_bytes=300)
    run = f"quota-{secrets.token_hex(6)}"
    assert _created(urls[0], planner, run, input_json={"x": "y" * 1000}) == "ok"
    stored, _ = _held(sites, planner)
    assert 2000 < stored < 3000, "the input of the run and of its first state, and the workflow"
    wish = {"workflow_id": run, "owner_agent_id": "w"}
    token = _tool(urls[1], worker, "claim_ready_state", **wish)["lease"]["token"]
    done = {**wish, "state": "A", "lease_token": token, "new_status": "succeeded", "output_json": {"o": "z" * 400}}
    assert _tool(urls[2], worker, "update_workflow_control_plane", **done)["code"] == "ok"
    assert 400 < _held(sites, worker)[0] < 600
    assert _tool(urls[0], worker, "update_workflow_control_plane", **done)["repeated"]
    _created(urls[0], planner, f"{run}-2")
    token = _tool(urls[1], worker, "claim_ready_state", **{**wish, "workflow_id": f"{run}-2"})["lease"]["token"]
    again = {**done, "workflow_id": f"{run}-2", "lease_token": token}
    assert _tool(urls[2], worker, "update_workflow_control_plane", **again)["code"] == "quota_exceeded"

    for key in raw_redis.scan_iter(f"?p:wf:{run}:*", count=10_000):
        raw_redis.delete(key)
    raw_redis.zadd(keys.quota(_id(worker), "runs"), {run: 1})  # it was written to more than a minute ago
    sites[0].sweep.look(repair=True)
    assert _held(sites, worker)[0] == 0
    assert _tool(urls[2], worker, "update_workflow_control_plane", **again)["code"] == "ok"


@rows("wants", ["a document", "a run"])
def test_who_is_about_to_be_refused_gets_back_what_is_gone(
    sites: list[Application], urls: list[str], raw_redis: redis.Redis, wants: str
) -> None:
    """Not only at the next sweep."""
    key = _key(sites, *PLANNER, stored_bytes=3000)
    run = f"quota-{secrets.token_hex(6)}"
    assert _created(urls[0], key, run, input_json={"x": "y" * 1000}) == "ok"
    for name in raw_redis.scan_iter(f"?p:wf:{run}:*", count=10_000):
        raw_redis.delete(name)
    raw_redis.zadd(keys.quota(_id(key), "runs"), {run: 1})
    if wants == "a document":
        large = {"redis_key": _doc(), "initial_json": {"x": "y" * 2000}}
        assert _tool(urls[1], key, "json_create", **large)["code"] == "ok"
    else:
        assert _created(urls[1], key, f"{run}-2", input_json={"x": "y" * 1000}) == "ok"
    assert 2000 < _held(sites, key)[0] < 3000


def test_entries_in_inboxes_are_counted_until_they_are_acknowledged(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, *PLANNER, inbox_entries=2)
    agents = [f"agent-{secrets.token_hex(6)}" for _ in range(3)]
    runs = [f"quota-{secrets.token_hex(6)}" for _ in agents]
    for run, agent in zip(runs, agents, strict=True):
        assert _created(urls[0], key, run, agents_map_json={"A": agent}) == "ok"
    starts = [_tool(url, key, "notify_next_worker_agent", workflow_id=run) for url, run in zip(urls, runs, strict=True)]
    assert [start["code"] for start in starts] == ["ok", "ok", "quota_exceeded"]
    again = _tool(urls[0], key, "notify_if_ready", workflow_id=runs[0], state="A")
    assert again["error"].startswith("quota_exceeded: The quota inbox_entries of this key is used up: 2 of 2")
    assert sites[0].usage.of(_id(key)).inbox_entries == 2
    event = _tool(urls[1], key, "await_workflow_event", lease=False, agent_id=agents[0])
    wish = {"agent_id": agents[0], "ack_message_id": event["message_id"], "timeout_s": 0}
    _tool(urls[1], key, "await_workflow_event", **wish)
    assert _tool(urls[2], key, "notify_next_worker_agent", workflow_id=runs[2])["code"] == "ok"


def test_too_many_events_make_a_key_wait(sites: list[Application], urls: list[str]) -> None:
    key = _key(sites, *PLANNER, events_per_s=NEVER_AGAIN, events_burst=2)
    first = f"quota-{secrets.token_hex(6)}"
    assert _created(urls[0], key, first) == "ok"
    assert _created(urls[1], key, f"{first}-2") == "ok"
    answer = _tool(urls[2], key, "read_workflow_control_plane", workflow_id=first)
    assert answer["code"] == "rate_limited"
    assert answer["error"].startswith("rate_limited: More than 0.001 events of runs a second")


def test_the_sweep_gives_back_what_was_deleted_by_hand(
    sites: list[Application], urls: list[str], raw_redis: redis.Redis
) -> None:
    key, name = _key(sites), _doc()
    assert _tool(urls[0], key, "json_create", redis_key=name)["code"] == "ok"
    raw_redis.delete(name)
    assert _held(sites, key) == (2, 1)
    assert sites[1].sweep.look(repair=True).dangling[ListKind.DOCUMENTS] >= 1
    assert _held(sites, key) == (0, 0)


def test_the_sweep_gives_back_what_expired_and_calls_it_no_fault(
    sites: list[Application], urls: list[str], raw_redis: redis.Redis
) -> None:
    sites[0].sweep.look(repair=True)
    key, name = _key(sites), _doc()
    assert _tool(urls[0], key, "json_create", redis_key=name, expires_in_s=1)["code"] == "ok"
    wait_until(lambda: not raw_redis.exists(name) and _server_time(raw_redis) >= _expiry_of(raw_redis, key, name))
    assert _held(sites, key) == (2, 1)
    assert ListKind.DOCUMENTS not in sites[1].sweep.look(repair=True).dangling
    assert _held(sites, key) == (0, 0)


def _server_time(raw_redis: redis.Redis) -> float:
    clock: Any = raw_redis.time()
    return float(clock[0])


def _expiry_of(raw_redis: redis.Redis, key: str, name: str) -> float:
    """When the document was to expire, by the list of its owner."""
    return float(raw_redis.zscore(keys.quota(_id(key), "docs"), name) or 0)


def _doc() -> str:
    return f"doc:quota-{secrets.token_hex(6)}"


def _id(key: str) -> str:
    return key.split("_")[1]


def _held(sites: list[Application], key: str) -> tuple[int, int]:
    """The bytes and documents that a key holds, without receipts."""
    stored, documents = sites[0].history._connections.send(
        ("HGET", keys.quota(_id(key)), "bytes"), ("ZCARD", keys.quota(_id(key), "docs"))
    )
    return int(stored or 0), documents


def _created(url: str, key: str, run: str, **more: Any) -> str:
    wish = {"workflow_json": ONE_TASK, "workflow_id": run, "agents_map_json": {"A": "w"}, **more}
    code: str = _tool(url, key, "create_workflow_control_plane", **wish)["code"]
    return code
