"""The whole order pipeline in process and over HTTP; `tests/system/stories/test_order_run_over_stdio.py` has stdio."""

from collections.abc import Callable

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_http_app, build_server
from tests.tools.calls import STEPS, Tools, new_run, run_orders, serving

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


async def json_arguments_arrive(tools: Tools, run_id: str) -> None:
    """D-01: text that looks like JSON reaches the tool as text, and native JSON as JSON."""
    await new_run(tools, run_id, agents_map_json='{"A": "worker-1"}', input_json='{"n": 1}')
    answer = await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-1")
    assert answer["work"]["input"] == {"n": 1}
    holder = {"workflow_id": run_id, "state": "A", "lease_token": answer["lease"]["token"]}
    for sent in ('{"ok":true}', {"ok": True}):
        await tools.ok("update_workflow_control_plane", **holder, output_json=sent)
        read = await tools.ok("read_workflow_control_plane", workflow_id=run_id, states_json='["A"]')
        assert read["outputs"] == {"A": {"ok": True}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_in_process(application: Application, run_id: str, mode: str) -> None:
    async with Client(build_server(application), mode=mode) as client:
        tools = await Tools.of(client)
        assert await run_orders(tools, run_id) == STEPS["GenerateInvoice"]
        await json_arguments_arrive(tools, f"{run_id}-json")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http(replica: Replica, run_id: str, mode: str) -> None:
    with serving(build_http_app(replica())) as url:
        async with Client(f"{url}/mcp", mode=mode) as client:
            assert (client.protocol_version >= "2026-07-28") == (mode == "auto")
            tools = await Tools.of(client)
            assert await run_orders(tools, run_id) == STEPS["GenerateInvoice"]
            await json_arguments_arrive(tools, f"{run_id}-json")
