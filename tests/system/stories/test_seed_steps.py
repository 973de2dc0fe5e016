"""The nine steps of the planner and the nine of the worker in the seed's document, for the local user, word by word.

The document does not say how a worker receives its event, as Letta brings it. Here it is awaited without its lease.
"""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.seeds.test_conformance import DOCUMENTS
from tests.support.paths import ROOT
from tests.system.processes.conftest import site
from tests.system.processes.site import Site
from tests.tools.calls import Tools

__all__ = ["site"]

pytestmark = pytest.mark.anyio

RUN = "orders-1"
SKILL = "skill://calculate.pricing@0.1.0"
MANIFEST = "skill.calculate.pricing@0.1.0"
LISTS = {"DCF_PROFILE": "all"}
"""The document knows no shorter lists of tools."""

OUTPUTS = {"Price": {"total": "242.77"}, "Invoice": {"number": "INV-1"}}
WORKFLOW = json.dumps(
    {
        "workflow_id": RUN,
        "workflow_name": "Orders",
        "version": "1.0.0",
        "skill_imports": [{"uri": "skill.calculate.pricing-0.1.0.json"}],
        "af_v2_entities": {"agents": [{"name": "pricer", "system": "You price."}], "blocks": [], "tools": []},
        "asl": {
            "StartAt": "Price",
            "States": {
                "Price": {
                    "Type": "Task",
                    "AgentBinding": {"agent_template_ref": {"name": "pricer"}, "skills": [SKILL]},
                    "Next": "Invoice",
                },
                "Invoice": {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}}, "End": True},
            },
        },
    }
)
"""One agent is embedded in the document, the other a template on disk."""


@asynccontextmanager
async def over_stdio(site: Site) -> AsyncIterator[Tools]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "dcf", "serve"], env=site.environment() | LISTS, cwd=ROOT
    )
    async with Client(server) as client:
        yield await Tools.of(client)


@asynccontextmanager
async def over_http(site: Site) -> AsyncIterator[Tools]:
    async with Client(site.serve("--port", "0", **LISTS).url) as client:
        yield await Tools.of(client)


Connect = Callable[[Site], AbstractAsyncContextManager[Tools]]
TRANSPORTS: dict[str, Connect] = {"stdio": over_stdio, "http": over_http}


async def begin(planner: Tools, workflows: Path, agent_id: str | None = None) -> dict[str, Any]:
    """Take the steps 1 to 7 of the planner, whose files are in this directory; return its agents.

    With an `agent_id` the planner is that agent, and not the local user.
    """
    made_by, by = ({}, {}) if agent_id is None else ({"planner_agent_id": agent_id}, {"agent_id": agent_id})
    skills = await planner.ok("get_skillset")
    assert MANIFEST in {available_skill["manifestId"] for available_skill in skills["available_skills"]}
    valid = await planner.ok("validate_workflow", workflow_json=WORKFLOW)
    assert (valid["exit_code"], valid["resolution"]["unresolved_agent_refs"]) == (0, [])
    written = await planner.ok("write_file", path=f"{RUN}.json", content=WORKFLOW)
    assert written["path"] == str(workflows / f"{RUN}.json")
    created = await planner.ok("create_workflow_control_plane", workflow_json=WORKFLOW, **made_by)
    assert {f"cp:wf:{RUN}:meta", f"cp:wf:{RUN}:state:Price"} <= set(created["created_keys"])
    made = await planner.ok("create_worker_agents", workflow_json=WORKFLOW)
    agents: dict[str, Any] = made["agents_map"]
    assert agents.keys() == OUTPUTS.keys()
    meta = {"redis_key": f"cp:wf:{RUN}:meta", "path": "agents"}
    assert (await planner.ok("json_set", **meta, **by, value_json=json.dumps(agents)))["success"]
    assert json.loads((await planner.ok("json_read", **meta))["value_json"]) == agents
    notified = await planner.ok("notify_next_worker_agent", workflow_id=RUN)
    assert [(target["state"], target["sent"]) for target in notified["targets"]] == [("Price", True)]
    return agents


async def work(worker: Tools, state: str, agent: str) -> None:
    """Take the nine steps of the worker."""
    place = {"workflow_id": RUN, "state": state}
    message = (await worker.ok("await_workflow_event", agent_id=agent, lease=False, timeout_s=50))["event"]
    assert (message["type"], message["workflow_id"], message["target_state"]) == ("workflow_event", RUN, state)
    assert message["control_plane"]["state_key"] == f"cp:wf:{RUN}:state:{state}"
    plane = await worker.ok(
        "read_workflow_control_plane", workflow_id=RUN, states_json=json.dumps([state]), compute_readiness=True
    )
    assert plane["readiness"][state] is True
    lease = await worker.ok("acquire_state_lease", **place, owner_agent_id=agent)
    assert lease["status"] == "lease_acquired"
    holder = {**place, "lease_token": lease["lease"]["token"]}
    again = await worker.ok("acquire_state_lease", **holder, owner_agent_id=agent)
    assert again["status"] == "lease_already_held"
    loaded = await worker.ok("load_skill", skill_json=SKILL, agent_id=agent)
    assert loaded["added"]["memory_block_ids"]
    updated = await worker.ok(
        "update_workflow_control_plane", **holder, new_status="done", output_json=json.dumps(OUTPUTS[state])
    )
    assert updated["output_written"]
    await worker.ok("notify_next_worker_agent", workflow_id=RUN, source_state=state)
    unloaded = await worker.ok("unload_skill", manifest_id=MANIFEST, agent_id=agent)
    assert unloaded["removed"]["memory_block_ids"] == loaded["added"]["memory_block_ids"]
    assert (await worker.ok("release_state_lease", **holder))["status"] == "lease_already_clear"


async def finish(planner: Tools) -> None:
    """Take the steps 8 and 9 of the planner."""
    seen = await planner.ok("read_workflow_control_plane", workflow_id=RUN)
    assert seen["outputs"] == OUTPUTS
    ended = await planner.ok("finalize_workflow", workflow_id=RUN, finalize_note="Paid.")
    assert ended["summary"]["final_status"] == "succeeded"
    audit = await planner.ok("json_read", redis_key=f"dp:wf:{RUN}:audit:finalize")
    assert json.loads(audit["value_json"])["note"] == "Paid."


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_steps_of_planner_and_worker_are_taken_as_documented(site: Site, transport: str) -> None:
    async with TRANSPORTS[transport](site) as tools:
        assert set(DOCUMENTS["dcf"]) <= tools.listed
        agents = await begin(tools, site.data_dir / "workflows")
        for state in OUTPUTS:
            await work(tools, state, agents[state])
        await finish(tools)
