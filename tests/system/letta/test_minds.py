"""The scripted minds: what Letta loses on the way to a tool they ask for again. Needs no Letta."""

import json
from typing import Any

from tests.support.tables import rows
from tests.system.letta.minds import TRIES, worker
from tests.system.letta.model import Call, Reply, read_conversation
from tests.system.letta.records import Record, written

EVENT = {"type": "workflow_event", "workflow_id": "wf-1", "target_state": "ValidateOrder", "agent_id": "agent-1"}
LOST = '{"status": "Failed", "message": "", "time": "2026"}'
BROKEN = '{"status": "Failed", "message": "LettaMCPConnectionError: lost", "time": "2026"}'
ASKED = Call(
    tool="get_my_assignment", arguments={"agent_id": "agent-1", "workflow_id": "wf-1", "state": "ValidateOrder"}
)


def refused(**answer: Any) -> str:
    return json.dumps({"status": "Failed", "message": json.dumps(answer), "time": "2026"})


def told(*results: str) -> Reply | None:
    """The next step of a worker that got these results for its first call."""
    turns: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a worker of dcf."},
        {"role": "user", "content": json.dumps(EVENT)},
    ]
    for number, text in enumerate(results):
        function = {"name": ASKED.tool, "arguments": json.dumps(ASKED.arguments)}
        turns.append({"role": "assistant", "tool_calls": [{"id": f"c{number}", "function": function}]})
        turns.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return worker(read_conversation({"messages": turns}))


@rows("lost", [LOST, BROKEN, ""])
def test_a_call_that_never_reached_its_tool_is_made_again_up_to_three_times(lost: str) -> None:
    for times in range(1, TRIES + 1):
        assert told(*[lost] * times) == Reply(calls=(ASKED,))
    given_up = told(*[lost] * (TRIES + 1))
    assert given_up is not None
    assert given_up.calls == ()


def test_what_a_tool_refuses_is_not_asked_again() -> None:
    answer = told(LOST, refused(code="unknown_run", error="unknown_run: There is no run 'wf-1'."))
    assert answer is not None
    assert answer.text == "There is nothing for me to do."


def test_the_record_of_an_acceptance_run_names_what_it_ran_with() -> None:
    """It asked for a distribution that there is not, so that the acceptance could never succeed."""
    text = written(Record(runs=[("all is well", 21.4)]))
    assert "| all is well | succeeded | 21 |" in text
    assert "dcf-mcp " in text
    assert "letta 0.16.8" in text
