"""The tools that find, delete and hold runs, through a real MCP client and as callers of any kind."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.tables import rows
from tests.tools.access import PLANNER, ask, key_of
from tests.tools.calls import ONE_TASK, Tools

pytestmark = pytest.mark.anyio

BOSS = {"name": "key:aaaaaaaaaaaa", "agent_id": "boss"}


@pytest.fixture
def mine() -> str:
    """A workflow's name that no other test uses."""
    return f"tools-{secrets.token_hex(4)}"


async def created(tools: Tools, workflow: str, **more: Any) -> str:
    run = f"run-{secrets.token_hex(5)}"
    document = ONE_TASK | {"workflow_name": workflow}
    await tools.ok("create_workflow_control_plane", workflow_json=document, workflow_id=run, **more)
    return run


async def test_runs_are_found_page_by_page(tools: Tools, mine: str) -> None:
    runs = [await created(tools, mine, agents_map_json={"A": f"{mine}-a"}) for _ in range(3)]
    await tools.ok("finalize_workflow", workflow_id=runs[0])
    first = await tools.ok("list_runs", workflow=mine, limit=2)
    assert [run["workflow_id"] for run in first["runs"]] == runs[:0:-1]
    assert first["matching"] == 3
    assert first["counts"]["running"] >= 2
    second = await tools.ok("list_runs", workflow=mine, limit=2, cursor=first["next_cursor"])
    assert [(run["workflow_id"], run["status"]) for run in second["runs"]] == [(runs[0], "cancelled")]
    assert second["next_cursor"] is None
    for filters in (
        {"status": "cancelled"},
        {"status": "cancelled", "agent": f"{mine}-a"},
        {"since": "1h", "limit": 1},
    ):
        answer = await tools.ok("list_runs", workflow=mine, **filters)
        assert len(answer["runs"]) == 1
    assert (await tools.ok("list_runs", workflow=mine, stuck=True))["runs"] == []


@rows(
    "arguments", [{"since": "yesterday"}, {"until": "2026-11-22"}, {"cursor": "x"}, {"limit": 0}, {"status": "paused"}]
)
async def test_what_is_no_filter_is_refused(tools: Tools, arguments: dict[str, Any]) -> None:
    await tools.refused("invalid_argument", "list_runs", **arguments)


async def test_a_run_is_deleted_once_it_is_over(tools: Tools, mine: str) -> None:
    run = await created(tools, mine)
    refused = await tools.refused("run_live", "delete_run", workflow_id=run)
    assert "cancel_run" in refused["hint"]
    await tools.ok("finalize_workflow", workflow_id=run)
    done = await tools.ok("delete_run", workflow_id=run, reason="a test")
    assert (done["existed"], done["status"]) == (True, "deleted")
    again = await tools.ok("delete_run", workflow_id=run)
    assert again["existed"] is False
    assert (await tools.ok("list_runs", workflow=mine))["runs"] == []
    await tools.refused("unknown_run", "read_workflow_control_plane", workflow_id=run)


async def test_only_its_planner_or_an_operator_deletes_a_run(application: Application, tools: Tools, mine: str) -> None:
    run = await created(tools, mine, planner_agent_id="boss")
    await tools.ok("finalize_workflow", workflow_id=run)
    stranger = await ask(application, key_of(*PLANNER, agent_id="stranger"), "delete_run", workflow_id=run)
    assert stranger.code == "forbidden"
    worker = await ask(application, key_of(Scope.READ, Scope.WORK, agent_id="boss"), "delete_run", workflow_id=run)
    assert worker.code == "forbidden"
    planner = key_of(*PLANNER, **BOSS)
    assert (await ask(application, planner, "delete_run", workflow_id=run, reason="why")).code == "ok"
    (entry, *_) = [item for item in application.audit.newest(20) if item.about.get("workflow_id") == run]
    assert (entry.change, entry.by, entry.about["reason"]) == ("delete_run", BOSS["name"], "why")


async def test_an_operator_holds_a_run_and_a_planner_does_not(
    replica: Callable[..., Application], tools: Tools, mine: str
) -> None:
    application = replica()
    run = await created(tools, mine, planner_agent_id="boss")
    await tools.ok("finalize_workflow", workflow_id=run)
    assert (await ask(application, key_of(*PLANNER, **BOSS), "hold_run", workflow_id=run)).code == "forbidden"
    operator = key_of(*Scope)
    reply = await ask(application, operator, "hold_run", workflow_id=run, reason="court")
    assert (reply["hold"], reply["changed"]) == (True, True)
    assert (await ask(application, key_of(*PLANNER, **BOSS), "delete_run", workflow_id=run)).code == "on_hold"
    (row,) = (await tools.ok("list_runs", workflow=mine))["runs"]
    assert row["hold"] is True
    assert (await ask(application, operator, "hold_run", workflow_id=run, hold=False))["hold"] is False
    assert (await ask(application, operator, "delete_run", workflow_id=run)).code == "ok"
    assert (await ask(application, operator, "hold_run", workflow_id=run)).code == "unknown_run"
