"""The host reads an answer, and writes the prompt for a model whose answer is rejected."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dcf.hosting.answers import judged
from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentProfile, AgentWork, ModelAnswer, TaskFailed
from tests.support.tables import rows

TOTAL = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


@rows(
    "text, output",
    [
        ('{"total": 3}', {"total": 3}),
        ('```json\n{"total": 3}\n```', {"total": 3}),
        ("```\n[1]\n```\n", [1]),
        ('"a text"', "a text"),
        ("It is done.", "It is done."),
    ],
)
def test_the_output_is_the_json_of_an_answer_or_its_text(text: str, output: Any) -> None:
    result = judged(ModelAnswer(text), None)
    assert (result.output, result.problems) == (output, ())


@rows("text", ["", "  ", '{"total": ', "[NaN]"])
def test_an_answer_that_is_empty_or_broken_json_is_not_accepted(text: str) -> None:
    assert len(judged(ModelAnswer(text), None).problems) == 1


def test_an_answer_in_words_is_not_accepted_where_a_schema_is_to_be_satisfied() -> None:
    (problem,) = judged(ModelAnswer("The total is 3."), TOTAL).problems
    assert problem.startswith("The answer is not one JSON value")


def test_every_place_where_an_output_does_not_satisfy_the_schema_is_named() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
    first, second = judged({"a": "x", "b": 1}, schema).problems
    assert "a" in first
    assert "b" in second


def test_a_model_fails_a_task_by_name() -> None:
    text = json.dumps({"task_failed": {"error": "OutOfStock", "cause": "none left"}})
    with pytest.raises(TaskFailed) as failed:
        judged(ModelAnswer(text), TOTAL)
    assert (failed.value.error, failed.value.cause) == ("OutOfStock", "none left")


def test_what_a_function_returns_is_never_read_as_a_failure_or_as_json() -> None:
    output = {"task_failed": {"error": "E", "cause": "c"}}
    assert judged(output, None).output == output
    assert judged("[1]", None).output == "[1]"


WORK = AgentWork(
    workflow_id="run",
    state="Price",
    input={"n": 1},
    agent=AgentProfile(name="me", instructions="You price."),
    instructions="Price it.",
    output_schema=TOTAL,
    errors=("Rude",),
    skills=("Round half up.",),
    last_error={"error": "Before"},
    questions=({"question_id": "q1", "question": "EUR?", "answer": "yes, EUR", "provenance": {}},),
)


def test_a_model_is_told_who_it_is_what_to_do_and_what_it_must_return() -> None:
    system, prompt = system_prompt(WORK), user_prompt(WORK)
    assert all(text in system for text in ("You price.", "Price it.", "Round half up.", "task_failed"))
    assert all(text in prompt for text in ("Price", '{"n": 1}', '"total"', "Rude", "Before", "EUR?", "yes, EUR"))
    assert "provenance" not in prompt


def test_a_model_without_a_session_gets_the_whole_prompt_and_the_problems_again() -> None:
    again = replace(WORK, problems=("/total: it is missing",))
    assert user_prompt(again).startswith(user_prompt(WORK))
    assert "/total: it is missing" in user_prompt(again)
    resumed = user_prompt(replace(again, session="s-1"))
    assert "/total: it is missing" in resumed
    assert '{"n": 1}' not in resumed
