"""A worker that delivers twice: the same result gets the same answer, another is refused with the stored one."""

from typing import Any

import pytest

from tests.tools.calls import Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

RESULT = {"new_status": "succeeded", "output_json": {"text": "first"}}


async def completed(tools: Tools, run_id: str) -> dict[str, Any]:
    """The arguments of the holder that completed state A."""
    await new_run(tools, run_id)
    holder = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    await tools.ok("update_workflow_control_plane", **holder, **RESULT)
    return holder


async def test_the_same_result_again_is_told_what_the_first_call_did(tools: Tools, run_id: str) -> None:
    holder = await completed(tools, run_id)
    again = await tools.ok("update_workflow_control_plane", **holder, **RESULT)
    assert (again["repeated"], again["output_written"], again["run_status"]) == (True, True, "succeeded")
    assert "stored" not in again.payload


@pytest.mark.parametrize(
    "correction",
    [
        {"new_status": "succeeded", "output_json": {"text": "better"}},
        {"new_status": "failed", "error_name": "Wrong", "error_message": "on second thoughts"},
        {"new_status": "pending"},
    ],
)
async def test_another_result_is_refused_with_what_was_stored(
    tools: Tools, run_id: str, correction: dict[str, Any]
) -> None:
    holder = await completed(tools, run_id)
    refused = await tools.refused("already_completed", "update_workflow_control_plane", **holder, **correction)
    assert (
        refused["stored"].items()
        >= {"status": "succeeded", "output_written": True, "output": {"text": "first"}}.items()
    )
    assert refused["stored"]["at"] in refused.error
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert read["outputs"] == {"A": {"text": "first"}}
