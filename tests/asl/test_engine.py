"""The interpreter: what a run does between two tasks, and how data moves through each state."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from dcf.asl import engine
from dcf.asl.machine import Machine
from dcf.asl.pausing import AT_ONCE, MAX_EVENTS
from dcf.asl.steps import Advance, Broke, Ended, Entered, Entry, Failed, OpenTask, Passed, Paused, Succeeded
from dcf.asl.surroundings import Clock
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import InvalidArgument
from dcf.values.json_text import MAX_BYTES
from tests.support.tables import rows

CONTEXT = {"Execution": {"Name": "run"}, "State": {"EnteredTime": "now"}}


def _machine(states: dict[str, Any], start_at: str = "A") -> Machine:
    machine, problems = parse_machine({"StartAt": start_at, "States": states})
    assert machine is not None, problems
    return machine


CLOCK = Clock(now="now", micros=0, seed="seed")


def start(machine: Machine, document: Any, context: dict[str, Any]) -> Advance:
    return engine.start(machine, document, context, CLOCK)


def _entry(raw: Any) -> Entry:
    return Entry(raw=raw, variables={}, entered_at="now")


def complete(machine: Machine, name: str, raw: Any, result: Any, context: dict[str, Any]) -> Advance:
    return engine.complete(machine, name, {name: _entry(raw)}, result, context, CLOCK)


def fail(machine: Machine, name: str, raw: Any, error: str, cause: str, context: dict[str, Any]) -> Advance:
    return engine.fail(machine, name, {name: _entry(raw)}, error, cause, context, CLOCK)


def _passes(advance: Advance) -> list[str]:
    return [step.path for step in advance.steps if isinstance(step, Passed)]


def _passed(state: dict[str, Any], document: Any) -> Any:
    """The outcome of a run of one Pass state."""
    return start(_machine({"A": {"Type": "Pass", "End": True, **state}}), document, CONTEXT).outcome


def _completed(task: dict[str, Any], raw: Any, result: Any) -> Any:
    return complete(_machine({"A": {"Type": "Task", "End": True, **task}}), "A", raw, result, CONTEXT).outcome


def _output(outcome: Any) -> Any:
    assert isinstance(outcome, Succeeded), outcome
    return outcome.output


def _error(outcome: Any) -> str | None:
    assert isinstance(outcome, Failed), outcome
    assert outcome.cause
    return outcome.error


def test_a_start_at_a_task_opens_it_and_no_more() -> None:
    machine = _machine({"A": {"Type": "Task", "End": True}})
    (task,) = start(machine, {"x": 1}, {}).steps
    assert isinstance(task, OpenTask)
    assert (task.path, task.source, task.entry, task.effective) == ("A", None, _entry({"x": 1}), {"x": 1})


def test_silent_states_run_until_the_next_task() -> None:
    states = {
        "A": {"Type": "Task", "Next": "B"},
        "B": {"Type": "Pass", "Result": 5, "ResultPath": "$.n", "Next": "C"},
        "C": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.n", "NumericEquals": 5, "Next": "D"}],
            "Default": "A",
        },
        "D": {"Type": "Task", "Parameters": {"n.$": "$.n", "me.$": "$$.State.Name"}, "End": True},
    }
    advance = complete(_machine(states), "A", {}, {"r": 1}, CONTEXT)
    *before, task = advance.steps
    assert before == [
        Ended(path="A", output={"r": 1}),
        Passed(path="B", source="A", input={"r": 1}, output={"r": 1, "n": 5}),
        Passed(path="C", source="B", input={"r": 1, "n": 5}, output={"r": 1, "n": 5}),
    ]
    assert isinstance(task, OpenTask)
    assert (task.path, task.source, task.entry.raw) == ("D", "C", {"r": 1, "n": 5})
    assert task.effective == {"n": 5, "me": "D"}
    assert advance.outcome == "open"


def test_a_succeed_state_is_passed_and_ends_the_run() -> None:
    machine = _machine({"A": {"Type": "Task", "Next": "S"}, "S": {"Type": "Succeed", "OutputPath": "$.x"}})
    advance = complete(machine, "A", {}, {"x": 1}, {})
    assert advance.steps[1:] == (Passed(path="S", source="A", input={"x": 1}, output=1),)
    assert advance.outcome == Succeeded(state="S", output=1)


def test_a_task_that_ends_the_run_ends_it_in_that_task() -> None:
    machine = _machine({"A": {"Type": "Task", "End": True}})
    expected = Advance(steps=(Ended(path="A", output=7),), outcome=Succeeded(state="A", output=7))
    assert complete(machine, "A", {}, 7, {}) == expected


def test_a_fail_state_is_entered_and_breaks() -> None:
    states = {"A": {"Type": "Pass", "Next": "F"}, "F": {"Type": "Fail", "Error": "Bad", "CausePath": "$.why"}}
    advance = start(_machine(states), {"why": "because"}, {})
    assert advance.steps[1:] == (
        Entered(path="F", source="A", entry=replace(_entry({"why": "because"}), silent=1)),
        Broke(path="F", error="Bad", cause="because"),
    )
    assert advance.outcome == Failed(state="F", error="Bad", cause="because")


def test_a_fail_state_may_say_nothing_but_not_something_else_than_text() -> None:
    assert start(_machine({"A": {"Type": "Fail"}}), {}, {}).outcome == Failed(state="A", error=None, cause=None)
    outcome = start(_machine({"A": {"Type": "Fail", "ErrorPath": "$.n"}}), {"n": 1}, {}).outcome
    assert _error(outcome) == "States.Runtime"


def test_a_failed_task_fails_the_run() -> None:
    machine = _machine({"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Succeed"}})
    advance = fail(machine, "A", {}, "Broken", "it broke", {})
    broke = Broke(path="A", error="Broken", cause="it broke")
    assert advance == Advance(steps=(broke,), outcome=Failed(state="A", error="Broken", cause="it broke"))


@rows("name", ["P", "none"])
def test_only_a_task_can_be_completed_or_fail(name: str) -> None:
    machine = _machine({"A": {"Type": "Task", "Next": "P"}, "P": {"Type": "Pass", "End": True}})
    with pytest.raises(InvalidArgument):
        complete(machine, name, {}, {}, {})
    with pytest.raises(InvalidArgument):
        fail(machine, name, {}, "e", "c", {})


def test_the_first_rule_that_matches_decides() -> None:
    rule = {"Variable": "$.n", "NumericGreaterThan": 0}
    states: dict[str, Any] = {name: {"Type": "Succeed"} for name in "XYZ"}
    states["A"] = {
        "Type": "Choice",
        "Choices": [{**rule, "Next": "X"}, {**rule, "Next": "Y"}],
        "Default": "Z",
    }
    assert start(_machine(states), {"n": 1}, {}).outcome == Succeeded(state="X", output={"n": 1})
    assert start(_machine(states), {"n": 0}, {}).outcome == Succeeded(state="Z", output={"n": 0})


def test_a_choice_looks_at_its_filtered_input_and_passes_on_its_filtered_output() -> None:
    rule = {"Variable": "$.n", "NumericEquals": 1, "Next": "X"}
    choice = {"Type": "Choice", "InputPath": "$.in", "OutputPath": "$.n", "Choices": [rule]}
    machine = _machine({"A": choice, "X": {"Type": "Succeed"}})
    assert start(machine, {"in": {"n": 1}}, {}).outcome == Succeeded(state="X", output=1)
    assert _error(start(machine, {"in": {"n": 2}}, {}).outcome) == "States.NoChoiceMatched"
    assert _error(start(machine, {"in": {}}, {}).outcome) == "States.Runtime"


def test_a_silent_loop_pauses_in_every_call_until_it_ends_as_a_failure() -> None:
    rule = {"Variable": "$.stop", "IsPresent": True, "Next": "S"}
    states = {
        "A": {"Type": "Choice", "Choices": [rule], "Default": "B"},
        "B": {"Type": "Pass", "Next": "A"},
        "S": {"Type": "Succeed"},
    }
    machine, passed = _machine(states), 0
    advance = start(machine, {}, {})
    while advance.outcome == "open":
        paused = advance.steps[-1]
        assert isinstance(paused, Paused)
        assert len(_passes(advance)) == AT_ONCE
        passed += AT_ONCE
        advance = engine.wake(machine, paused.path, {paused.path: paused.entry}, {}, CLOCK)
    assert 2 * (passed + len(_passes(advance))) == MAX_EVENTS
    assert _error(advance.outcome) == "States.Runtime"


def test_a_task_is_entered_in_the_call_that_reaches_it_however_much_that_did() -> None:
    states: dict[str, Any] = {f"P{at}": {"Type": "Pass", "Next": f"P{at + 1}"} for at in range(AT_ONCE)}
    states[f"P{AT_ONCE}"] = {"Type": "Task", "End": True}
    advance = start(_machine(states, "P0"), {}, {})
    assert len(_passes(advance)) == AT_ONCE
    assert isinstance(advance.steps[-1], OpenTask)


@rows(
    ("fields", "raw", "output"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"InputPath": "$.a"}, {"a": 1}, 1),
        ({"InputPath": None}, {"a": 1}, {}),
        ({"InputPath": "$$.Execution.Name"}, {"a": 1}, "run"),
        ({"OutputPath": "$.a"}, {"a": 1}, 1),
        ({"OutputPath": None}, {"a": 1}, {}),
        ({"OutputPath": "$$.State"}, {}, {"EnteredTime": "now", "Name": "A"}),
        ({"Result": {"x.$": "$.a"}}, {"a": 1}, {"x.$": "$.a"}),
        ({"Result": None}, {"a": 1}, None),
        ({"Result": 2, "ResultPath": "$.b"}, {"a": 1}, {"a": 1, "b": 2}),
        ({"Result": 2, "ResultPath": None}, {"a": 1}, {"a": 1}),
        ({"InputPath": "$.a", "ResultPath": "$.b"}, {"a": 1}, {"a": 1, "b": 1}),
        ({"InputPath": "$.a", "Parameters": {"x.$": "$.y"}}, {"a": {"y": 3}}, {"x": 3}),
        ({"Parameters": {"x.$": "$.a"}, "Result": 2}, {"a": 1}, 2),
        ({"Parameters": {"x.$": "$.a"}, "ResultPath": "$.b", "OutputPath": "$.b.x"}, {"a": 1}, 1),
    ],
)
def test_data_moves_through_a_pass_state(fields: dict[str, Any], raw: Any, output: Any) -> None:
    before = copy.deepcopy(raw)
    assert _output(_passed(fields, raw)) == output
    assert raw == before


@rows(
    ("fields", "output"),
    [
        ({}, {"r": 2}),
        ({"ResultSelector": {"s.$": "$.r"}}, {"s": 2}),
        ({"ResultPath": "$.out"}, {"a": 1, "out": {"r": 2}}),
        ({"ResultPath": "$.a"}, {"a": {"r": 2}}),
        ({"ResultPath": None}, {"a": 1}),
        ({"ResultSelector": {"s.$": "$.r"}, "ResultPath": "$.out", "OutputPath": "$.out.s"}, 2),
        ({"InputPath": "$.a", "ResultPath": "$.out"}, {"a": 1, "out": {"r": 2}}),
    ],
)
def test_a_result_is_selected_then_placed_then_filtered(fields: dict[str, Any], output: Any) -> None:
    raw, result = {"a": 1}, {"r": 2}
    assert _output(_completed(fields, raw, result)) == output
    assert (raw, result) == ({"a": 1}, {"r": 2})


@rows(
    ("fields", "error"),
    [
        ({"ResultSelector": {"s.$": "$.none"}}, "States.Runtime"),
        ({"OutputPath": "$.none"}, "States.Runtime"),
        ({"ResultPath": "$.text.x"}, "States.ResultPathMatchFailure"),
    ],
)
def test_a_data_flow_that_fails_fails_the_run_in_that_state(fields: dict[str, Any], error: str) -> None:
    outcome = _completed(fields, {"text": "t"}, {})
    assert _error(outcome) == error
    assert outcome.state == "A"


def test_a_task_whose_input_cannot_be_made_fails_the_run_before_it_is_entered() -> None:
    states = {"A": {"Type": "Pass", "Next": "T"}, "T": {"Type": "Task", "InputPath": "$.none", "End": True}}
    advance = start(_machine(states), {}, {})
    assert _passes(advance) == ["A"]
    assert _error(advance.outcome) == "States.Runtime"
    assert isinstance(advance.outcome, Failed)
    assert advance.outcome.state == "T"


def test_the_context_object_is_not_changed() -> None:
    before = copy.deepcopy(CONTEXT)
    _passed({"OutputPath": "$$"}, {})
    assert before == CONTEXT


BIG = "x" * (MAX_BYTES - 100)


@rows(
    ("fields", "raw"),
    [
        ({"Parameters": {"a.$": "$", "b.$": "$"}}, BIG),
        ({"Parameters": {f"{at}.$": "$" for at in range(100_000)}}, BIG),
        ({"ResultPath": "$.again"}, {"a": BIG}),
        ({"Result": "é" * (MAX_BYTES // 2)}, {}),
        ({"Result": '"' * (MAX_BYTES // 2)}, {}),
        ({"ResultPath": "$" + ".a" * 64}, {}),
    ],
)
def test_data_that_grows_beyond_the_limit_fails_the_run(fields: dict[str, Any], raw: Any) -> None:
    assert _error(_passed(fields, raw)) == "States.DataLimitExceeded"


def test_data_right_at_the_limit_is_let_through() -> None:
    text = "x" * (MAX_BYTES - 2)
    assert _output(_passed({"Result": text}, {})) == text


def test_data_that_wraps_itself_in_a_loop_stops_at_the_depth_limit() -> None:
    states = {
        "A": {"Type": "Pass", "Parameters": {"a.$": "$"}, "Next": "C"},
        "C": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.end", "IsPresent": True, "Next": "S"}],
            "Default": "A",
        },
        "S": {"Type": "Succeed"},
    }
    assert _error(start(_machine(states), {}, {}).outcome) == "States.DataLimitExceeded"
