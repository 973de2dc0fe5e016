"""Many states in a row that nobody works in: one call does so much, another goes on, and at 12,500 there is an end."""

from itertools import pairwise
from typing import Any

import pytest

from dcf.asl import engine
from dcf.asl.limits import AT_ONCE, MAX_IN_A_ROW, TASKS_AT_ONCE
from dcf.asl.machine import Machine
from dcf.asl.parsing import parse_machine
from dcf.asl.steps import Advance, OpenScope, OpenTask, OpenWait, Passed
from dcf.asl.surroundings import Clock
from dcf.simulation import simulate

CLOCK = Clock(now="2026-01-01T00:00:00Z", micros=1_000_000, seed="s")
PASS = {"Type": "Pass"}


def _chain(count: int, state: dict[str, Any] = PASS, last: dict[str, Any] | None = None) -> dict[str, Any]:
    """States one after the other, and then perhaps another one."""
    names = [f"S{at}" for at in range(count)]
    states = {name: {**state, "Next": after} for name, after in pairwise(names)}
    states[names[-1]] = {**state, "End": True} if last is None else {**state, "Next": "Last"}
    return {"StartAt": names[0], "States": states | ({} if last is None else {"Last": last})}


def _rounds(count: int, **body: Any) -> dict[str, Any]:
    """A loop that goes round so often: a state, the one that counts, and the Choice."""
    more = {"Variable": "$.n", "NumericLessThan": count, "Next": "Body"}
    states = {
        "Body": {**PASS, **body, "Next": "Count"},
        "Count": {**PASS, "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "More"},
        "More": {"Type": "Choice", "Choices": [more], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    return {"StartAt": "Body", "States": states}


def _machine(definition: dict[str, Any]) -> Machine:
    machine, problems = parse_machine(definition)
    assert machine is not None, problems
    return machine


def _start(definition: dict[str, Any], document: Any = None) -> Advance:
    return engine.start(_machine(definition), document, {}, CLOCK)


def test_one_call_runs_so_many_states_and_leaves_the_next_one_to_be_woken_at_once() -> None:
    machine = _machine(_chain(AT_ONCE + 5))
    first = engine.start(machine, {"x": 1}, {}, CLOCK)
    assert first.outcome == "open"
    left = first.steps[-1]
    assert isinstance(left, OpenWait)
    assert (left.path, left.until, left.entry.passed) == (f"S{AT_ONCE}", CLOCK.micros, AT_ONCE)
    assert sum(isinstance(step, Passed) for step in first.steps) == AT_ONCE

    second = engine.wake(machine, left.path, {left.path: left.entry}, {}, CLOCK)

    passed = [step.path for step in second.steps if isinstance(step, Passed)]
    assert passed == [f"S{AT_ONCE + at}" for at in range(5)]
    assert second.outcome != "open"


@pytest.mark.parametrize(
    "state",
    [{"Type": "Wait", "Seconds": 0}, {"Type": "Wait", "Timestamp": "1970-01-01T00:00:00Z"}],
    ids=["no time", "the past"],
)
def test_a_wait_that_takes_no_time_is_left_over_like_any_other_state(state: dict[str, Any]) -> None:
    machine = _machine(_chain(AT_ONCE + 2, state))
    left = engine.start(machine, {}, {}, CLOCK).steps[-1]
    assert isinstance(left, OpenWait)
    assert (left.path, left.until, left.entry.passed) == (f"S{AT_ONCE}", CLOCK.micros, AT_ONCE)
    assert engine.wake(machine, left.path, {left.path: left.entry}, {}, CLOCK).outcome != "open"


def test_a_task_behind_a_long_chain_is_opened_in_the_same_call() -> None:
    advance = _start(_chain(AT_ONCE, last={"Type": "Task", "End": True}))
    task = advance.steps[-1]
    assert isinstance(task, OpenTask)
    assert (task.path, task.entry.passed) == ("Last", 0)


def test_a_map_may_open_many_tasks_at_once_but_not_any_number() -> None:
    inner = {"StartAt": "T", "States": {"T": {"Type": "Task", "End": True}}}
    each = {"Type": "Map", "MaxConcurrency": 2 * TASKS_AT_ONCE, "ItemProcessor": inner, "End": True}
    advance = _start({"StartAt": "M", "States": {"M": each}}, [0] * (TASKS_AT_ONCE + 7))
    kinds = [type(step) for step in advance.steps]
    assert (kinds.count(OpenTask), kinds.count(OpenWait)) == (TASKS_AT_ONCE - 1, 8)


def test_however_maps_stand_in_each_other_one_call_does_so_much() -> None:
    def nested(levels: int) -> dict[str, Any]:
        if not levels:
            return {**PASS, "End": True}
        processor = {"StartAt": f"L{levels - 1}", "States": {f"L{levels - 1}": nested(levels - 1)}}
        selector = {"n.$": "States.ArrayRange(1, 100, 1)"}
        return {"Type": "Map", "ItemsPath": "$.n", "ItemSelector": selector, "ItemProcessor": processor, "End": True}

    advance = _start({"StartAt": "L4", "States": {"L4": nested(4)}}, {"n": [1] * 100})
    kinds = [type(step) for step in advance.steps]
    assert kinds.count(Passed) + kinds.count(OpenScope) <= AT_ONCE
    assert len(kinds) < 4 * AT_ONCE


def test_a_wide_map_of_maps_is_opened_bit_by_bit() -> None:
    one = {"StartAt": "P", "States": {"P": {**PASS, "End": True}}}
    wide = {"MaxConcurrency": 100_000, "End": True}
    inner = {
        "StartAt": "I",
        "States": {"I": {"Type": "Map", "ItemsPath": "$$.Execution.Input", "ItemProcessor": one, **wide}},
    }
    machine = _machine({"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": inner, **wide}}})
    items = [0] * 20_000
    advance = engine.start(machine, items, {"Execution": {"Input": items}}, CLOCK)
    assert sum(isinstance(step, OpenScope) for step in advance.steps) == 2
    assert len(advance.steps) < 2 * len(items) + 2 * AT_ONCE


def test_a_loop_over_thousands_of_silent_states_ends_well() -> None:
    answer = simulate(_rounds(3_000), {"n": 0})
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", {"n": 3_000})
    assert [event["event"] for event in answer["trace"]].count("entered") == 9_001
    assert [event["event"] for event in answer["trace"]].count("exited") == 9_001


def test_so_many_states_in_a_row_may_be_passed_and_one_more_fails() -> None:
    rounds, more = divmod(MAX_IN_A_ROW - 1, 3)
    looped = _rounds(rounds)
    for at in range(more + 1):
        answer = simulate(looped, {"n": 0})
        assert (answer["status"], len(answer["trace"])) == ("SUCCEEDED", 2 * (3 * rounds + 1 + at))
        looped = {"StartAt": f"B{at}", "States": {**looped["States"], f"B{at}": {**PASS, "Next": looped["StartAt"]}}}
    assert_endless(simulate(looped, {"n": 0}))


def assert_endless(answer: dict[str, Any]) -> None:
    assert (answer["status"], answer["error"]) == ("FAILED", "States.Runtime")
    assert "12500 states in a row" in answer["cause"]


INNER = {"StartAt": "I", "States": {"I": {**PASS, "End": True}}}
BROKEN = {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "No"}}}
CAUGHT = [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "Count"}]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"Type": "Wait", "Seconds": 0},
        {"Type": "Parallel", "Branches": [INNER], "ResultPath": None},
        {"Type": "Parallel", "Branches": [BROKEN], "Catch": CAUGHT},
        {"Type": "Map", "ItemsPath": "$$.Execution.Input.items", "ItemProcessor": INNER, "ResultPath": None},
        {"Type": "Task", "Parameters": {"a.$": "States.StringToJson('{')"}, "Catch": CAUGHT},
    ],
    ids=["Pass", "Wait", "Parallel", "a Catch", "Map", "a Task nobody gets"],
)
def test_an_endless_loop_without_work_ends_as_a_failure(body: dict[str, Any]) -> None:
    assert_endless(simulate(_rounds(1_000_000, **body), {"n": 0, "items": [1, 2]}))


@pytest.mark.parametrize("state", [{"Type": "Task", "ResultPath": None}, {"Type": "Wait", "Seconds": 1}])
def test_work_and_waiting_begin_a_new_row(state: dict[str, Any]) -> None:
    answer = simulate(_rounds(7_000, **state), {"n": 0})
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", {"n": 7_000})


def test_a_map_of_many_silent_items_is_over_after_several_calls() -> None:
    each = {"Type": "Map", "ItemProcessor": INNER, "End": True}
    items = list(range(5_000))
    assert simulate({"StartAt": "M", "States": {"M": each}}, items)["output"] == items
