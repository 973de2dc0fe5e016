"""The description of a human task: what it says, and what is wrong with it."""

from typing import Any

import pytest

from dcf.asl.answer_schema import flaw_of_schema, misfit
from dcf.asl.human import INVALID, Askees, TaskChoice, flaws_of, read_human_task
from dcf.asl.query_templates import Compiler
from dcf.asl.templates import compile_template
from dcf.errors import StateError
from dcf.values.json_text import Json

LEAST = {"to": "alice", "title": "Approve it"}


def refused(**fields: Json) -> str:
    with pytest.raises(StateError) as failure:
        read_human_task({**LEAST, **fields})
    assert failure.value.error == INVALID
    return str(failure.value.cause)


def test_a_person_and_a_title_are_enough() -> None:
    task = read_human_task(LEAST)
    assert (task.to, task.title) == (Askees(people=("alice",)), "Approve it")
    assert [choice.name for choice in task.choices] == ["approve", "reject"]
    assert not task.reject_fails


def test_several_persons_and_groups_may_be_asked() -> None:
    task = read_human_task({**LEAST, "to": ["alice", {"group": "finance"}, "bob", "alice"]})
    assert task.to == Askees(people=("alice", "bob"), groups=("finance",))
    assert task.to.names == ("alice", "bob", "finance")


def test_a_choice_may_demand_a_comment() -> None:
    task = read_human_task({**LEAST, "choices": ["ship", {"name": "return", "comment": "required"}]})
    assert task.choices == (TaskChoice(name="ship"), TaskChoice(name="return", needs_comment=True))


def test_everything_is_read() -> None:
    task = read_human_task(
        {
            **LEAST,
            "instructions": "Look at the total.",
            "schema": {"type": "object"},
            "details": {"total": 7},
            "not_by": ["pricing-1", {"producers": True}],
            "escalate": {"after_s": 60, "to": {"group": "managers"}},
            "default": "reject",
            "on_reject": "fail",
        }
    )
    assert (task.not_by, task.not_by_producers) == (("pricing-1",), True)
    assert task.escalation is not None
    assert (task.escalation.after_s, task.escalation.to.groups) == (60, ("managers",))
    assert (task.default, task.reject_fails, task.details) == ("reject", True, {"total": 7})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"to": []}, "to must be the id of a person"),
        ({"to": {"group": 7}}, "to must be the id of a person"),
        ({"to": "not an id"}, "a person in to is not a valid id"),
        ({"title": " "}, "title must be a text that is not empty"),
        ({"title": "a\u202eb"}, "a character that nobody sees"),
        ({"choices": []}, "choices must be an array"),
        ({"choices": ["yes", "yes"]}, "choices has a name twice"),
        ({"choices": [{"name": "no", "comment": True}]}, 'the comment of a choice is "required" or "optional"'),
        ({"schema": 7}, "schema must be an object"),
        ({"schema": {"type": "numbr"}}, "schema is no JSON Schema"),
        ({"not_by": {"producers": False}}, "not_by must be the id"),
        ({"escalate": {"after_s": 0, "to": "bob"}}, "escalate.after_s must be a whole number"),
        ({"escalate": {"to": "bob"}}, "escalate must be"),
        ({"default": "maybe"}, "default is 'maybe', which is none of the choices approve, reject"),
        ({"choices": ["yes"], "on_reject": "fail"}, "none of the choices is 'reject'"),
        ({"on_reject": "ignore"}, 'on_reject is "output" or "fail"'),
        ({"not_by": "alice"}, "nobody may answer"),
        ({"prioritty": 1}, "has no field 'prioritty'"),
    ],
)
def test_what_is_wrong_is_told_in_words(fields: dict[str, Json], told: str) -> None:
    assert told.lower() in refused(**fields).lower()


def test_all_flaws_are_told_at_once() -> None:
    told = refused(to=[], title="")
    assert "To must be" in told
    assert "Title must be" in told


@pytest.mark.parametrize("document", [None, "alice", ["alice"], 7])
def test_a_description_is_an_object(document: Json) -> None:
    with pytest.raises(StateError):
        read_human_task(document)


# Before anything runs


def flaws(parameters: Json) -> list[str]:
    return [field for field, _ in flaws_of(compile_template(parameters, []))]


def test_what_is_written_out_is_checked_and_what_is_read_later_is_not() -> None:
    assert flaws({"to.$": "$.approver", "title": "Approve it", "choices": []}) == ["choices"]
    assert flaws({"to.$": "$.approver", "title.$": "$.title"}) == []
    assert flaws({"to": ["alice", {"group.$": "$.group"}], "titel": "Approve it"}) == ["title", "titel"]
    assert flaws_of(None) == []


def test_expressions_are_not_judged() -> None:
    arguments = Compiler().compile(
        {"to": "{% $states.input.who %}", "title": "Approve it", "default": "no"}, "Arguments"
    )
    assert [field for field, _ in flaws_of(arguments)] == ["default"]


# Answers


def test_an_answer_is_checked_with_the_schema() -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    assert misfit(schema, {"amount": 7}) is None
    assert "'amount' is a required property" in str(misfit(schema, {}))
    assert "(at amount)" in str(misfit(schema, {"amount": "7"}))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(a+)+$"},
        {"properties": {"a": {"patternProperties": {"(a+)+$": True}}}},
        {"$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}]}}},
        {"$ref": "http://127.0.0.1:1/schema.json"},
        {"anyOf": [{"unevaluatedProperties": False}]},
    ],
)
def test_a_schema_that_may_take_for_ever_is_refused(schema: dict[str, Any]) -> None:
    assert "not supported" in str(flaw_of_schema(schema))


def test_a_property_or_a_value_may_be_called_as_such_a_keyword_is() -> None:
    assert flaw_of_schema({"properties": {"pattern": {"enum": [{"$ref": "x"}]}}, "required": ["pattern"]}) is None


def test_an_answer_has_limits() -> None:
    assert "elements" in str(misfit({"uniqueItems": True}, [[index, "x"] for index in range(1001)]))
    assert "bytes" in str(misfit({}, "x" * 70_000))
    assert "bytes" in str(flaw_of_schema({"description": "x" * 20_000}))
