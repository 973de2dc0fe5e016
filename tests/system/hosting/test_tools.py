"""The tools of an agent: those it is allowed, called by the host, and there before its first turn."""

import json
import subprocess
import sys
from collections.abc import Iterator

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from dcf.errors import RunFailed
from dcf.hosting.protocol import AgentTool, ToolResult
from dcf.hosting.tool_endpoint import served
from tests.support.paths import ROOT
from tests.system.hosting.conftest import Hosting
from tests.system.letta.mcp_servers import McpService, mcp_service
from tests.system.processes.site import LONG

PLACES = pytest.mark.parametrize("process", ["false", "true"], ids=["in the host", "in a child"])

HANDLERS = """
async def listed(work, tools):
    return [[one.name, one.parameters["required"]] for one in tools.list()]

async def called(work, tools):
    results = [await tools.call(name, arguments) for name, arguments in work.input]
    return [[result.text, result.is_error] for result in results]
"""


@pytest.fixture(scope="module")
def words() -> Iterator[McpService]:
    with mcp_service("words", "hear", "whisper") as result:
        yield result


def agents(handler: str, process: str, *servers: str) -> str:
    return f'[agents.me]\nhandler = "handlers.py:{handler}"\nprocess = {process}\ntries = 2\n' + "\n".join(servers)


def server(service: McpService, *tools: str, name: str = "words") -> str:
    return f'[agents.me.servers.{name}]\nurl = "{service.url}"\ntools = {json.dumps(tools)}'


@PLACES
def test_an_agent_is_offered_the_tools_that_it_is_allowed(hosting: Hosting, words: McpService, process: str) -> None:
    with hosting(agents("listed", process, server(words, "hear")), HANDLERS) as hosted:
        assert hosted.result() == [["hear", ["word"]]]


@PLACES
def test_the_host_calls_a_tool_for_the_agent(hosting: Hosting, words: McpService, process: str) -> None:
    with hosting(agents("called", process, server(words, "hear")), HANDLERS) as hosted:
        assert hosted.result(given=[["hear", {"word": "so"}]]) == [["hear heard so", False]]


@PLACES
def test_a_tool_that_is_not_allowed_is_not_called(hosting: Hosting, words: McpService, process: str) -> None:
    before = words.calls["whisper"]
    with hosting(agents("called", process, server(words, "hear")), HANDLERS) as hosted:
        ((text, is_error),) = hosted.result(given=[["whisper", {"word": "so"}]])
    assert is_error
    assert "There is no tool 'whisper'" in text
    assert words.calls["whisper"] == before


def test_what_a_tool_refuses_is_a_result_that_the_agent_reads(hosting: Hosting, words: McpService) -> None:
    with hosting(agents("called", "false", server(words)), HANDLERS) as hosted:
        ((text, is_error),) = hosted.result(given=[["hear", {}]])
    assert is_error
    assert "word" in text


def test_tools_of_one_name_at_two_servers_are_told_apart(hosting: Hosting, words: McpService) -> None:
    both = (server(words, "hear"), server(words, "hear", name="more"))
    with hosting(agents("listed", "false", *both), HANDLERS) as hosted:
        assert [name for name, _ in hosted.result()] == ["hear", "more__hear"]


@pytest.mark.parametrize(
    ("url", "said"),
    [(None, "has no tool shout"), ("http://127.0.0.1:1/mcp", "cannot be used")],
)
def test_an_agent_whose_tools_are_missing_gets_no_turn(
    hosting: Hosting, words: McpService, url: str | None, said: str
) -> None:
    there = f'[agents.me.servers.words]\nurl = "{url or words.url}"\ntools = ["shout"]'
    handlers = "from pathlib import Path\nasync def note(work, tools): Path('turn').touch()"
    with hosting(agents("note", "false", there), handlers) as hosted:
        with pytest.raises(RunFailed) as failed:
            hosted.result()
        assert not (hosted.folder / "turn").exists()
    assert failed.value.error == "ToolsMissing"
    assert said in (failed.value.cause or "")


class Adder:
    """Tools in this process."""

    def list(self) -> list[AgentTool]:
        return [AgentTool(name="add", description="Add.", parameters={"type": "object"})]

    async def call(self, name: str, arguments: object) -> ToolResult:
        return ToolResult(f"{name} {json.dumps(arguments)}", name != "add")

    def report_usage(self, **used: object) -> None:
        raise AssertionError(used)


def test_tools_are_served_over_mcp_to_agents_that_only_take_an_address() -> None:
    async def use() -> None:
        with served(Adder()) as address:
            http = create_mcp_http_client(headers=dict(address.headers))
            async with http, Client(streamable_http_client(address.url, http_client=http), mode="legacy") as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
                good, bad = [await client.call_tool(name, {"a": 1}) for name in ("add", "sub")]
                assert (good.content[0].text, good.is_error) == ('add {"a": 1}', False)  # type: ignore[union-attr]
                assert bad.is_error

    anyio.run(use)


def test_tools_are_not_served_to_others_on_this_machine() -> None:
    async def use() -> None:
        with served(Adder()) as address:
            async with httpx2.AsyncClient() as http:
                for headers in ({}, {"Authorization": "Bearer guess"}):
                    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                    answer = await http.post(address.url, json=body, headers=headers)
                    assert answer.status_code == 401

    anyio.run(use)


@pytest.mark.parametrize("length", ["-1", "999999999999", "9999999999999", "many"])
def test_who_has_no_token_cannot_make_the_host_read_for_ever(length: str) -> None:
    async def use() -> None:
        with served(Adder()) as address:
            place = httpx2.URL(address.url)
            request = (
                f"POST {place.path} HTTP/1.1",
                "Authorization: Bearer \u00e9",
                f"Content-Length: {length}",
                "",
                "",
            )
            async with await anyio.connect_tcp(place.host, place.port or 0) as stream:
                await stream.send("\r\n".join(request).encode())
                with anyio.fail_after(LONG):
                    assert b" 401 " in await stream.receive()

    anyio.run(use)


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"id": 1}', b'{"id": 1, "method": 2}'])
def test_what_is_no_request_is_told_so(body: bytes) -> None:
    async def use() -> None:
        with served(Adder()) as address:
            async with httpx2.AsyncClient() as http:
                answer = await http.post(address.url, content=body, headers=dict(address.headers))
                assert answer.status_code == 400

    anyio.run(use)


def test_a_recipe_imports_its_sdk_and_nothing_of_dcf_that_its_environment_may_lack() -> None:
    """Of dcf only what imports the standard library: the environment of an SDK has nothing else."""
    alone = """
import sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in sys.stdlib_module_names and name.split(".")[0] != "dcf":
            raise ImportError(name)
sys.meta_path.insert(0, Refusing())
import dcf.hosting.child, dcf.hosting.tool_endpoint, dcf.hosting.prompts, dcf.hosting.recipes.claude_code
"""
    root = ROOT
    done = subprocess.run([sys.executable, "-c", alone], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
