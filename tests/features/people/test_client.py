"""People who are asked, from Python."""

from dataclasses import fields
from typing import Any

import pytest

from dcf.client import Client, ListedTask
from dcf.errors import Refused, UnknownRun


def one_state(**state: Any) -> dict[str, Any]:
    return {"asl": {"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "End": True, **state}}}}


ASK = one_state(
    Resource="dcf:human",
    Parameters={"to": ["alice", {"group": "finance"}], "title": "Approve the order", "details": {"total": 7}},
)


def test_people_find_what_waits_for_them_and_answer_it_once(client: Client, run_id: str) -> None:
    client.start(ASK, workflow_id=run_id)
    for mine in (client.list_human_tasks(person="alice"), client.list_human_tasks(group="finance")):
        (task,) = [item for item in mine if item.workflow_id == run_id]
        assert (task.state, task.title, task.choices) == ("Wait", "Approve the order", ("approve", "reject"))
        assert (task.to, task.details) == (("alice", {"group": "finance"}), None)
    (whole,) = client.list_human_tasks(workflow_id=run_id, state="Wait")
    assert whole.details == {"total": 7}
    answered = client.answer_human_task(
        run_id, "Wait", "approve", comment="fine", agent_id="alice", epoch=whole.epoch, request_id="first"
    )
    assert (answered.answered_by, answered.choice, answered.run_status) == ("alice", "approve", "succeeded")
    again = client.answer_human_task(
        run_id, "Wait", "approve", comment="fine", agent_id="alice", epoch=whole.epoch, request_id="first"
    )
    assert again.repeated
    with pytest.raises(Refused) as late:
        client.answer_human_task(run_id, "Wait", "reject", comment="no", agent_id="alice")
    assert late.value.code == "already_answered"
    assert client.result(run_id)["choice"] == "approve"
    with pytest.raises(UnknownRun):
        list(client.list_human_tasks(workflow_id="nobody"))


def test_no_field_of_a_task_is_left_out(served: Client, run_id: str) -> None:
    more = {"schema": {"type": "object"}, "not_by": ["bob"], "instructions": "Look at the total."}
    ask = one_state(Resource="dcf:human", Parameters={**ASK["asl"]["States"]["Wait"]["Parameters"], **more})
    served.start(ask, workflow_id=run_id)
    (shown,) = served._tools.call("list_human_tasks", workflow_id=run_id, state="Wait")["tasks"]
    assert set(shown) <= {field.name for field in fields(ListedTask)}
    (task,) = served.list_human_tasks(workflow_id=run_id, state="Wait")
    assert (task.schema, task.not_by, task.instructions) == ({"type": "object"}, ("bob",), "Look at the total.")
