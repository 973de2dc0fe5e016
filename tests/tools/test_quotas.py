"""Quotas of API keys: counted once however many servers there are, for every request, whatever becomes of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from dcf.application import Application
from dcf.core.access import Scope
from dcf.core.quotas import Amount
from dcf.tools.server import build_http_app
from tests.tools.access import WORKER
from tests.tools.calls import serving

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
    found: dict[str, Any] = answer["structuredContent"]
    return found


def _is_limited(answer: dict[str, Any]) -> bool:
    found = answer.get("error", {}).get("data")
    return isinstance(found, dict) and found.get("code") == "rate_limited"


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


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_request_counts_as_a_call(sites: list[Application], urls: list[str], kind: str) -> None:
    """Refused ones too: who asks for what it may not do pays for it."""
    method, params = REQUESTS[kind]
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=2)
    _post(urls[0], key, method, **params)
    assert not _is_limited(_post(urls[1], key, method, **params))
    assert _is_limited(_post(urls[2], key, "tools/list"))


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_request_beyond_the_rate_is_refused(sites: list[Application], urls: list[str], kind: str) -> None:
    method, params = REQUESTS[kind]
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1)
    _post(urls[0], key, "tools/list")
    answer = _post(urls[0], key, method, **params)
    is_call_of_a_tool = method == "tools/call" and kind != "no tool"
    found = answer["result"]["structuredContent"] if is_call_of_a_tool else answer["error"]["data"]
    assert (found["code"], found["hint"]) == ("rate_limited", "Wait retry_after_s seconds, then repeat the same call.")
    assert 900 < found["retry_after_s"] <= 1000


def test_a_call_that_is_refused_for_its_rate_makes_nobody_wait_longer(
    sites: list[Application], urls: list[str]
) -> None:
    key = _key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1)
    _post(urls[0], key, "tools/list")
    waits = [_post(urls[0], key, "ping")["error"]["data"]["retry_after_s"] for _ in range(5)]
    assert waits == sorted(waits, reverse=True)


def test_one_key_does_not_pay_for_another(sites: list[Application], urls: list[str]) -> None:
    one, other = (_key(sites, calls_per_s=NEVER_AGAIN, calls_burst=1) for _ in range(2))
    _post(urls[0], one, "ping")
    wrong = f"dcf_{other.split('_')[1]}_{one.split('_', 2)[2]}"
    refused = httpx2.post(f"{urls[0]}/mcp", content="{}", headers=HEADERS | {"Authorization": f"Bearer {wrong}"})
    assert refused.status_code == 401, "who knows the id of a key and not its secret takes nothing from it"
    assert not _is_limited(_post(urls[0], other, "tools/list"))
