"""A run that was deleted and created again under its name: a server that knew the earlier one answers right."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.core.listing.runs import RunQuery
from dcf.store.keys.table import RunKeys
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio


def straight(*states: str) -> dict[str, Any]:
    following = dict(pairwise(states))
    tasks = {
        state: {"Type": "Task"} | ({"Next": following[state]} if state in following else {"End": True})
        for state in states
    }
    return {"asl": {"StartAt": states[0], "States": tasks}}


EARLIER, PRESENT = straight("A", "B", "Old"), straight("A", "C", "New")
OTHER_ORDER = straight("A", "New", "Old")
"""An earlier run in which A was followed by a state that the present run has too."""


def delete(raw_redis: redis.Redis, run: str) -> None:
    raw_redis.delete(*raw_redis.scan_iter(f"*:wf:{run}:*"))


@pytest.fixture(params=[EARLIER, OTHER_ORDER], ids=["other-states", "other-order"])
async def recreated(
    request: pytest.FixtureRequest,
    tools: Tools,
    replica: Callable[..., Application],
    raw_redis: redis.Redis,
    run_id: str,
) -> str:
    """A run that the server knows, and that another process replaced by one of PRESENT."""
    await tools.ok("create_workflow_control_plane", workflow_json=request.param, workflow_id=run_id)
    delete(raw_redis, run_id)
    wish = Create(
        workflow_id=run_id,
        definition=read_definition(PRESENT),
        run_input={},
        agents={state: (f"{state}-of-{run_id}",) for state in ("A", "C", "New")},
        planner_agent_id="boss",
        retention_s=None,
        max_attempts=10,
    )
    replica().control_plane.create(wish)
    return run_id


async def test_the_agents_that_are_made_are_those_of_its_own_states(tools: Tools, recreated: str) -> None:
    crew = await tools.ok("create_worker_agents", workflow_id=recreated)
    assert set(crew["agents_map"]) == {"A", "C", "New"}


async def test_its_own_document_is_accepted_and_that_of_the_earlier_run_refused(tools: Tools, recreated: str) -> None:
    await tools.refused("conflict", "create_worker_agents", workflow_json=EARLIER, workflow_id=recreated)
    await tools.ok("create_worker_agents", workflow_json=PRESENT, workflow_id=recreated)


async def test_an_agent_is_told_of_its_state(tools: Tools, recreated: str) -> None:
    answer = await tools.ok("get_my_assignment", agent_id=f"C-of-{recreated}", workflow_id=recreated)
    assert [state["state"] for state in answer["states"]] == ["C"]


async def test_those_who_follow_are_the_ones_that_are_told(tools: Tools, recreated: str) -> None:
    answer = await tools.ok("notify_next_worker_agent", workflow_id=recreated, source_state="A")
    assert [target["state"] for target in answer["targets"]] == ["C"]


async def test_agents_are_assigned_by_hand_to_its_own_states(tools: Tools, recreated: str) -> None:
    wish = {"redis_key": RunKeys(recreated).meta, "value_json": '"agent-x"', "agent_id": "boss"}
    await tools.refused("invalid_edit", "json_set", path="agents.Old", **wish)
    await tools.ok("json_set", path="agents.New", **wish)


async def test_the_list_of_runs_counts_its_own_states(application: Application, recreated: str) -> None:
    (line,) = (row for row in application.run_list.list_runs(RunQuery(limit=1000)).rows if row.workflow_id == recreated)
    assert (line.states, line.states_done) == (3, 0)


async def test_a_run_that_is_gone_is_unknown(tools: Tools, raw_redis: redis.Redis, run_id: str) -> None:
    await tools.ok("create_workflow_control_plane", workflow_json=EARLIER, workflow_id=run_id)
    delete(raw_redis, run_id)
    calls: Mapping[str, Mapping[str, str]] = {
        "load_skill": {"skill_json": "skill://x@1.0.0", "agent_id": "agent-x"},
        "create_worker_agents": {},
        "get_my_assignment": {"agent_id": "agent-x"},
    }
    for tool, arguments in calls.items():
        await tools.refused("unknown_run", tool, workflow_id=run_id, **arguments)
