"""The inside of an ended Map or Parallel stays readable, in pages; and a run at a glance."""

from typing import Any

import pytest

from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio

MAP = workflow({"Each": each({"S": task("T"), "T": task()}, ToleratedFailureCount=1, MaxConcurrency=2)})


async def do(tools: Tools, run: str, state: str, **result: Any) -> Answer:
    token = f"{run}-{state}"
    await tools.ok("acquire_state_lease", workflow_id=run, state=state, owner_agent_id="worker-1", lease_token=token)
    return await tools.ok("update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, **result)


async def each_of_three(tools: Tools, run: str) -> None:
    """Three iterations of two states; in the second one the first state fails."""
    await new_run(tools, run, MAP, input_json=[10, 11, 12], agents_map_json={"S": "worker-1", "T": "worker-1"})
    for index in range(3):
        if index == 1:
            failure = {"new_status": "failed", "error_name": "Broken", "error_message": "why"}
            await do(tools, run, "Each/1/S", **failure)
            continue
        await do(tools, run, f"Each/{index}/S", new_status="succeeded", output_json={"s": index})
        await do(tools, run, f"Each/{index}/T", new_status="succeeded", output_json={"t": index})


async def test_iterations_that_ended_are_read_in_pages_with_errors_and_outputs(tools: Tools, run_id: str) -> None:
    await each_of_three(tools, run_id)
    await tools.ok("finalize_workflow", workflow_id=run_id, delete_worker_agents=False)
    states: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    more: dict[str, Any] = {}
    while True:
        page = await tools.ok(
            "read_workflow_control_plane", workflow_id=run_id, inside="Each", limit=2, include_inputs=True, **more
        )
        assert 0 < len(page["states"]) <= 2
        states |= page["states"]
        outputs |= page["outputs"]
        inputs |= page["inputs"]
        if page["next_cursor"] is None:
            break
        more = {"cursor": page["next_cursor"]}
    assert list(states) == ["Each/0/S", "Each/0/T", "Each/1/S", "Each/2/S", "Each/2/T"]
    assert [state["status"] for state in states.values()] == [
        "succeeded",
        "succeeded",
        "failed",
        "succeeded",
        "succeeded",
    ]
    assert (states["Each/1/S"]["last_error"], states["Each/1/S"]["attempts"]) == ("Broken: why", 1)
    assert (outputs["Each/2/T"], inputs["Each/2/S"]) == ({"t": 2}, 12)


async def test_a_run_at_a_glance_has_no_inputs_and_outputs(tools: Tools, run_id: str) -> None:
    await each_of_three(tools, run_id)
    whole = await tools.ok("read_workflow_control_plane", workflow_id=run_id, inside="Each")
    brief = await tools.ok("read_workflow_control_plane", workflow_id=run_id, inside="Each", summary=True)
    assert list(brief["states"]) == list(whole["states"])
    assert (brief["inputs"], brief["outputs"]) == ({}, {})
    failed = brief["states"]["Each/1/S"]
    assert (failed["status"], failed["attempts"], failed["last_error"]) == ("failed", 1, "Broken: why")
    assert brief["meta"]["status"] == "succeeded"
    assert "input" not in brief["meta"]
    assert len(brief.text) < len(whole.text) * 0.7


async def test_a_summary_names_the_holder_and_never_the_token(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    holding = {"workflow_id": run_id, "state": "A", "owner_agent_id": "worker-1", "lease_token": f"secret-{run_id}"}
    await tools.ok("acquire_state_lease", **holding)
    brief = await tools.ok("read_workflow_control_plane", workflow_id=run_id, summary=True)
    assert brief["states"]["A"]["owner_agent_id"] == "worker-1"
    assert holding["lease_token"] not in brief.text


async def test_branches_of_a_parallel_inside_a_map_are_named_by_path(tools: Tools, run_id: str) -> None:
    document = workflow({"Each": each({"Both": parallel({"L": task()}, {"R": task()})})})
    agents = {"L": "worker-1", "R": "worker-1"}
    await new_run(tools, run_id, document, input_json=[0], agents_map_json=agents)
    for state in ("Each/0/Both/0/L", "Each/0/Both/1/R"):
        await do(tools, run_id, state, new_status="succeeded", output_json={"at": state})
    outer = await tools.ok("read_workflow_control_plane", workflow_id=run_id, inside="Each")
    inner = await tools.ok("read_workflow_control_plane", workflow_id=run_id, inside="Each/0/Both")
    assert list(outer["states"]) == ["Each/0/Both"]
    assert inner["outputs"] == {path: {"at": path} for path in ("Each/0/Both/0/L", "Each/0/Both/1/R")}


@rows(
    ("code", "wrong"),
    [
        ("unknown_state", {"inside": "Nowhere"}),
        ("invalid_argument", {"inside": "Each/0/S"}),
        ("invalid_argument", {"inside": "Each", "cursor": "Other/0/S"}),
        ("invalid_argument", {"inside": "Each", "states_json": ["Each"]}),
    ],
)
async def test_what_is_no_scope_and_no_cursor_is_refused(
    tools: Tools, run_id: str, code: str, wrong: dict[str, Any]
) -> None:
    await new_run(tools, run_id, MAP, input_json=[1], agents_map_json={})
    await tools.refused(code, "read_workflow_control_plane", workflow_id=run_id, **wrong)


async def test_a_map_that_was_not_opened_has_nothing_inside(tools: Tools, run_id: str) -> None:
    document = workflow({"First": task("Each"), "Each": MAP["asl"]["States"]["Each"]})
    await new_run(tools, run_id, document, agents_map_json={})
    page = await tools.ok("read_workflow_control_plane", workflow_id=run_id, inside="Each")
    assert (page["states"], page["next_cursor"]) == ({}, None)
