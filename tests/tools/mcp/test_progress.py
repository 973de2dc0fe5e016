"""Long waits: a client that asks hears how long it has waited, over HTTP too; every other answer is one document."""

import json
from collections.abc import Callable, Iterator

import httpx2
import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_http_app, build_server
from tests.support.tables import rows
from tests.tools.calls import Tools, new_run, serving

pytestmark = pytest.mark.anyio

WAIT = {"agent_id": "nobody-told-me", "timeout_s": 0.5}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.verbs.progress.EVERY_S", 0.05)


@pytest.fixture(scope="module")
def url(replica: Callable[..., Application]) -> Iterator[str]:
    with serving(build_http_app(replica())) as server_url:
        yield f"{server_url}/mcp"


class Heard:
    """The notifications that a client got while it waited."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, total, message))


async def test_who_asks_hears_how_long_it_has_waited(application: Application) -> None:
    heard = Heard()
    async with Client(build_server(application), mode="legacy") as client:
        answer = await client.call_tool("await_workflow_event", WAIT, progress_callback=heard)
    assert answer.structured_content is not None
    assert answer.structured_content["status"] == "timeout"
    assert heard.told[0] == (0.05, 0.5, "Nothing yet: waited 0.05 of 0.5 seconds.")
    waited = [progress for progress, _, _ in heard.told]
    assert waited == sorted(set(waited))


@rows("mode", ["auto", "legacy"])
async def test_it_is_told_over_http_as_well(url: str, mode: str) -> None:
    heard = Heard()
    async with Client(url, mode=mode) as client:
        answer = await client.call_tool("await_workflow_event", WAIT, progress_callback=heard)
    assert answer.structured_content is not None
    assert answer.structured_content["status"] == "timeout"
    assert heard.told


@rows("mode", ["auto", "legacy"])
async def test_a_call_that_does_not_wait_reports_nothing(url: str, mode: str, tools: Tools, run_id: str) -> None:
    heard = Heard()
    await new_run(tools, run_id)
    async with Client(url, mode=mode) as client:
        await client.call_tool("explain_run", {"workflow_id": run_id}, progress_callback=heard)
    assert heard.told == []


async def _sent(url: str, tool: str, arguments: dict[str, object], **meta: object) -> httpx2.Response:
    stamps = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": stamps | meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx2.AsyncClient() as client:
        return await client.post(url, json=body, headers=HEADERS | {"Mcp-Name": tool})


async def test_only_who_asks_for_it_is_answered_with_a_stream(url: str) -> None:
    plain = await _sent(url, "await_workflow_event", WAIT)
    sent = await _sent(url, "await_workflow_event", WAIT, progressToken=7)
    other = await _sent(url, "list_runs", {}, progressToken=7)
    kinds = [item.headers["content-type"].partition(";")[0] for item in (plain, sent, other)]
    assert kinds == ["application/json", "text/event-stream", "application/json"]
    documents = [
        json.loads(line.removeprefix("data: ")) for line in sent.text.split("\r\n") if line.startswith("data: ")
    ]
    assert {document["params"]["progressToken"] for document in documents[:-1]} == {7}
    assert documents[-1]["result"]["structuredContent"]["status"] == "timeout"
