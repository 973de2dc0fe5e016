"""Notes, questions, answers and corrections, from Python."""

from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused

TWO: dict[str, Any] = {
    "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
}


def held(client: Client, served: Client, run_id: str) -> str:
    client.start(TWO, workflow_id=run_id, agents={"A": "ann", "B": "ben"}, planner_agent_id="pat")
    lease = served._tools.call("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="ann")
    return str(lease["work"]["lease_token"])


def test_a_worker_tells_and_asks_and_is_answered(client: Client, served: Client, run_id: str) -> None:
    token = held(client, served, run_id)
    note = client.leave_note(run_id, "odd numbers", agent_id="ann", state="A")
    assert (note.note, note.planner_agent_id) == (1, "pat")
    question = client.ask_question(run_id, "A", token, "EUR?", choices=["EUR", "USD"], ask=["lea", {"group": "x"}])
    assert (question.asked, question.gave_back) == ("lea or the group x", True)
    (task,) = client.list_human_tasks(workflow_id=run_id)
    assert (task.question_id, task.title, task.asked_by) == (question.question_id, "EUR?", "ann")
    answered = client.answer_question(run_id, question.question_id, "USD", agent_id="lea", request_id="once")
    assert (answered.asked_by, answered.answered_by) == ("ann", "lea")
    assert client.answer_question(run_id, question.question_id, "USD", agent_id="lea", request_id="once").repeated
    with pytest.raises(Refused) as late:
        client.answer_question(run_id, question.question_id, "EUR", agent_id="lea")
    assert late.value.code == "already_answered"


def test_a_result_is_corrected_until_it_is_used(client: Client, served: Client, run_id: str) -> None:
    token = held(client, served, run_id)
    written = {"workflow_id": run_id, "state": "A", "lease_token": token}
    served._tools.call("update_workflow_control_plane", **written, new_status="succeeded", output_json=1)
    assert client.correct_result(run_id, "A", 2, lease_token=token, reason="a typo").next_states == ("B",)
    lease = served._tools.call("acquire_state_lease", workflow_id=run_id, state="B", owner_agent_id="ben")
    assert lease["work"]["input"] == 2
    with pytest.raises(Refused) as late:
        client.correct_result(run_id, "A", 3, lease_token=token)
    assert late.value.code == "result_used"
