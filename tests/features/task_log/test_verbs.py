"""`log_event`: lines of a lease holder in the history of a run; few, small, each once, and only the holder's."""

from typing import Any

import pytest

from dcf.features.task_log.rules import MOST_LINES
from tests.tools.calls import ONE_TASK, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio


async def lines(tools: Tools, run_id: str) -> list[Any]:
    """The lines in the history, in order."""
    answer = await tools.ok("read_run_events", workflow_id=run_id, types_json=["TaskLogged"])
    return list(answer["events"])


async def test_a_line_of_the_holder_stands_in_the_history_once_however_often_it_is_sent(
    tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id, ONE_TASK)
    place = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    first = await tools.ok("log_event", **place, number=1, message="half done", fields_json={"done": 2, "of": 4})
    assert (first["repeated"], first["lines_left"]) == (False, MOST_LINES - 1)
    again = await tools.ok("log_event", **place, number=1, message="half done", fields_json={"done": 2, "of": 4})
    assert (again["repeated"], again["lines_left"]) == (True, MOST_LINES - 1)
    await tools.ok("log_event", **place, number=2, message="done")
    details = await lines(tools, run_id)
    assert [(line["number"], line["message"], line.get("fields")) for line in details] == [
        (1, "half done", {"done": 2, "of": 4}),
        (2, "done", None),
    ]
    assert all(line["epoch"] > 0 for line in details)


async def test_only_the_holder_writes_and_a_new_holder_begins_with_line_one(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, ONE_TASK)
    place = {"workflow_id": run_id, "state": "A"}
    token = await lease_on(tools, run_id)
    await tools.refused("lease_lost", "log_event", **place, lease_token="guess", number=1, message="mine")
    await tools.ok("log_event", **place, lease_token=token, number=7, message="of the first")
    await tools.ok("release_state_lease", **place, lease_token=token)
    await tools.refused("lease_lost", "log_event", **place, lease_token=token, number=8, message="too late")
    second = await lease_on(tools, run_id)
    answer = await tools.ok("log_event", **place, lease_token=second, number=1, message="of the second")
    assert not answer["repeated"]
    await tools.ok("update_workflow_control_plane", **place, lease_token=second, new_status="succeeded")
    await tools.refused("terminal", "log_event", **place, lease_token=second, number=2, message="after the end")
    assert [line["message"] for line in await lines(tools, run_id)] == ["of the first", "of the second"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 0},
        {"number": MOST_LINES + 1},
        {"message": "x" * 2001},
        {"fields_json": {"x": "y" * 4096}},
        {"fields_json": "[1]"},
    ],
    ids=["zero", "too-many", "long", "large", "no-object"],
)
async def test_a_line_that_is_too_much_is_refused_in_words(tools: Tools, run_id: str, wrong: dict[str, Any]) -> None:
    await new_run(tools, run_id, ONE_TASK)
    place = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
    await tools.refused("invalid_argument", "log_event", **{**place, "number": 1, "message": "m", **wrong})
    assert await lines(tools, run_id) == []
