"""A server on standard input and output, started by its client."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.paths import ROOT
from tests.system.processes.site import LONG, ORDER, STATES, WORKFLOW, Site, redis_servers_in

pytestmark = pytest.mark.processes

COMMAND = ["-m", "dcf", "serve", "--transport", "stdio"]


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    content: dict[str, Any] = answer.structured_content or {}
    assert content["code"] == "ok", content
    return content


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_acquires_and_completes_a_state(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", LONG)  # it kills who is not gone by then
    server = StdioServerParameters(command=sys.executable, args=COMMAND, env=site.environment(), cwd=ROOT)
    async with Client(server) as client:
        await call(
            client,
            "create_workflow_control_plane",
            workflow_json=json.loads(WORKFLOW.read_text()),
            workflow_id="by-stdio",
            input_json=json.loads(ORDER.read_text()),
            agents_map_json=dict.fromkeys(STATES, "me"),
        )
        mine = {"workflow_id": "by-stdio", "state": "ValidateOrder", "owner_agent_id": "me"}
        holding = await call(client, "acquire_state_lease", **mine)
        assert holding["work"]["input"]["order_number"] == "ORD-2025-0042"
        written = await call(
            client,
            "update_workflow_control_plane",
            **mine,
            lease_token=holding["lease"]["token"],
            new_status="succeeded",
            output_json={"customer": "Hill Country Supply", "discount_code": None},
        )
        assert written["next_states"] == ["CalculatePricing"]
    assert redis_servers_in(site.folder) == []


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_is_told_why_the_server_did_not_start(site: Site, mode: Any) -> None:
    unreachable = site.environment() | {"REDIS_URL": "redis://127.0.0.1:9/0"}
    server = StdioServerParameters(command=sys.executable, args=COMMAND, env=unreachable, cwd=ROOT)
    with pytest.raises(BaseException) as failed:  # noqa: PT011 - the client raises a group of errors
        async with Client(server, mode=mode):
            pass
    assert "Redis cannot be reached" in _all_texts(failed.value)


def _all_texts(error: BaseException) -> str:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join([str(error), *map(_all_texts, inner)])


def test_nothing_but_the_protocol_is_on_standard_output(site: Site) -> None:
    """Every line is a JSON-RPC message, also for a message that is none; it ends when its input does."""
    request = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
    ]
    sent = "".join(json.dumps(message) + "\n" for message in request) + "this is no JSON\n"
    finished = subprocess.run(
        [sys.executable, *COMMAND],
        input=sent,
        env=site.environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    messages = [json.loads(line) for line in finished.stdout.splitlines()]
    assert {message["jsonrpc"] for message in messages} == {"2.0"}
    assert 2 in [message.get("id") for message in messages]
    assert finished.returncode == 0, finished.stderr
    assert redis_servers_in(site.folder) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_its_input_is_open(site: Site, number: signal.Signals) -> None:
    """And it leaves no Redis behind."""
    with subprocess.Popen(
        [sys.executable, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=site.environment(), cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(LONG) == 128 + number
    assert redis_servers_in(site.folder) == []
