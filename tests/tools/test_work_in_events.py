"""await_workflow_event brings the work itself: the state is leased, with input and the next call."""

import pytest

from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


async def ready(tools: Tools, run_id: str, agent: str, **more: object) -> None:
    """A run of two Tasks, both the agent's, of which the first is ready."""
    arguments = {"agents_map_json": {"A": agent, "B": agent}, "input_json": {"n": 1}} | more
    await new_run(tools, run_id, TWO_TASKS, **arguments)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)


async def test_an_event_of_a_ready_state_brings_it_leased_with_its_input_and_the_call_that_completes_it(
    tools: Tools, run_id: str
) -> None:
    agent = f"agent-{run_id}"
    await ready(tools, run_id, agent)
    answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=5)
    work = answer["work"]
    assert (work["workflow_id"], work["state"], work["attempt"], work["input"]) == (run_id, "A", 1, {"n": 1})
    assert list(work)[-1] == "input"
    assert None not in work.values()
    (step,) = answer["next"]
    assert step["tool"] == "update_workflow_control_plane"
    await tools.ok(step["tool"], **step["arguments"] | {"output_json": {"n": 2}})
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert (read["states"]["A"]["status"], read["outputs"]["A"]) == ("succeeded", {"n": 2})
