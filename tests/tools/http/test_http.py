"""The HTTP transport: health, who may call, what is too large, replicas, the old wire, bytes no client would send."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from pydantic import SecretStr

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.store.embedded import server as embedded
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.calls import Tools, lease_on, new_run, serving

Replica = Callable[..., Application]

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def url(replica: Replica) -> Iterator[str]:
    with serving(build_http_app(replica())) as server_url:
        yield server_url


def _post(url: str, body: str | bytes, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}/mcp", content=body, headers=HEADERS | headers)


def _request(tool: str, arguments: str) -> str:
    """A call on the old wire, with the unchanged JSON of its arguments."""
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}'


def _answered(response: httpx2.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    return body


def test_the_process_says_that_it_lives(url: str) -> None:
    response = httpx2.get(f"{url}/healthz")
    assert (response.status_code, response.json()["ok"]) == (200, True)
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)  # at once, unless the machine is very slow
    assert httpx2.get(f"{url}/readyz").json()["ok"]


def test_a_server_without_its_redis_lives_and_is_not_ready(tmp_path: Path) -> None:
    with embedded.start(tmp_path / "data") as redis_server:
        manager = open_application(Settings(redis_url=SecretStr(redis_server.url), auth="off"))
        application = manager.__enter__()
    try:
        with serving(build_http_app(application)) as url:
            assert httpx2.get(f"{url}/healthz").status_code == 200
            response = httpx2.get(f"{url}/readyz")
            assert response.status_code == 503
            assert response.json() == {
                "ok": False,
                "level": "failing",
                "failing": 1,
                "warnings": 0,
                "checks": {"redis": "failing"},
            }
            answered = _answered(_post(url, _request("read_workflow_control_plane", '{"workflow_id":"r"}')))
            assert answered["result"]["isError"] is True
            assert answered["result"]["structuredContent"]["code"] == "store_unavailable"
            assert str(tmp_path) not in str(answered)
    finally:
        manager.__exit__(None, None, None)


def test_whether_it_lives_is_told_without_looking_a_key_up(tmp_path: Path) -> None:
    with embedded.start(tmp_path / "data") as redis_server:
        manager = open_application(Settings(redis_url=SecretStr(redis_server.url)))
        application = manager.__enter__()
    key = {"Authorization": f"Bearer dcf_0123456789ab_{'x' * 43}"}
    try:
        with serving(build_http_app(application)) as url:
            assert httpx2.get(f"{url}/healthz", headers=key).status_code == 200
            response = _post(url, CALL, **key)
            assert response.status_code == 503
            assert str(tmp_path) not in response.text
    finally:
        manager.__exit__(None, None, None)


CALL = _request("read_workflow_control_plane", '{"workflow_id":"nobody"}')


def test_a_strange_host_is_refused(url: str) -> None:
    response = _post(url, CALL, Host="evil.example")
    assert (response.status_code, response.text) == (421, "Invalid Host header")


def test_a_strange_origin_is_refused(url: str) -> None:
    response = _post(url, CALL, Origin="http://evil.example")
    assert (response.status_code, response.text) == (403, "Invalid Origin header")


@rows("origin", [{}, {"Origin": "http://localhost:3000"}])
def test_no_origin_and_a_local_origin_pass(url: str, origin: dict[str, str]) -> None:
    assert _post(url, CALL, **origin).status_code == 200


def test_hosts_and_origins_are_settings(replica: Replica) -> None:
    settings = {"mcp_allowed_hosts": "dcf.example, *.x", "mcp_allowed_origins": "https://app.example"}
    with serving(build_http_app(replica(**settings))) as url:
        assert _post(url, CALL).status_code == 421
        assert _post(url, CALL, Host="dcf.example", Origin="https://app.example").status_code == 200
        assert _post(url, CALL, Host="dcf.example", Origin="http://localhost:1").status_code == 403


def test_the_check_of_hosts_can_be_switched_off(replica: Replica) -> None:
    with serving(build_http_app(replica(mcp_enable_dns_rebinding_protection=False))) as url:
        assert _post(url, CALL, Host="evil.example", Origin="http://evil.example").status_code == 200


def test_a_body_beyond_four_mebibytes_is_refused(url: str) -> None:
    arguments = json.dumps({"workflow_id": "x" * (4 * 1024 * 1024)})
    assert _post(url, _request("read_workflow_control_plane", arguments)).status_code == 413


@rows("method", ["GET", "DELETE"])
def test_there_are_no_sessions_to_listen_to_or_to_end(url: str, method: str) -> None:
    response = httpx2.request(method, f"{url}/mcp", headers={"Accept": "text/event-stream"})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_the_old_wire_needs_no_session(url: str) -> None:
    response = _post(url, _request("read_workflow_control_plane", '{"workflow_id":"nobody"}'))
    assert "mcp-session-id" not in response.headers
    result = _answered(response)["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "unknown_run"


@rows(
    "arguments",
    [
        '{"workflow_id":"\\ud800"}',
        '{"workflow_id":NaN}',
        '{"workflow_id":"a","workflow_id":7}',
        '{"workflow_id":"r","state":"A","owner_agent_id":"a","lease_ttl_s":1e400}',
        '{"workflow_id":"r","states_json":' + "[" * 100 + "]" * 100 + "}",
        '{"workflow_id":"r","states_json":' + "[" * 5000 + "]" * 5000 + "}",
        '{"workflow_id":',
        "[]",
        "7",
    ],
)
def test_strange_bytes_are_refused_without_showing_insides(url: str, arguments: str) -> None:
    response = _post(url, _request("read_workflow_control_plane", arguments))
    assert response.status_code in {200, 400}
    assert not any(word in response.text for word in ("Traceback", "errors.pydantic.dev", "site-packages"))
    if response.status_code == 200:
        answered = _answered(response)
        assert "error" in answered or answered["result"]["isError"] is True


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_replicas_share_a_run(url: str, replica: Replica, run_id: str, mode: str) -> None:
    with serving(build_http_app(replica())) as other:
        async with Client(f"{url}/mcp", mode=mode) as first, Client(f"{other}/mcp", mode=mode) as second:
            here, there = await Tools.of(first), await Tools.of(second)
            await new_run(here, run_id)
            holder = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(there, run_id)}
            await here.ok("renew_state_lease", **holder)
            await there.ok("update_workflow_control_plane", **holder, new_status="succeeded", output_json={"n": 1})
            read = await here.ok("read_workflow_control_plane", workflow_id=run_id)
            assert read["meta"]["status"] == "succeeded"
