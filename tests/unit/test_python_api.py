"""`dcf.validate` and `dcf.simulate`: whatever a program hands over, they answer with values or with errors of dcf."""

from typing import Any

import pytest

import dcf
from dcf.errors import InvalidArgument, InvalidDefinition
from tests.support.tables import rows

TASK = {"StartAt": "T", "States": {"T": {"Type": "Task", "End": True}}}


def _deep(levels: int) -> Any:
    deep: Any = 1
    for _ in range(levels):
        deep = {"a": [deep]}
    return deep


def _itself() -> Any:
    itself: dict[str, Any] = {}
    itself["States"] = itself
    return itself


NO_JSON = {
    "deep": _deep(5_000),
    "holds itself": _itself(),
    "a long integer": {"n": 2**64},
    "no number": [float("nan")],
    "half a character": {"a": "\ud800"},
    "a key that is a number": {1: 2},
    "an object of the program": [object()],
    "larger than any document": ["x" * 2_000_000],
}


@rows("value", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_or_too_much_of_it_is_refused_in_words(value: Any) -> None:
    assert not dcf.validate(value)["ok"]
    with pytest.raises(InvalidArgument, match="definition"):
        dcf.simulate(value, {})
    with pytest.raises(InvalidArgument, match="run_input"):
        dcf.simulate(TASK, value)
    with pytest.raises(InvalidArgument, match="context"):
        dcf.simulate(TASK, {}, context={"Execution": [value] * 99})


@rows(
    "mocks",
    [
        [],
        5,
        {"T": None},
        {"T": [5]},
        {"T": {}},
        {"T": {"error": 5}},
        {"T": {"error": "X", "cause": 5}},
        {"T": {"output": 2**64}},
    ],
)
def test_answers_that_are_none_are_refused_in_words(mocks: Any) -> None:
    with pytest.raises(InvalidArgument):
        dcf.simulate(TASK, {}, mocks)


def test_a_context_that_is_no_object_is_refused_in_words() -> None:
    context: Any = [1]
    with pytest.raises(InvalidArgument, match="context"):
        dcf.simulate(TASK, {}, context=context)


@rows("definition", [None, 5, [], "{", "[]", {"asl": None}, {}])
def test_what_is_no_definition_is_refused_in_words(definition: Any) -> None:
    assert not dcf.validate(definition)["ok"]
    with pytest.raises((InvalidArgument, InvalidDefinition)):
        dcf.simulate(definition, {})


def test_a_definition_may_be_json_text() -> None:
    assert dcf.simulate('{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}', "text")["output"] == "text"


def test_time_that_no_date_can_tell_is_refused_in_words() -> None:
    retry = [{"ErrorEquals": ["X"], "IntervalSeconds": 99_999_999, "BackoffRate": 10, "MaxAttempts": 99_999_999}]
    machine = {"StartAt": "T", "States": {"T": {"Type": "Task", "Retry": retry, "End": True}}}
    with pytest.raises(InvalidArgument, match="year 9999"):
        dcf.simulate(machine, {}, {"T": [{"error": "X"}] * 500})


@rows("levels", [30, 31])
def test_thirty_parallel_states_in_each_other_run_and_one_more_is_refused(levels: int) -> None:
    machine: dict[str, Any] = TASK
    for level in range(levels):
        state = {"Type": "Parallel", "Branches": [machine], "End": True}
        machine = {"StartAt": f"P{level}", "States": {f"P{level}": state}}
    document = {"workflow_id": "w", "workflow_name": "deep", "asl": machine}
    if levels == 30:
        output = dcf.simulate(document, 1)["output"]
        assert repr(output) == "[" * 30 + "1" + "]" * 30
    else:
        assert dcf.validate(document)["problems"][0]["message"] == "The document is nested deeper than 127 levels."
        with pytest.raises(InvalidArgument, match="127 levels"):
            dcf.simulate(document, 1)
