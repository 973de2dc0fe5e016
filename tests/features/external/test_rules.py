"""The written part of a workflow about signals is checked before the run."""

from typing import Any

from dcf.core.definitions.model import read_definition
from dcf.errors import InvalidDefinition
from tests.support.tables import rows
from tests.support.workflows.machines import workflow

SIGNAL = "dcf:signal"


def problems(resource: str, **fields: Any) -> list[tuple[str, str]]:
    try:
        read_definition(workflow({"A": {"Type": "Task", "Resource": resource, "End": True, **fields}}))
    except InvalidDefinition as found:
        return [(problem.path.rpartition("/")[2], problem.code) for problem in found.problems]
    return []


@rows(
    ("resource", "given"),
    [
        (SIGNAL, {"name": "paid"}),
        (SIGNAL, {"name.$": "$.name"}),
        (SIGNAL, {"name.$": "States.Format('paid-{}', $.id)", "more": 1}),
    ],
)
def test_what_is_right_is_accepted(resource: str, given: dict[str, Any]) -> None:
    assert problems(resource, Parameters=given) == []


@rows(
    ("resource", "given", "code"),
    [
        (SIGNAL, {"signal": "paid"}, "missing_field"),
        (SIGNAL, {"name": "two words"}, "invalid_value"),
    ],
)
def test_what_can_never_work_is_told_with_its_place(resource: str, given: dict[str, Any], code: str) -> None:
    assert problems(resource, Parameters=given) == [("Parameters", code)]
    assert problems(resource, Arguments=given, QueryLanguage="JSONata") == [("Arguments", code)]


def test_without_parameters_the_input_says_it() -> None:
    assert problems(SIGNAL) == []
