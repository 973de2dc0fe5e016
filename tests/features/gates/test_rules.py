"""Gates in a workflow: the needs of each kind, and errors with their place."""

from typing import Any

import pytest

from dcf.core.definitions.model import read_definition
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.features.gates.syntax import MOST_CRITERIA, MOST_GATES, gates_given, read_gates
from tests.support.tables import rows

SCHEMA = {"name": "shape", "kind": "schema", "schema": {"type": "object"}}
EVERY: list[dict[str, Any]] = [
    SCHEMA,
    {"name": "tests", "kind": "command", "command": "make test", "timeout_s": 60, "reviewers": ["ci"]},
    {
        "name": "review",
        "kind": "review",
        "criteria": ["It is short."],
        "max_attempts": 5,
        "then": "ask",
        "people": "bo",
    },
    {"name": "boss", "kind": "person", "people": ["alice", {"group": "leads"}], "author_may_review": True},
]


def workflow(gates: Any, **more: Any) -> dict[str, Any]:
    return {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Gates": gates, "End": True, **more}}}}


def test_what_is_read_is_written_again_as_it_was() -> None:
    gates = gates_given(EVERY)
    assert [gate.name for gate in gates] == ["shape", "tests", "review", "boss"]
    assert gates_given([gate.as_json() for gate in gates]) == gates


@rows(
    ("gate", "place", "said"),
    [
        (7, "/0", "must be an object"),
        ({}, "/0", "needs name"),
        ({"name": "x"}, "/0", "needs kind"),
        ({"name": "x", "kind": "odd"}, "/0/kind", "one of schema, command, review, person"),
        ({"name": "", "kind": "review"}, "/0/name", "not empty"),
        ({"name": "x", "kind": "schema"}, "/0", "needs schema"),
        ({"name": "x", "kind": "command"}, "/0", "needs command"),
        ({"name": "x", "kind": "command", "command": "y", "criteria": ["a"]}, "/0", "criteria belongs to"),
        ({"name": "x", "kind": "review", "command": "y"}, "/0", "command belongs to command"),
        ({"name": "x", "kind": "review", "criteria": []}, "/0/criteria", "array of 1 to"),
        ({"name": "x", "kind": "review", "criteria": ["a", "a"]}, "/0/criteria", "twice"),
        ({"name": "x", "kind": "review", "reviewers": ["a b"]}, "/0/reviewers", "valid id"),
        ({"name": "x", "kind": "review", "max_attempts": 0}, "/0/max_attempts", "whole number"),
        ({"name": "x", "kind": "review", "timeout_s": True}, "/0/timeout_s", "whole number"),
        ({"name": "x", "kind": "review", "then": "stop"}, "/0/then", "one of fail, block, ask"),
        ({"name": "x", "kind": "schema", "schema": {"type": "odd"}}, "/0/schema", "schema"),
        ({"name": "x", "kind": "review", "author_may_review": 1}, "/0/author_may_review", "true or false"),
        ({"name": "x", "kind": "review", "color": "red"}, "/0", "no field 'color'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(gate: Any, place: str, said: str) -> None:
    gates, flaws = read_gates([gate])
    assert gates == ()
    assert any(tail == place and said in message for tail, message in flaws), flaws
    with pytest.raises(InvalidDefinition) as raised:
        read_definition(workflow([gate]))
    assert any(problem.path == f"/asl/States/A/Gates{place}" for problem in raised.value.problems)


def test_two_gates_have_two_names() -> None:
    with pytest.raises(InvalidArgument, match="two gates are called 'shape'"):
        gates_given([SCHEMA, SCHEMA])


def test_there_are_only_so_many_gates() -> None:
    many = [{**SCHEMA, "name": f"g{number}"} for number in range(MOST_GATES + 1)]
    assert len(gates_given(many[:MOST_GATES])) == MOST_GATES
    with pytest.raises(InvalidArgument, match=f"at most {MOST_GATES}"):
        gates_given(many)


def test_a_gate_has_only_so_many_criteria() -> None:
    many = [f"criterion {number}" for number in range(MOST_CRITERIA + 1)]
    assert gates_given([{"name": "x", "kind": "review", "criteria": many[:MOST_CRITERIA]}])
    with pytest.raises(InvalidArgument, match=f"1 to {MOST_CRITERIA}"):
        gates_given([{"name": "x", "kind": "review", "criteria": many}])


@rows("resource", ["dcf:human", "dcf:signal", "dcf:callback.waitForTaskToken"])
def test_a_task_whose_output_no_agent_delivers_has_no_gates(resource: str) -> None:
    with pytest.raises(InvalidDefinition, match="no agent delivers"):
        read_definition(workflow([SCHEMA], Resource=resource))
