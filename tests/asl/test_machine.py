"""The graph of a machine: neighbours, ends, and the tasks that may come next."""

from typing import Any

import pytest

from dcf.asl.machine import Machine
from dcf.asl.syntax.parsing import parse_machine


def _machine(states: dict[str, Any], start_at: str) -> Machine:
    machine, problems = parse_machine({"StartAt": start_at, "States": states})
    assert machine is not None, problems
    return machine


def _rule(target: str) -> dict[str, Any]:
    return {"Variable": "$.x", "IsPresent": True, "Next": target}


REVIEW = _machine(
    {
        "Prepare": {"Type": "Pass", "Next": "Write"},
        "Write": {"Type": "Task", "ResultPath": "$.draft", "Next": "Check"},
        "Check": {"Type": "Task", "Next": "Good?"},
        "Good?": {
            "Type": "Choice",
            "Choices": [_rule("Publish"), _rule("Write"), _rule("Publish")],
            "Default": "Trim",
        },
        "Trim": {"Type": "Pass", "Next": "Good?"},
        "Publish": {"Type": "Task", "ResultPath": None, "End": True},
    },
    "Prepare",
)


def test_downstream_follows_the_rules_and_then_the_default_each_state_once() -> None:
    assert REVIEW.downstream("Good?") == ("Publish", "Write", "Trim")
    assert REVIEW.downstream("Publish") == ()


def test_upstream_is_in_document_order() -> None:
    assert REVIEW.upstream("Good?") == ("Check", "Trim")
    assert REVIEW.upstream("Write") == ("Prepare", "Good?")
    assert REVIEW.upstream("Prepare") == ()


def test_task_successors_look_through_silent_states_even_when_they_loop() -> None:
    assert REVIEW.task_successors("Check") == ("Publish", "Write")
    assert REVIEW.task_successors("Write") == ("Check",)
    assert REVIEW.task_successors("Publish") == ()


def test_the_first_tasks_are_asked_for_with_none() -> None:
    assert REVIEW.task_successors(None) == ("Write",)
    assert _machine({"T": {"Type": "Task", "End": True}}, "T").task_successors(None) == ("T",)


def test_terminal_states_are_sorted() -> None:
    states = {
        "Z": {"Type": "Choice", "Choices": [_rule("Y"), _rule("X")], "Default": "W"},
        "Y": {"Type": "Succeed"},
        "X": {"Type": "Fail"},
        "W": {"Type": "Task", "End": True},
    }
    assert _machine(states, "Z").terminal_states == ("W", "X", "Y")


def test_a_task_needs_its_input_unless_the_result_replaces_it() -> None:
    assert REVIEW.needs_input("Write")
    assert REVIEW.needs_input("Publish")
    assert not REVIEW.needs_input("Check")
    assert not REVIEW.needs_input("Good?")


def test_a_name_that_is_no_state_is_a_key_error() -> None:
    for question in (REVIEW.upstream, REVIEW.downstream, REVIEW.task_successors, REVIEW.needs_input):
        with pytest.raises(KeyError):
            question("Nobody")
