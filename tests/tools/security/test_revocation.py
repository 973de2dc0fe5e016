"""A revoked key ends what waits with it, long polls and event streams, and is not handed another event."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.to_thread
import httpx2
import pytest
import redis
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.store.access.api_keys import AccessKeys
from dcf.tools.mcp.server import build_http_app
from dcf.verbs import key_watch
from tests.support.waiting import wait_until
from tests.tools.access import PLANNER, WORKER
from tests.tools.calls import Answer, Tools, new_run, serving

pytestmark = pytest.mark.anyio

LONG_S = 50
"""Seconds that a poll would last."""
PATIENCE_S = 50
"""Seconds after which a test gives up, counted from before the poll: a poll that is not ended lasts longer."""


@pytest.fixture(scope="module")
def site(replica: Callable[..., Application]) -> Application:
    return replica(auth="keys")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


def _key(site: Application, *scopes: Scope) -> tuple[str, str]:
    """A new key and its id."""
    made = site.keys.create(scopes, agent_id=None, label=None, life_s=None)
    return made.text, made.record.key_id


@asynccontextmanager
async def _tools(url: str, key: str) -> AsyncIterator[Tools]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=LONG_S + PATIENCE_S) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield await Tools.of(client)


async def _wait_for_a_reader(raw_redis: redis.Redis, agent: str) -> None:
    """Wait until somebody waits on an agent's inbox."""

    def waits() -> bool:
        follows = any("b" in item["flags"] and item["cmd"].startswith("xread") for item in raw_redis.client_list())
        return follows and bool(raw_redis.exists(f"cp:idx:inbox:{agent}"))

    await anyio.to_thread.run_sync(wait_until, waits)


async def _poll(tools: Tools, agent: str, answers: list[Answer]) -> None:
    answers.append(await tools.call("await_workflow_event", agent_id=agent, timeout_s=LONG_S))


async def test_an_open_poll_ends_when_its_key_is_revoked(
    site: Application, url: str, raw_redis: redis.Redis, run_id: str
) -> None:
    key, key_id = _key(site, *WORKER)
    answers: list[Answer] = []
    with anyio.fail_after(PATIENCE_S):
        async with _tools(url, key) as tools, anyio.create_task_group() as tasks:
            tasks.start_soon(_poll, tools, run_id, answers)
            await _wait_for_a_reader(raw_redis, run_id)
            site.keys.revoke(key_id)
    assert answers[0].code == "unauthorized"
    assert answers[0].broken


@contextmanager
def _looking_every(seconds: float, replica: Callable[..., Application]) -> Iterator[str]:
    """A server that looks this often whether the keys of waiting callers still hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_watch, "EVERY_S", seconds)
        with serving(build_http_app(replica(auth="keys"))) as server_url:
            yield server_url


async def test_a_revoked_key_is_not_handed_the_event_it_waited_for(
    site: Application, replica: Callable[..., Application], raw_redis: redis.Redis, run_id: str
) -> None:
    with _looking_every(10.0 * LONG_S, replica) as url:
        await _revoked_while_it_waits(site, url, raw_redis, run_id)


async def _revoked_while_it_waits(site: Application, url: str, raw_redis: redis.Redis, run_id: str) -> None:
    (planner, _), (worker, worker_id) = _key(site, *PLANNER), _key(site, *WORKER)
    agent, answers = f"agent-{run_id}", list[Answer]()
    with anyio.fail_after(PATIENCE_S):
        async with _tools(url, planner) as planning, _tools(url, worker) as tools, anyio.create_task_group() as tasks:
            await new_run(planning, run_id, agents_map_json={"A": agent})
            tasks.start_soon(_poll, tools, agent, answers)
            await _wait_for_a_reader(raw_redis, agent)
            site.keys.revoke(worker_id)
            await planning.ok("notify_next_worker_agent", workflow_id=run_id)
    assert (answers[0].code, answers[0].payload.get("event")) == ("unauthorized", None)
    assert raw_redis.xlen(f"cp:idx:inbox:{agent}") == 1, "the agent's next key gets it"


async def test_a_key_that_holds_keeps_its_poll_and_gets_the_event(
    site: Application,
    replica: Callable[..., Application],
    run_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[set[str]] = []

    def looked(_: AccessKeys, names: Iterable[str]) -> set[str]:
        looks.append(which_hold(site.keys, names))
        return looks[-1]

    which_hold = AccessKeys.which_hold
    monkeypatch.setattr(AccessKeys, "which_hold", looked)
    with _looking_every(0.01, replica) as url:
        await _woken_after_some_looks(site, url, run_id, looks)


async def _woken_after_some_looks(site: Application, url: str, run_id: str, looks: list[set[str]]) -> None:
    key, _ = _key(site, *PLANNER)
    agent, answers = f"agent-{run_id}", list[Answer]()
    with anyio.fail_after(PATIENCE_S):
        async with _tools(url, key) as tools, anyio.create_task_group() as tasks:
            await new_run(tools, run_id, agents_map_json={"A": agent})
            tasks.start_soon(_poll, tools, agent, answers)
            await anyio.to_thread.run_sync(wait_until, lambda: len(looks) >= 5)
            assert looks[-1] != set()
            await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    assert answers[0]["event"]["target_state"] == "A"


async def test_an_open_stream_of_events_ends_when_its_key_is_revoked(site: Application, url: str) -> None:
    key, key_id = _key(site, *WORKER)
    version = "2026-07-28"
    meta = {"protocolVersion": version, "clientCapabilities": {}}
    params = {
        "notifications": {"toolsListChanged": True},
        "_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "subscriptions/listen",
    }
    with anyio.fail_after(PATIENCE_S):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=LONG_S + PATIENCE_S) as http,
            http.stream("POST", f"{url}/mcp", json=message) as response,
        ):
            assert response.status_code == 200
            lines = response.aiter_lines()
            async for line in lines:
                if "acknowledged" in line:
                    break
            site.keys.revoke(key_id)
            rest = [line async for line in lines if line.startswith("data: ")]
    (last,) = map(json.loads, (line.removeprefix("data: ") for line in rest))
    assert last["error"]["message"] == "The API key of this call was revoked or has expired."
