"""API keys over real HTTP: admission, the answers to other callers, and that only the holder knows a key."""

import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.errors import Forbidden, Unauthorized
from dcf.settings.process import Settings
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.tools.calling.client import connect
from dcf.tools.mcp.server import build_http_app
from tests.support.redis.documents import set_member
from tests.support.redis.redis_contents import everything_in
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.access import PLANNER, WORKER
from tests.tools.calls import ONE_TASK, Tools, new_run, serving

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]
PUBLIC = "https://dcf.example/mcp"
METADATA = "https://dcf.example/.well-known/oauth-protected-resource/mcp"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@pytest.fixture(scope="module")
def site(replica: Replica) -> Application:
    return replica(auth="keys", public_url=PUBLIC)


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


def _key(site: Application, *scopes: Scope, agent_id: str | None = None, life_s: int | None = None) -> str:
    return site.keys.create(scopes, agent_id=agent_id, label=None, life_s=life_s).text


def _post(url: str, body: str = LIST, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}/mcp", content=body, headers=HEADERS | headers)


@asynccontextmanager
async def _session(url: str, key: str, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def _wrong_keys(site: Application) -> dict[str, str]:
    good = _key(site, *WORKER)
    other = _key(site, *WORKER)
    revoked = _key(site, *WORKER)
    site.keys.revoke(revoked.split("_")[1])
    key_id, secret = good.split("_", 2)[1:]
    return {
        "no bearer": good,
        "basic": f"Basic {good}",
        "empty": "Bearer",
        "not a key": "Bearer hello",
        "cut off": f"Bearer {good[:-1]}",
        "too long": f"Bearer {good}x",
        "another secret": f"Bearer dcf_{key_id}_{other.split('_', 2)[2]}",
        "unknown id": f"Bearer dcf_{secrets.token_hex(6)}_{secret}",
        "revoked": f"Bearer {revoked}",
        "a redis key": "Bearer dcf_*_" + "x" * 43,
        "large": "Bearer " + "x" * 20_000,
    }


def test_without_a_key_the_answer_is_401_and_says_where_to_read_on(url: str) -> None:
    response = _post(url)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    assert f'resource_metadata="{METADATA}"' in response.headers["www-authenticate"]
    assert response.json()["error"] == "invalid_token"


def test_every_wrong_key_gets_the_same_answer(site: Application, url: str) -> None:
    nothing = _post(url)
    for kind, header in _wrong_keys(site).items():
        response = _post(url, Authorization=header)
        assert (response.status_code, response.text) == (401, nothing.text), kind


def test_an_expired_key_opens_nothing(site: Application, url: str, raw_redis: Any) -> None:
    key = _key(site, *WORKER, life_s=3600)
    assert _post(url, Authorization=f"Bearer {key}").status_code == 200
    set_member(raw_redis.execute_command, f"cp:idx:keys:{key.split('_')[1]}", "expires_at", 1)
    assert _post(url, Authorization=f"Bearer {key}").status_code == 401


def test_a_revoked_key_is_refused_at_once(site: Application, url: str) -> None:
    key = _key(site, *WORKER)
    assert _post(url, Authorization=f"Bearer {key}").status_code == 200
    site.keys.revoke(key.split("_")[1])
    assert _post(url, Authorization=f"Bearer {key}").status_code == 401


def test_a_key_that_may_not_read_gets_403(site: Application, url: str) -> None:
    response = _post(url, Authorization=f"Bearer {_key(site, Scope.WORK)}")
    assert response.status_code == 403
    assert response.json() == {"error": "insufficient_scope", "error_description": "Required scope: read"}
    assert f'resource_metadata="{METADATA}"' in response.headers["www-authenticate"]


def test_a_good_key_does_not_open_the_door_to_strange_hosts_and_origins(site: Application, url: str) -> None:
    authorization = f"Bearer {_key(site, *WORKER)}"
    assert _post(url, Authorization=authorization, Host="evil.example").status_code == 421
    assert _post(url, Authorization=authorization, Origin="http://evil.example").status_code == 403


def test_the_metadata_says_what_is_protected_and_needs_no_key(url: str) -> None:
    response = httpx2.get(f"{url}/.well-known/oauth-protected-resource/mcp")
    assert response.status_code == 200
    document = response.json()
    assert (document["resource"], document["bearer_methods_supported"]) == (PUBLIC, ["header"])
    assert document["scopes_supported"] == ["read", "work", "plan", "answer", "attest", "override", "operate", "admin"]
    assert "authorization_servers" not in document, "there is none: keys are made by dcf keys add"


def test_health_needs_no_key(url: str) -> None:
    assert httpx2.get(f"{url}/healthz").status_code == 200
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_caller_is_who_its_key_says(site: Application, url: str, run_id: str, mode: str) -> None:
    async with _session(url, _key(site, *PLANNER, agent_id="planner-1"), mode) as client:
        planner = await Tools.of(client)
        await new_run(planner, run_id)
    async with _session(url, _key(site, *WORKER, agent_id="worker-1"), mode) as client:
        worker = await Tools.of(client)
        wish = {"workflow_id": run_id, "state": "A"}
        answer = await worker.refused("forbidden", "acquire_state_lease", **wish, owner_agent_id="worker-2")
        assert "bound to agent 'worker-1'" in answer.error
        holding = await worker.ok("acquire_state_lease", **wish, owner_agent_id="worker-1")
        await worker.ok("renew_state_lease", **wish, lease_token=holding["lease"]["token"])


@rows("mode", ["auto", "legacy"])
async def test_callers_do_not_mix_however_many_call_at_once(
    site: Application, url: str, run_id: str, mode: str
) -> None:

    refused: list[str] = []

    async def ask(agent_id: str) -> None:
        async with _session(url, _key(site, *WORKER, agent_id=agent_id), mode) as client:
            for _ in range(5):
                call_tool = await client.call_tool("get_my_assignment", {"agent_id": agent_id})
                if call_tool.is_error:
                    refused.append(agent_id)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(ask, f"{run_id}-{number}"[:60])
    assert refused == []


async def test_a_caller_sees_only_the_tools_it_may_call(site: Application, url: str) -> None:
    async with _session(url, _key(site, Scope.READ)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "read_workflow_control_plane" in names
        assert not {"acquire_state_lease", "finalize_workflow", "csv_to_manifests"} & names
        answer = await client.call_tool("finalize_workflow", {"workflow_id": "x"})
        assert answer.is_error
        assert (answer.structured_content or {})["code"] == "forbidden"
    async with _session(url, _key(site, *Scope)) as client:
        assert "csv_to_manifests" in {tool.name for tool in (await client.list_tools()).tools}


def test_our_own_client_brings_its_key_or_says_that_it_needs_one(site: Application, url: str, run_id: str) -> None:
    with connect(f"{url}/mcp", deadline_s=60, api_key=_key(site, *PLANNER)) as tools:
        assert tools.call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id)["code"] == "ok"
    with connect(f"{url}/mcp", deadline_s=60) as tools, pytest.raises(Unauthorized) as refused:
        tools.call("read_workflow_control_plane", workflow_id=run_id)
    assert "DCF_API_KEY" in refused.value.hint
    with connect(f"{url}/mcp", deadline_s=60, api_key=_key(site, Scope.WORK)) as tools, pytest.raises(Forbidden):
        tools.call("read_workflow_control_plane", workflow_id=run_id)


def test_a_redis_that_is_away_while_a_key_is_looked_up_is_503(tmp_path: Any) -> None:
    with embedded.start(tmp_path / "data") as server:
        key = AccessKeys(Connections(open_pool(server.url))).create(WORKER, agent_id=None, label=None, life_s=None)
        manager = open_application(Settings(redis_url=SecretStr(server.url)))
        application = manager.__enter__()
    try:
        with serving(build_http_app(application)) as url:
            response = _post(url, Authorization=f"Bearer {key.text}")
    finally:
        manager.__exit__(None, None, None)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["error_description"] == "Keys cannot be looked up now."


async def test_the_key_is_nowhere_but_in_the_request(
    site: Application, url: str, run_id: str, own_redis: RestrictedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = _key(site, *PLANNER, agent_id="planner-1")
    words: list[str] = []
    async with _session(url, key) as client:
        for name, arguments in (
            ("create_workflow_control_plane", {"workflow_json": ONE_TASK, "workflow_id": run_id}),
            ("read_workflow_control_plane", {"workflow_id": run_id}),
            ("acquire_state_lease", {"workflow_id": "none", "state": "A", "owner_agent_id": "planner-2"}),
            ("finalize_workflow", {"workflow_id": run_id}),
        ):
            words.append(str(await client.call_tool(name, arguments)))
    words.append(_post(url, "{", Authorization=f"Bearer {key}").text)
    secret = key.split("_", 2)[2]
    own = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    details = [*words, *(record.getMessage() for record in own), json.dumps([repr(site.settings)])]
    assert not [text for text in details if secret in text]
    assert secret not in everything_in(Connections(open_pool(own_redis.admin_url)))
