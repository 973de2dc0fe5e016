"""Usage of completions, as an MCP client reports it."""

import uuid
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio


@rows("usage", [{}, {"tokens_in": -1}, {"cost": 1, "currency": "EUR"}, {"secs": 1}, [], "x"])
async def test_usage_that_is_none_changes_nothing(application: Application, usage: Any) -> None:
    run = f"r-{uuid.uuid4().hex[:8]}"
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.call("start_run", workflow_json=chain("A", "B"), workflow_id=run, agents_map_json={"*": "w"})
        taken = await tools.call("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="w")
        token = taken.payload["work"]["lease_token"]
        answer = await tools.call(
            "update_workflow_control_plane",
            workflow_id=run,
            state="A",
            lease_token=token,
            new_status="succeeded",
            output_json={},
            usage_json=usage,
        )
        assert answer.code == "invalid_argument"
        assert (await tools.call("find_work", workflow_id=run)).payload["items"][0]["status"] == "running"
