"""The order pipeline driven through tools, as a planner does it."""

import json
import secrets
from typing import Any

from dcf.tools.calling.client import ToolClient
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, ORDER, STATES, WORKFLOW

TOTAL = "242.77"


def begin(tools: ToolClient, agents: dict[str, Any], run_id: str | None = None) -> str:
    """Create and start a run of the first order."""
    run_id = run_id or f"run-{secrets.token_hex(4)}"
    created = tools.call(
        "create_workflow_control_plane",
        workflow_json=json.loads(WORKFLOW.read_text()),
        workflow_id=run_id,
        input_json=json.loads(ORDER.read_text()),
        agents_map_json=agents,
    )
    assert created["code"] == "ok", created
    assert tools.call("notify_next_worker_agent", workflow_id=run_id)["code"] == "ok"
    return run_id


def read(tools: ToolClient, run_id: str) -> dict[str, Any]:
    return tools.call("read_workflow_control_plane", workflow_id=run_id)


def state_of(tools: ToolClient, run_id: str, state: str) -> dict[str, Any]:
    result: dict[str, Any] = read(tools, run_id)["states"][state]
    return result


def wait_succeeded(tools: ToolClient, run_id: str) -> dict[str, Any]:
    """Wait until the run has ended; it must have succeeded without help."""
    wait_until(lambda: read(tools, run_id)["meta"]["status"] != "running", LONG)
    record = read(tools, run_id)
    assert record["meta"]["status"] == "succeeded", record["meta"]
    assert record["meta"]["output"]["total"] == TOTAL
    assert [record["states"][state]["status"] for state in STATES] == ["succeeded"] * 3
    return record


def one_agent_each(prefix: str) -> dict[str, str]:
    return {state: f"{prefix}-{number}" for number, state in enumerate(STATES)}
