"""Reads workflows of runs with fields of Tasks that no capability of this process reads."""

from typing import Any

import pytest

from dcf.core.definitions.model import read_definition
from dcf.core.definitions.unread import read_stored, unless_unread
from dcf.errors import CapabilityMissing, InvalidDefinition
from tests.support.capabilities.installation import without_gates
from tests.support.tables import rows

GATE = {"name": "review", "kind": "review", "criteria": ["It is true."]}
TASK: dict[str, Any] = {"Type": "Task", "End": True, "Gates": [GATE]}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


INSIDE = {"Type": "Parallel", "Branches": [machine(**{"a/~b": TASK})], "End": True}


@rows(
    ("document", "unread"),
    [
        ({"asl": machine(A=TASK)}, {"A": ("Gates",)}),
        ({"steps": [{"step_id": "A", "Gates": [GATE]}, {"step_id": "B"}]}, {"A": ("Gates",)}),
        ({"asl": machine(P=INSIDE)}, {"a/~b": ("Gates",)}),
        ({"asl": machine(A={**TASK, "Stamp": 1})}, {"A": ("Gates", "Stamp")}),
    ],
)
def test_the_definition_is_that_of_the_process_that_reads_the_field(document: Any, unread: Any) -> None:
    with without_gates():
        stored = read_stored(document)
    assert {name: tuple(sorted(fields)) for name, fields in stored.unread.items()} == unread
    assert stored.document is document
    if "Stamp" not in str(document):
        assert stored.sha256 == read_definition(document).sha256


def test_a_workflow_that_this_process_reads_has_nothing_unread() -> None:
    definition = read_stored({"asl": machine(A=TASK)})
    assert (definition.unread, len(definition.gates_of("A"))) == ({}, 1)


@rows(
    ("document", "message"),
    [
        ({"asl": machine(A={**TASK, "Next": 7})}, "Next"),
        ({"asl": machine(A={"Type": "Pass", "End": True, "Gates": []})}, "Gates"),
        ({"asl": {**machine(A=TASK), "Gates": []}}, "Gates"),
        ([], "not a JSON object"),
    ],
)
def test_everything_else_that_is_wrong_is_still_refused(document: Any, message: str) -> None:
    with without_gates(), pytest.raises(InvalidDefinition, match=message):
        read_stored(document)


def test_only_a_state_with_such_a_field_is_refused() -> None:
    with without_gates():
        stored = read_stored({"steps": [{"step_id": "A", "Gates": [GATE]}, {"step_id": "B"}]})
    unless_unread(stored, "B")
    with pytest.raises(CapabilityMissing, match="Gates of state 'A'"):
        unless_unread(stored, "A")
