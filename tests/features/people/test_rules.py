"""The description of a human task: what it says, and what is wrong with it."""

import pytest

from dcf.asl.expressions.query_templates import Compiler
from dcf.asl.expressions.templates import compile_template
from dcf.asl.tasks.askees import Askees
from dcf.errors import StateError
from dcf.features.people.description import INVALID, TaskChoice, flaws_of, read_human_task
from dcf.values.json_text import Json
from tests.support.tables import rows

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


@rows(
    ("fields", "told"),
    [
        ({"to": []}, "to must be the id of a person"),
        ({"to": {"group": 7}}, "to must be the id of a person"),
        ({"to": "not an id"}, "a person in to is not a valid id"),
        ({"title": " "}, "title must be a text that is not empty"),
        ({"title": "a\u202eb"}, "an invisible character"),
        ({"choices": []}, "choices must be an array"),
        ({"choices": ["yes", "yes"]}, "choices has a name twice"),
        ({"choices": [{"name": "no", "comment": True}]}, 'the comment of a choice is "required" or "optional"'),
        ({"schema": 7}, "a JSON Schema is an object"),
        ({"schema": {"type": "numbr"}}, "type must be one of object"),
        ({"not_by": {"producers": False}}, "not_by must be the id"),
        ({"escalate": {"after_s": 0, "to": "bob"}}, "escalate.after_s must be a whole number"),
        ({"escalate": {"to": "bob"}}, "escalate must be"),
        ({"default": "maybe"}, "default is 'maybe', which is none of the choices approve, reject"),
        ({"choices": ["yes"], "on_reject": "fail"}, "none of the choices is 'reject'"),
        ({"on_reject": "ignore"}, 'on_reject is "output" or "fail"'),
        ({"not_by": "alice"}, "no one may answer"),
        ({"prioritty": 1}, "has no field 'prioritty'"),
    ],
)
def test_what_is_wrong_is_told_in_words(fields: dict[str, Json], told: str) -> None:
    assert told.lower() in refused(**fields).lower()


def test_all_flaws_are_told_at_once() -> None:
    refusal = refused(to=[], title="")
    assert "To must be" in refusal
    assert "Title must be" in refusal


@rows("document", [None, "alice", ["alice"], 7])
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
