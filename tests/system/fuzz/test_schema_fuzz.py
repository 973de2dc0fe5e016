"""The long form of `tests/tools/mcp/test_schema_fuzz.py`: more calls of every tool, and some of them over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.tools.mcp.server import build_http_app
from dcf.verbs.registry import TOOLS
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.calls import serving
from tests.tools.mcp.test_schema_fuzz import check_answers, drawn, fuzzed, fuzzed_redis, seed, strange_keys

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(3600)]  # the limit is for a hang only

__all__ = ["fuzzed", "fuzzed_redis"]


@pytest.fixture(scope="module")
def door(fuzzed: Application) -> Iterator[httpx2.Client]:
    """HTTP to a server of this Redis, with a key that may do everything."""
    key = fuzzed.keys.create(tuple(Scope), agent_id=None, label=None, life_s=None).text
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    chosen = fuzzed.settings.model_copy(update={"redis_url": SecretStr(fuzzed.redis_url)})
    with (
        open_application(chosen) as behind,
        serving(build_http_app(behind)) as url,
        httpx2.Client(base_url=url, headers=headers, timeout=None) as client,
    ):
        yield client


def _is_json(call: dict[str, Any]) -> bool:
    """Whether a client can send this: infinity cannot be said."""
    try:
        json.dumps(call, allow_nan=False)
    except ValueError:
        return False
    return True


async def test_every_tool_answers_many_calls_that_its_schema_admits(
    fuzzed: Application, fuzzed_redis: RestrictedRedis
) -> None:
    await seed(fuzzed)
    for name in sorted(TOOLS):
        await check_answers(fuzzed, name, count=8)
    await fuzzed.reader.close()
    assert strange_keys(fuzzed_redis) == []


def test_over_http_every_tool_answers_and_never_with_500(fuzzed_redis: RestrictedRedis, door: httpx2.Client) -> None:
    for name in sorted(TOOLS):
        for call in filter(_is_json, drawn(name, 1)):
            params = {"name": name, "arguments": call}
            response = door.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            assert response.status_code == 200, (name, call, response.text)
            answer = response.json()["result"]["structuredContent"]
            assert answer["code"] not in {"internal_error", "store_unsuitable", "rate_limited"}, (name, call, answer)
            assert "Traceback" not in response.text
    assert strange_keys(fuzzed_redis) == []
