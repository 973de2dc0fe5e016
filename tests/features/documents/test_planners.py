"""The planners of a run whose meta.agents is written by hand."""

from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.tools.access import PLANNER, ask, key_of
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


def meta_of(run: str) -> str:
    return f"cp:wf:{run}:meta"


async def test_a_caller_without_an_agent_is_the_planner_of_what_it_created(
    tools: Tools, application: Application, run_id: str
) -> None:
    """The sixth step of the seed's planner, who gives no agent_id: as the local user, and with a key for any agent."""
    theirs, key = f"{run_id}-theirs", key_of(*PLANNER)
    await new_run(tools, run_id)
    made = await ask(application, key, "create_workflow_control_plane", workflow_id=theirs, workflow_json=TWO_TASKS)
    assert made.code == "ok", made.text
    edit: dict[str, Any] = {"path": "agents", "value_json": {"A": "w"}}
    await tools.ok("json_set", redis_key=meta_of(run_id), **edit)
    assert (await ask(application, key, "json_set", redis_key=meta_of(theirs), **edit)).code == "ok"
    other: dict[str, Any] = {"path": "agents", "value_json": {"A": "thief"}}
    await tools.refused("forbidden", "json_set", redis_key=meta_of(theirs), **other)
    strangers = [
        (meta_of(run_id), key),
        (meta_of(theirs), key_of(*PLANNER, name="key:ba9876543210")),
        (meta_of(theirs), key_of(Scope.READ, Scope.WORK)),
    ]
    for document, caller in strangers:
        assert (await ask(application, caller, "json_set", redis_key=document, **other)).code == "forbidden"
    bound = key_of(*PLANNER, agent_id="somebody", name=key.name)
    assert (await ask(application, bound, "json_set", redis_key=meta_of(theirs), **other)).code == "forbidden"


async def test_recording_the_agents_that_are_recorded_is_no_edit_whoever_does_it(
    tools: Tools, application: Application, run_id: str
) -> None:
    """The sixth step after `create_worker_agents`, with a key that has the scope `work`."""
    await new_run(tools, run_id, TWO_TASKS, agents_map_json={"A": "w", "B": "v"})
    worker = key_of(Scope.READ, Scope.WORK)
    same = {"redis_key": meta_of(run_id), "path": "$.agents", "value_json": {"A": "w", "B": "v"}}
    answer = await ask(application, worker, "json_set", **same)
    assert (answer.code, answer["status"], answer["changed"]) == ("ok", "unchanged", False)
    assert (await ask(application, worker, "json_set", **same | {"value_json": {"A": "w"}})).code == "forbidden"
