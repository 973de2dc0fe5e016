"""The merges `search`, `answer` and `add_note`, and a model that reads them wrong: a refusal is enough for it."""

import secrets
from typing import Any

import pytest

from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS, Answer, Tools, new_run
from tests.verbs.merged.scripted_model import ScriptedModel

pytestmark = pytest.mark.anyio

APPROVAL: dict[str, Any] = {
    "asl": {
        "StartAt": "Ask",
        "States": {
            "Ask": {
                "Type": "Task",
                "Resource": "dcf:human",
                "Parameters": {"to": ["alice"], "title": "Approve"},
                "End": True,
            }
        },
    }
}


async def _finding(tools: Tools) -> str:
    word = f"w{secrets.token_hex(4)}"
    answer = await tools.ok(
        "put_finding",
        severity="high",
        category="speed",
        title=f"Slow {word}",
        text=f"{word} is slow",
        tags_json=["api"],
    )
    return str(answer["finding"]["finding_id"])


async def _definition(tools: Tools) -> str:
    name = f"rule-{secrets.token_hex(4)}"
    await tools.ok("put_definition", kind="rule", name=name, content="# Read it twice.")
    return name


async def _run_that_asks(tools: Tools) -> str:
    """A run in which a worker asked its planner; the question is q1."""
    run = f"run-{secrets.token_hex(4)}"
    await new_run(tools, run, TWO_TASKS, agents_map_json={"A": "ann", "B": "ben"}, planner_agent_id="pat")
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    answer = await tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    holder = {"workflow_id": run, "state": "A", "lease_token": answer["work"]["lease_token"]}
    await tools.ok("ask_question", **holder, question="EUR or USD?", choices_json=["EUR", "USD"])
    return run


async def _run_that_waits_for_a_person(tools: Tools) -> str:
    return await new_run(tools, f"run-{secrets.token_hex(4)}", APPROVAL, agents_map_json={})


@rows(
    ("sent", "means"),
    [
        ({"in": "definitions"}, {"id"}),  # a finding's id for that of a definition
        ({"in": "definitions", "kind": "rule"}, {"id"}),
        ({}, {"id"}),
        ({"in": "finding"}, {"id"}),  # a word that is almost right
        ({"in": "findings", "kind": "rule"}, {"id"}),  # an argument of definitions
        ({"in": "findings", "query": "slow", "severity": "high"}, {"id"}),  # a search together with an id
        ({"finding": True, "in": "findings"}, {"id"}),
    ],
)
async def test_who_wants_one_finding_gets_it(operator: Tools, sent: dict[str, Any], means: set[str]) -> None:
    finding = await _finding(operator)
    model = ScriptedModel(tools=operator, facts={"in": "findings", "id": finding}, means=frozenset(means))
    answer = await model.do("search", id=finding, **sent)
    assert answer["finding"]["finding_id"] == finding
    assert len(model.calls) <= 3


@rows("sent", [{}, {"in": "definitions"}, {"in": "findings"}, {"in": "definition"}, {"in": "findings", "kind": "rule"}])
async def test_who_wants_one_definition_gets_it(operator: Tools, sent: dict[str, Any]) -> None:
    name = await _definition(operator)
    facts = {"in": "definitions", "id": name, "kind": "rule"}
    model = ScriptedModel(tools=operator, facts=facts, means=frozenset({"id", "kind"}))
    answer = await model.do("search", id=name, **sent)
    assert answer["definition"]["name"] == name
    assert len(model.calls) <= 4


@rows(
    ("sent", "where", "member"),
    [
        ({"severity": "high"}, "findings", "findings"),  # without saying where
        ({"severity": "high", "in": "definitions"}, "findings", "findings"),
        ({"kind": "rule"}, "definitions", "definitions"),
        ({"kind": "rule", "in": "findings"}, "definitions", "definitions"),
        ({"status": "any", "in": "journals"}, "findings", "findings"),
        ({"tags_json": ["api"], "in": "outputs"}, "findings", "findings"),
    ],
)
async def test_a_filter_leads_to_what_it_is_for(operator: Tools, sent: dict[str, Any], where: str, member: str) -> None:
    facts = {"in": where, "query": "slow"}
    model = ScriptedModel(tools=operator, facts=facts, means=frozenset(sent) - {"in"})
    answer = await model.do("search", query="slow", **sent)
    assert member in answer.payload
    assert len(model.calls) == 2


async def test_a_search_without_words_is_told_what_is_missing_and_where_it_is_not(operator: Tools) -> None:
    model = ScriptedModel(tools=operator, facts={"query": "slow"})
    assert "results" in (await model.do("search", **{"in": "journals"})).payload
    assert len(model.calls) == 2


@rows(
    "sent",
    [
        {"question_id": "q1", "state": "A", "answer": "EUR"},  # the state of the question is that of a task
        {"question_id": "q1", "state": "A", "choice": "EUR"},  # and so is a choice
        {"question_id": "q1", "answer_json": "EUR"},
        {"question_id": "q1", "answer": "EUR", "epoch": 10**15},
        {"answer": "EUR"},
        {"state": "A", "answer": "EUR"},
        {"state": "A", "choice": "EUR"},  # all of a task, and nothing of the question
    ],
)
async def test_a_planner_answers_a_question_whatever_it_takes_it_for(operator: Tools, sent: dict[str, Any]) -> None:
    run = await _run_that_asks(operator)
    facts = {"question_id": "q1", "answer": "EUR", "state": "A", "choice": "EUR"}
    model = ScriptedModel(tools=operator, facts=facts, means=frozenset({"answer", "workflow_id", "agent_id"}))
    answer = await model.do("answer", workflow_id=run, agent_id="pat", **sent)
    assert answer["answered_by"] == "pat"
    assert len(model.calls) <= 4


@rows(
    "sent",
    [
        {"state": "Ask", "answer": "approve"},  # an answer of a question
        {"state": "Ask", "answer": "approve", "choice": "approve"},
        {"question_id": "q1", "state": "Ask", "choice": "approve"},
        {"choice": "approve"},
    ],
)
async def test_a_person_answers_a_task_whatever_it_is_taken_for(operator: Tools, sent: dict[str, Any]) -> None:
    run = await _run_that_waits_for_a_person(operator)
    facts = {"state": "Ask", "choice": "approve"}
    model = ScriptedModel(tools=operator, facts=facts, means=frozenset({"choice", "state"}))
    answer = await model.do("answer", workflow_id=run, agent_id="alice", **sent)
    assert answer["choice"] == "approve"
    assert len(model.calls) <= 3


@rows(
    ("sent", "kind"),
    [
        ({}, "to_planner"),
        ({}, "issue"),
        ({"details_json": {"type": "bug"}}, "issue"),
        ({"kind": "to_planner", "blocks": True}, "issue"),
        ({"kind": "to_planner", "details_json": {"progress": 7}}, "milestone"),
        ({"kind": "planner"}, "to_planner"),
    ],
)
async def test_a_note_is_written_where_it_was_meant(operator: Tools, sent: dict[str, Any], kind: str) -> None:
    run = await _run_that_asks(operator)
    model = ScriptedModel(tools=operator, facts={"kind": kind}, means=frozenset(sent) - {"kind"})
    answer = await model.do("add_note", workflow_id=run, text="Odd prices.", agent_id="ann", **sent)
    assert _kind_of(answer) == kind
    assert len(model.calls) == 2


def _kind_of(answer: Answer) -> str:
    return str(answer.payload.get("kind", "to_planner"))
