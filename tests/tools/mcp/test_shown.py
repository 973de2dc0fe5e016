"""A server names to a model the tools of this request's list alone: in next calls, and for a mistyped tool."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio

QUESTION = {"workflow_id": "no-such-run", "state": "A", "lease_token": "token-0123456789", "question": "Which?"}
Replica = Callable[..., Application]


@pytest.fixture(scope="module")
def site(replica: Replica) -> Application:
    return replica(auth="keys")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture(scope="module")
def url_of_all(replica: Replica) -> Iterator[str]:
    """A server that shows every tool to everybody."""
    with serving(build_http_app(replica(auth="keys", profile="all"))) as server_url:
        yield server_url


@asynccontextmanager
async def worker(site: Application, url: str, profile: str | None = None) -> AsyncIterator[Client]:
    """A model with the key of a worker, which asks for a profile by the header."""
    made = site.keys.create((Scope.READ, Scope.WORK), agent_id=None, label=None, life_s=600)
    headers = {"Authorization": f"Bearer {made.text}"} | ({} if profile is None else {"x-dcf-profile": profile})
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    content = (await client.call_tool(tool, arguments)).structured_content
    assert isinstance(content, dict)
    return content


@rows(("profile", "following"), [(None, []), ("all", ["list_runs"])])
async def test_next_calls_are_of_the_list_that_the_header_asks_for(
    site: Application, url: str, profile: str | None, following: list[str]
) -> None:
    async with worker(site, url, profile) as client:
        shown = {tool.name for tool in (await client.list_tools()).tools}
        refused = await answer(client, "ask_question", **QUESTION)
    assert refused["code"] == "unknown_run"
    assert [step["tool"] for step in refused.get("next") or ()] == following
    assert ("list_runs" in shown) == bool(following)


async def test_next_calls_are_of_the_list_that_the_server_shows(site: Application, url_of_all: str) -> None:
    """DCF_PROFILE counts, not what the scopes of the key suggest."""
    async with worker(site, url_of_all) as client:
        assert "list_runs" in {tool.name for tool in (await client.list_tools()).tools}
        refused = await answer(client, "ask_question", **QUESTION)
    assert [step["tool"] for step in refused["next"]] == ["list_runs"]


@rows(("profile", "is_meant"), [(None, False), ("all", True), ("operator", True)])
async def test_the_tool_that_was_meant_is_of_the_list_that_the_header_asks_for(
    site: Application, url: str, profile: str | None, is_meant: bool
) -> None:
    async with worker(site, url, profile) as client:
        details = await answer(client, "list_run")
    assert details["code"] == "unknown_tool"
    assert ("Did you mean list_runs?" in details["hint"]) == is_meant
