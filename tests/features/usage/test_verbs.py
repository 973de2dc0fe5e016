"""Usage of completions, as an MCP client reports it."""

import uuid
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.definitions.model import read_definition
from dcf.core.documents.parents import Parent
from dcf.core.lifecycle.creation import Create
from dcf.features.usage.operations import MOST_CHILDREN
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


async def test_child_runs_are_paged_and_a_cursor_is_of_its_own_list(application: Application) -> None:
    world_run, tag = f"r-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex[:6]
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.call("start_run", workflow_json=chain("A"), workflow_id=world_run, agents_map_json={"*": "w"})
        for number in range(MOST_CHILDREN + 1):
            wish = Create(
                workflow_id=f"c-{tag}-{number}",
                definition=read_definition(chain("A")),
                run_input={},
                agents={},
                planner_agent_id=None,
                retention_s=None,
                max_attempts=1,
                parent=Parent(run=world_run, state="A", epoch=1, how="", depth=1),
            )
            application.control_plane.create(wish)
        first = (await tools.call("read_usage", workflow_id=world_run, tree=True)).payload
        rest = (await tools.call("read_usage", workflow_id=world_run, tree=True, cursor=first["next_cursor"])).payload
        assert len(set(first["children"]) | set(rest["children"])) == MOST_CHILDREN + 1
        assert "next_cursor" not in rest
        wrong = await tools.call("read_usage", workflow_id=world_run, cursor=first["next_cursor"])
        assert wrong.code == "invalid_argument"
        of_agent = await tools.call("read_usage", agent_id="w", tree=True)
        assert of_agent.code == "invalid_argument"
