"""The history names the author of every change of a run: a key, the local user, or dcf itself."""

import secrets
from collections.abc import Callable

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from tests.support.waiting import wait_until
from tests.tools.access import PLANNER, WORKER, ask, key_of
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


def _authors(application: Application, run_id: str) -> dict[str, set[object]]:
    authors: dict[str, set[object]] = {}
    for entry in application.history.after(run_id):
        authors.setdefault(entry.type, set()).add(entry.by)
    return authors


async def test_each_change_names_the_key_that_made_it(alone: Application) -> None:
    run_id = f"run-{secrets.token_hex(4)}"
    planner, worker = key_of(*PLANNER, name="key:aaaaaaaaaaaa"), key_of(*WORKER, name="key:bbbbbbbbbbbb")
    agents = {"A": "worker-1", "B": "worker-1"}
    wish = {"workflow_json": TWO_TASKS, "workflow_id": run_id, "agents_map_json": agents}
    await ask(alone, planner, "create_workflow_control_plane", **wish)
    await ask(alone, planner, "notify_next_worker_agent", workflow_id=run_id)
    reply = await ask(alone, worker, "claim_ready_state", workflow_id=run_id, owner_agent_id="worker-1")
    holder = {"workflow_id": run_id, "state": "A", "lease_token": reply["lease"]["token"]}
    await ask(alone, worker, "renew_state_lease", **holder)
    await ask(alone, worker, "update_workflow_control_plane", **holder, new_status="succeeded", output_json={})
    await ask(alone, planner, "pause_run", workflow_id=run_id)
    await ask(alone, planner, "resume_run", workflow_id=run_id)
    await ask(alone, planner, "resolve_state", workflow_id=run_id, state="B", assign_json=["worker-2"])
    await ask(alone, planner, "cancel_run", workflow_id=run_id)
    await ask(alone, planner, "retry_run", workflow_id=run_id)
    again = await ask(alone, planner, "rerun", workflow_id=run_id, from_state="B")
    await ask(alone, planner, "finalize_workflow", workflow_id=run_id)
    assert set().union(*_authors(alone, again["workflow_id"]).values()) == {planner.name}
    authors = _authors(alone, run_id)
    assert set().union(*authors.values()) == {planner.name, worker.name}
    by_planner = (
        "RunCreated",
        "RunStarted",
        "RunPaused",
        "RunResumed",
        "StateResolved",
        "RunCancelled",
        "RunRetried",
        "RunRerun",
        "RunFinalized",
    )
    for kind in by_planner:
        assert authors[kind] == {planner.name}, kind
    for kind in ("LeaseAcquired", "LeaseRenewed", "StateSucceeded"):
        assert authors[kind] == {worker.name}, kind


async def test_a_call_over_stdio_is_the_local_users(tools: Tools, application: Application, run_id: str) -> None:
    await new_run(tools, run_id)
    assert set().union(*_authors(application, run_id).values()) == {"local"}


async def test_what_the_clock_does_names_nobody(replica: Replica, run_id: str) -> None:
    workflow = {
        "asl": {
            "StartAt": "W",
            "States": {"W": {"Type": "Wait", "Seconds": 1, "Next": "D"}, "D": {"Type": "Succeed"}},
        }
    }
    application = replica()
    async with Client(build_server(application)) as client:
        await new_run(await Tools.of(client), run_id, workflow, agents_map_json={})

    def over() -> bool:
        application.clock.pulse()
        return bool((application.control_plane.read(run_id, ()).meta_document or {})["status"] == "succeeded")

    wait_until(over)
    authors = _authors(application, run_id)
    assert authors["RunCreated"] == {"local"}
    assert authors["RunSucceeded"] == {None}
