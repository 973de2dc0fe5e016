"""Runs that grow, through an MCP client: open, add, take, complete, close."""

import uuid
from typing import Any

import pytest

from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio


def new_run() -> str:
    return f"grown-{uuid.uuid4().hex[:12]}"


async def opened(tools: Tools, *units: dict[str, Any], **arguments: Any) -> str:
    run = new_run()
    answer = await tools.ok("open_run", name="release", workflow_id=run, **arguments)
    assert answer["run_status"] == "running"
    if units:
        await tools.ok("add_units", workflow_id=run, units=list(units))
    return run


async def take(tools: Tools, run: str, agent: str = "ann") -> dict[str, Any]:
    answer = await tools.ok("claim_ready_state", workflow_id=run, owner_agent_id=agent)
    work: dict[str, Any] = answer["work"]
    return work


async def done(tools: Tools, work: dict[str, Any], output: Any = None, **more: Any) -> dict[str, Any]:
    answer = await tools.ok(
        "update_workflow_control_plane",
        workflow_id=work["workflow_id"],
        state=work["state"],
        lease_token=work["lease_token"],
        new_status="succeeded",
        output_json={} if output is None else output,
        **more,
    )
    return answer.payload


async def test_units_are_taken_in_the_order_of_their_dependencies(tools: Tools) -> None:
    run = await opened(
        tools,
        {"name": "Build", "instructions": "Build it.", "input": {"of": 1}},
        {"name": "Test", "depends_on": ["Build"]},
    )
    work = await take(tools, run)
    assert (work["state"], work["instructions"], work["input"]) == ("Build", "Build it.", {"of": 1})
    await tools.refused("nothing_ready", "claim_ready_state", workflow_id=run, owner_agent_id="bob")
    answer = await done(tools, work)
    assert answer["next_states"] == ["Test"]
    assert (await take(tools, run, "bob"))["state"] == "Test"
    shown = await tools.ok("read_workflow_control_plane", workflow_id=run, compute_readiness=True)
    assert {name: state["status"] for name, state in shown["states"].items()} == {
        "Build": "succeeded",
        "Test": "running",
    }
