"""Choice rules: types that do not fit, instants, wildcards, and how rules combine."""

from typing import Any

import pytest

from dcf.asl.expressions.operators import OPERATORS
from dcf.asl.expressions.timestamps import instant
from dcf.asl.expressions.wildcards import parse_pattern
from dcf.asl.machine import Choice
from dcf.asl.surroundings import Surroundings
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import StateError
from dcf.workflows.simulation import simulate
from tests.support.tables import rows


def _matches(rule: dict[str, Any], document: Any, context: dict[str, Any] | None = None) -> bool:
    states = {"C": {"Type": "Choice", "Choices": [{**rule, "Next": "S"}]}, "S": {"Type": "Succeed"}}
    machine, problems = parse_machine({"StartAt": "C", "States": states})
    assert machine is not None, problems
    state = machine.states["C"]
    assert isinstance(state, Choice)
    return state.branches[0].rule.matches(document, Surroundings(context=context or {}))


def _tests(operator: str, value: Any, operand: Any) -> bool:
    return _matches({"Variable": "$", operator: operand}, value)


def test_there_are_39_operators() -> None:
    assert len({*OPERATORS, "IsPresent"}) == 39


@rows(
    ("operator", "value", "operand"),
    [
        ("NumericEquals", 0, 0.0),
        ("NumericLessThan", -1, 0),
        ("NumericLessThanEquals", 1, 1),
        ("NumericGreaterThan", 2**60 + 1, 2**60),
        ("NumericGreaterThanEquals", 1.5, 1),
        ("StringEquals", "a", "a"),
        ("StringLessThan", "A", "AB"),
        ("StringLessThan", "", "x"),
        ("StringLessThan", "\U00010000", "\uffff"),
        ("StringLessThanEquals", "a", "a"),
        ("StringGreaterThan", "a", "Z"),
        ("StringGreaterThanEquals", "b", "a"),
        ("BooleanEquals", False, False),
        ("TimestampEquals", "2020-01-01T00:00:00Z", "2020-01-01T02:00:00.000+02:00"),
        ("TimestampLessThan", "2020-01-01T00:00:00.000000001Z", "2020-01-01T00:00:00.00000001Z"),
        ("TimestampGreaterThan", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:01"),
        ("IsNull", 0, False),
        ("IsNumeric", True, False),
        ("IsBoolean", None, False),
        ("IsString", "", True),
        ("IsTimestamp", "2020-01-01T00:00:00Z", True),
        ("IsTimestamp", "2020-13-01T00:00:00Z", False),
        ("StringMatches", "log-7.txt", "log-*.txt"),
    ],
)
def test_an_operator_holds(operator: str, value: Any, operand: Any) -> None:
    assert _tests(operator, value, operand)


@rows(
    ("operator", "value", "operand"),
    [
        ("NumericEquals", True, 1),
        ("NumericEquals", "1", 1),
        ("NumericLessThan", None, 1),
        ("BooleanEquals", 1, True),
        ("BooleanEquals", 0, False),
        ("StringEquals", "a", "A"),
        ("StringEquals", "é", "e\u0301"),
        ("StringLessThan", 1, "2"),
        ("TimestampEquals", "2012-10-09T19:00:55", "2012-10-09T19:00:55Z"),
        ("IsNull", None, False),
        ("StringMatches", 5, "*"),
    ],
)
def test_a_value_that_does_not_fit_makes_a_test_false(operator: str, value: Any, operand: Any) -> None:
    assert not _tests(operator, value, operand)


def test_an_operand_may_be_read_by_a_path_and_may_have_the_wrong_type() -> None:
    rule = {"Variable": "$.a", "NumericEqualsPath": "$.b"}
    assert _matches(rule, {"a": 1, "b": 1.0})
    assert not _matches(rule, {"a": 1, "b": True})
    assert _matches({"Variable": "$.a", "StringEqualsPath": "$$.Name"}, {"a": "x"}, {"Name": "x"})


@rows("rule", [{"Variable": "$.a", "IsNull": False}, {"Variable": "$", "StringEqualsPath": "$.a"}])
def test_a_missing_value_is_a_runtime_error(rule: dict[str, Any]) -> None:
    with pytest.raises(StateError) as failure:
        _matches(rule, {})
    assert failure.value.error == "States.Runtime"


def test_presence_may_be_asked_of_what_is_missing() -> None:
    assert not _matches({"Variable": "$.a.b", "IsPresent": True}, {})
    assert _matches({"Variable": "$.a.b", "IsPresent": False}, {"a": "text"})
    assert _matches({"Variable": "$.a", "IsPresent": True}, {"a": None})


def test_and_and_or_stop_as_soon_as_they_know() -> None:
    present = {"Variable": "$.a", "IsPresent": True}
    absent = {"Variable": "$.a", "IsPresent": False}
    fails = {"Variable": "$.a", "NumericEquals": 1}
    assert not _matches({"And": [present, fails]}, {})
    assert _matches({"Or": [absent, fails]}, {})
    assert _matches({"And": [present, fails]}, {"a": 1})
    assert not _matches({"Or": [absent, fails]}, {"a": 2})
    assert _matches({"Not": {"Not": present}}, {"a": 2})


@rows(
    "text",
    [
        "2023-02-24",
        "2023-02-24 12:15:56Z",
        "2023-02-24T12:15:56",
        "2023-02-24t12:15:56Z",
        "2023-02-24T12:15:56z",
        "2023-02-24T12:15Z",
        "2023-02-30T12:15:56Z",
        "2023-02-24T12:15:56.Z",
        "2023-02-24T12:15:56+0100",
        "",
        "2023-02-24T12:15:56Z\n",
        "٢٠٢٣-02-24T12:15:56Z",
        "2023-02-24T25:15:56Z",
        "0000-01-01T00:00:00Z",
    ],
)
def test_only_one_spelling_of_time_is_a_timestamp(text: str) -> None:
    assert instant(text) is None


def test_instants_at_the_ends_of_time_can_be_compared() -> None:
    first, last = instant("0001-01-01T00:00:00+14:00"), instant("9999-12-31T23:59:59-14:00")
    assert first is not None
    assert last is not None
    assert first < last


@rows(
    ("pattern", "value", "expected"),
    [
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*a*b*", "xaxbx", True),
        ("*a*b*", "xbxax", False),
        ("*ab*b", "ab", False),
        ("*aa*aa*", "aaa", False),
        ("a.c", "abc", False),
        ("a\\*c", "a*c", True),
        ("a\\*c", "abc", False),
        ("a\\\\c", "a\\c", True),
        ("a\\\\*", "a\\bc", True),
        ("*\n*", "a\nb", True),
        ("[a]?", "[a]?", True),
    ],
)
def test_a_star_stands_for_any_run_of_characters(pattern: str, value: str, *, expected: bool) -> None:
    assert parse_pattern(pattern).matches(value) is expected


def test_a_pattern_that_ends_inside_an_escape_fails_when_it_is_used() -> None:
    with pytest.raises(StateError) as failure:
        _tests("StringMatches", "a", "a\\")
    assert failure.value.error == "States.Runtime"


def test_a_hostile_pattern_is_matched_in_linear_time() -> None:
    assert not parse_pattern("*a" * 2_000 + "*b").matches("a" * 100_000)


@rows(
    ("rule", "output"),
    [
        ({"Condition": True}, {"a": 1}),
        ({"Condition": True, "Output": "own"}, "own"),
        ({"Condition": True, "Output": None}, None),
        ({"Condition": False}, "state"),
        ({"Condition": False, "Output": "own"}, "state"),
    ],
)
def test_the_output_of_the_state_is_for_default_alone(rule: dict[str, Any], output: Any) -> None:
    choice = {"Type": "Choice", "Choices": [{**rule, "Next": "E"}], "Default": "E", "Output": "state"}
    states = {"C": choice, "E": {"Type": "Succeed"}}
    machine = {"QueryLanguage": "JSONata", "StartAt": "C", "States": states}
    assert simulate(machine, {"a": 1})["output"] == output
