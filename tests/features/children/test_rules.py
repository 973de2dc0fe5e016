"""The written part of a workflow about child runs is checked before the run."""

from typing import Any

from tests.features.external.test_rules import problems
from tests.support.tables import rows

CHILD = "arn:aws:states:::states:startExecution.sync:2"


@rows(
    ("resource", "given"),
    [
        (CHILD, {"StateMachineArn": "inner", "Input.$": "$"}),
        (CHILD, {"StateMachineArn.$": "$.which", "Name": "n", "Agents": {"Do": "ann"}}),
    ],
)
def test_what_is_right_is_accepted(resource: str, given: dict[str, Any]) -> None:
    assert problems(resource, Parameters=given) == []


@rows(
    ("resource", "given", "code"),
    [
        (CHILD, {"Input": {}}, "missing_field"),
        (CHILD, {"StateMachineArn": "inner", "Inputs": {}}, "unknown_field"),
    ],
)
def test_what_can_never_work_is_told_with_its_place(resource: str, given: dict[str, Any], code: str) -> None:
    assert problems(resource, Parameters=given) == [("Parameters", code)]
    assert problems(resource, Arguments=given, QueryLanguage="JSONata") == [("Arguments", code)]


def test_without_parameters_the_input_says_it() -> None:
    assert problems(CHILD) == []
