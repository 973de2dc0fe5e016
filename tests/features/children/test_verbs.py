"""Child runs through the tools: in whose name a child is started, and what clients see."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import read_definition
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery
from tests.support.waiting import wait_until
from tests.support.workflows.machines import Document, chain, workflow
from tests.tools.access import PLANNER, WORKER, ask, key_of
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


def starts(name: str, **request: Any) -> Document:
    parameters = {"StateMachineArn": name, "Input.$": "$", **request}
    resource = "arn:aws:states:::states:startExecution.sync:2"
    inner = {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}
    return workflow({"Work": {"Type": "Task", "Next": "Inner"}, "Inner": inner})


def keep(application: Application) -> str:
    name = f"inner-{secrets.token_hex(6)}"
    application.starting.keep(read_definition({**chain("Do"), "workflow_name": name}))
    return name


async def test_a_child_is_started_in_the_name_of_who_created_its_parent(replica: Replica) -> None:
    application = replica()
    key = application.keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=60)
    planner = key_of(*PLANNER, name=f"key:{key.record.key_id}")
    run = f"run-{secrets.token_hex(4)}"
    await ask(application, planner, "start_run", workflow_json=starts(keep(application)), workflow_id=run)
    await _work(application, run)
    child = await _child(application, run)
    created, *_ = application.history.after(child)
    assert created.by == planner.name
    assert application.usage.of(key.record.key_id).live_runs >= 1


async def test_a_revoked_key_starts_no_children(replica: Replica) -> None:
    application = replica()
    key = application.keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=60)
    planner = key_of(*PLANNER, name=f"key:{key.record.key_id}")
    run = f"run-{secrets.token_hex(4)}"
    await ask(application, planner, "start_run", workflow_json=starts(keep(application)), workflow_id=run)
    application.keys.revoke(key.record.key_id)
    await _work(application, run)
    wait_until(lambda: application.runs.read(run).meta.status is RunStatus.FAILED)
    assert application.control_plane.read(run, ()).meta_document["error"] == "DCF.ChildRefused"  # type: ignore[index]


async def _work(application: Application, run: str) -> None:
    """Complete the first state, with a key that may only work."""
    worker = key_of(*WORKER, name="key:bbbbbbbbbbbb")
    reply = await ask(application, worker, "claim_ready_state", workflow_id=run, owner_agent_id="worker-1")
    holder = {"workflow_id": run, "state": "Work", "lease_token": reply["lease"]["token"]}
    await ask(application, worker, "update_workflow_control_plane", **holder, new_status="succeeded", output_json={})


async def _child(application: Application, run: str) -> str:
    result: list[str] = []

    def is_there() -> bool:
        page = application.run_list.list_runs(RunQuery(limit=10, parent=run))
        result[:] = [row.workflow_id for row in page.rows if row.status == "running"]
        return bool(result)

    wait_until(is_there)
    return result[0]


async def test_a_client_starts_finds_works_on_and_cancels_child_runs(
    tools: Tools, application: Application, run_id: str
) -> None:
    name = keep(application)
    await tools.ok("start_run", workflow_json=starts(name), workflow_id=run_id)
    await _work(application, run_id)
    child = await _child(application, run_id)
    listed = await tools.ok("list_runs", parent=run_id)
    assert [(row["workflow_id"], row["parent"]) for row in listed["runs"]] == [(child, run_id)]
    waits = await tools.ok("explain_run", workflow_id=run_id)
    assert (waits["findings"][0]["cause"], waits["findings"][0]["evidence"]["run"]) == ("waiting_for_child", child)
    meta = (await tools.ok("read_workflow_control_plane", workflow_id=child))["meta"]
    assert meta["parent"]["state"] == "Inner"
    await tools.ok("cancel_run", workflow_id=run_id)
    wait_until(lambda: application.runs.read(child).meta.status is RunStatus.CANCELLED)
    await tools.ok("retry_run", workflow_id=run_id)
    again = await _child(application, run_id)
    answer = await tools.ok("claim_ready_state", workflow_id=again, owner_agent_id="ann")
    token = answer["lease"]["token"]
    done = {
        "workflow_id": again,
        "state": "Do",
        "lease_token": token,
        "new_status": "succeeded",
        "output_json": {"n": 1},
    }
    await tools.ok("update_workflow_control_plane", **done)
    wait_until(lambda: application.runs.read(run_id).meta.status is RunStatus.SUCCEEDED)
    output = application.runs.read(run_id).document["output"]
    assert (output["ExecutionArn"], output["Output"]) == (again, {"n": 1})
