"""The planners of a run whose meta.agents is written by hand."""

from typing import Any

import pytest

from dcf.application.application import Application
from tests.tools.access import PLANNER, ask, key_of
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


def meta_of(run: str) -> str:
    return f"cp:wf:{run}:meta"


async def test_the_local_user_is_the_planner_of_what_it_created(
    tools: Tools, application: Application, run_id: str
) -> None:
    """The sixth step of the seed's planner, who gives no agent_id."""
    theirs, key = f"{run_id}-theirs", key_of(*PLANNER)
    await new_run(tools, run_id)
    made = await ask(application, key, "create_workflow_control_plane", workflow_id=theirs, workflow_json=TWO_TASKS)
    assert made.code == "ok", made.text
    edit: dict[str, Any] = {"path": "agents", "value_json": {"A": "w"}}
    await tools.ok("json_set", redis_key=meta_of(run_id), **edit)
    await tools.refused("forbidden", "json_set", redis_key=meta_of(theirs), **edit)
    for run in (run_id, theirs):
        answer = await ask(application, key, "json_set", redis_key=meta_of(run), **edit)
        assert answer.code == "forbidden", "a key is the planner whom it names, as before"
