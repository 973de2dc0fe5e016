"""Notes, questions, answers and corrections through tools: with keys of workers, a planner and persons."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import TWO_TASKS, Answer, Tools, new_run

pytestmark = pytest.mark.anyio

WORKER = key_of(Scope.READ, Scope.WORK, agent_id="ann")
PLANNER = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="pat", name="key:planner")
STRANGER = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="eve", name="key:stranger")


def person(*groups: str, name: str = "alice") -> Any:
    caller = key_of(Scope.READ, Scope.ANSWER, agent_id=name, name=f"key:{name}")
    return caller.__class__(name=caller.name, scopes=caller.scopes, agent_id=name, groups=frozenset(groups))


async def started(operator: Tools) -> dict[str, Any]:
    run = f"run-{secrets.token_hex(4)}"
    await new_run(operator, run, TWO_TASKS, agents_map_json={"A": "ann", "B": "ben"}, planner_agent_id="pat")
    await operator.ok("notify_next_worker_agent", workflow_id=run)
    answer = await operator.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    return {"workflow_id": run, "state": "A", "lease_token": answer["work"]["lease_token"]}


async def told(application: Application, operator: Tools, agent: str, run: str, type_: str) -> dict[str, Any]:
    """The next event of this run and type; others are acknowledged."""
    last: dict[str, Any] = {}
    while True:
        answer = await operator.ok("await_workflow_event", agent_id=agent, timeout_s=50, lease=False, **last)
        assert answer["status"] == "event", f"{agent} was not told of a {type_}"
        last = {"ack_message_id": answer["message_id"]}
        if answer["event"]["workflow_id"] == run and answer["event"]["type"] == type_:
            return answer.payload


async def ok(application: Application, caller: Any, tool: str, /, **arguments: Any) -> dict[str, Any]:
    answer: Answer = await ask(application, caller, tool, **arguments)
    assert answer.code == "ok", answer.text
    return answer.payload


async def code(application: Application, caller: Any, tool: str, /, **arguments: Any) -> str:
    return (await ask(application, caller, tool, **arguments)).code


async def test_a_workers_note_reaches_the_planner(application: Application, operator: Tools) -> None:
    run = (await started(operator))["workflow_id"]
    note = {"workflow_id": run, "agent_id": "ann", "text": "No address.", "state": "A", "request_id": "n1"}
    left = await ok(application, WORKER, "leave_note", **note)
    assert (left["planner_agent_id"], left["note"], left["repeated"]) == ("pat", 1, False)
    assert (await ok(application, WORKER, "leave_note", **note))["repeated"] is True
    event = (await told(application, operator, "pat", run, "note"))["event"]
    assert (event["text"], event["provenance"]["from"]) == ("No address.", "ann")
    assert await code(application, STRANGER, "leave_note", workflow_id=run, agent_id="eve", text="x") == "no_part"
    assert await code(application, WORKER, "leave_note", workflow_id=run, agent_id="ben", text="x") == "forbidden"


async def test_a_worker_asks_the_planner_and_finds_the_answer_in_its_work(
    application: Application, operator: Tools
) -> None:
    holding = await started(operator)
    run = holding["workflow_id"]
    answer = await ok(application, WORKER, "ask_question", **holding, question="EUR?", choices_json=["EUR", "USD"])
    assert (answer["asked"], answer["gave_back"], answer["next"][0]["tool"]) == (
        "the planner",
        True,
        "await_workflow_event",
    )
    heard = await told(application, operator, "pat", run, "question")
    step, _ = heard["next"]
    reply = {**step["arguments"], "answer": "EUR"}
    assert await code(application, STRANGER, step["tool"], **{**reply, "agent_id": "eve"}) == "not_asked"
    assert await code(application, WORKER, step["tool"], **{**reply, "agent_id": "ann"}) == "forbidden"
    assert await code(application, PLANNER, step["tool"], **{**reply, "answer": "yen"}) == "invalid_answer"
    done = await ok(application, PLANNER, step["tool"], **reply)
    assert (done["asked_by"], done["answered_by"], done["answer"]) == ("ann", "pat", "EUR")
    assert [step["tool"] for step in done["next"]] == ["await_workflow_event"]
    heard = await told(application, operator, "ann", run, "question_answered")
    step, _ = heard["next"]
    assert (heard["event"]["answer"], step["tool"]) == ("EUR", "acquire_state_lease")
    mine = await ok(application, WORKER, "get_my_assignment", agent_id="ann", workflow_id=run)
    assert mine["states"][0]["questions"][0]["answer"] == "EUR"
    work = (await ok(application, WORKER, step["tool"], **step["arguments"]))["work"]
    (question,) = work["questions"]
    assert (question["question"], question["answer"], question["answered_by"]) == ("EUR?", "EUR", "pat")
    assert question["provenance"]["trust"] == "untrusted data"


async def test_people_find_the_question_on_their_list_and_answer_it(application: Application, operator: Tools) -> None:
    holding = await started(operator)
    to = '["alice", {"group": "finance"}]'
    answer = await ok(application, WORKER, "ask_question", **holding, question="Approved?", ask=to, give_back=False)
    mine = await ok(application, person("finance", name="bob"), "list_human_tasks", person="bob")
    (row,) = [task for task in mine["tasks"] if task["workflow_id"] == holding["workflow_id"]]
    assert (row["question_id"], row["title"], row["asked_by"]) == (answer["question_id"], "Approved?", "ann")
    reply = {"workflow_id": holding["workflow_id"], "question_id": row["question_id"], "answer": "yes"}
    assert await code(application, PLANNER, "answer_question", **reply) == "not_asked"
    assert await code(application, person(name="carl"), "answer_question", **reply) == "not_asked"
    assert await code(application, person(name="carl"), "answer_question", **reply, group="finance") == "forbidden"
    wrong = {"workflow_id": holding["workflow_id"], "state": "A", "choice": "yes"}
    refused = await ask(application, person("finance", name="bob"), "answer_human_task", **wrong)
    assert (refused.code, f"question_id={row['question_id']}" in refused.hint) == ("not_waiting", True)
    assert "answer_question" in refused.hint
    done = await ok(application, person("finance", name="bob"), "answer_question", **reply)
    assert done["answered_by"] == "bob"
    event = (await told(application, operator, "ann", holding["workflow_id"], "question_answered"))["event"]
    assert event["answer"] == "yes"
    await operator.ok("renew_state_lease", **holding)


@rows(
    "odd",
    [
        {"choices_json": "{}"},
        {"choices_json": [1]},
        {"choices_json": ["x" * 300]},
        {"ask": {"team": "x"}},
        {"ask": []},
        {"ask": "[1]"},
        {"ask": "a b"},
        {"timeout_s": 0},
        {"question": " "},
    ],
    ids=str,
)
async def test_an_odd_question_is_refused_in_words(
    application: Application, operator: Tools, odd: dict[str, Any]
) -> None:
    holding = await started(operator)
    assert await code(application, WORKER, "ask_question", **{**holding, "question": "?", **odd}) == "invalid_argument"


async def test_a_worker_corrects_its_result_and_the_planner_any_until_it_is_used(
    application: Application, operator: Tools
) -> None:
    holding = await started(operator)
    run = holding["workflow_id"]
    place = {"workflow_id": run, "state": "A"}
    await operator.ok(
        "update_workflow_control_plane", **holding, new_status="succeeded", output_json={"total": 1}, claim_next=False
    )
    done = await ok(application, WORKER, "correct_result", **holding, output_json={"total": 2}, reason="a typo")
    assert (done["next_states"], done["repeated"]) == (["B"], False)
    assert await code(application, WORKER, "correct_result", **place, output_json=3) == "forbidden"
    assert await code(application, STRANGER, "correct_result", **place, output_json=3) == "forbidden"
    await ok(application, PLANNER, "correct_result", **place, output_json='{"total": 3}')
    follower = await operator.ok("acquire_state_lease", workflow_id=run, state="B", owner_agent_id="ben")
    assert follower["work"]["input"] == {"total": 3}
    late = await ask(application, WORKER, "correct_result", **holding, output_json={"total": 4})
    assert (late.code, "'ben' works on 'B'" in late.error) == ("result_used", True)
    (step,) = late["next"]
    note = {**step["arguments"], "agent_id": "ann", "text": "It is 4."}
    assert (await ok(application, WORKER, step["tool"], **note))["planner_agent_id"] == "pat"
