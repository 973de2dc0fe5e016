"""A JSONPath template is bounded before it is built, however often it repeats what it reads."""

import resource
import sys
from typing import Any

from dcf.simulation import simulate
from tests.support.tables import rows

MOST_GROWTH = 64 * 1024 * 1024
DOCUMENTS: dict[str, Any] = {
    "one long text": {"t": "x" * 200_000},
    "many texts": {"t": ["x" * 10] * 15_000},
    "numbers": {"t": list(range(40_000))},
    "nested objects": {"a": [{"b": number, "c": "y" * 20} for number in range(5_000)]},
    "a long key": {"k" * 200_000: 1},
}
MANY = ", ".join(["$"] * 1_000)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@rows("document", list(DOCUMENTS))
@rows(
    ("value", "count"),
    [
        ("$", 5_000),
        ("States.JsonToString($)", 5_000),
        (f"States.JsonToString(States.Array({MANY}))", 1),
        (f"States.ArrayUnique(States.Array({MANY}))", 1),
        (f"States.Hash(States.Array({MANY}), 'MD5')", 1),
        (f"States.Format('{'{}' * 1_000}', {MANY})", 1),
    ],
)
def test_a_template_that_repeats_its_input_is_too_large_before_it_is_built(
    document: str, value: str, count: int
) -> None:
    template = {f"f{number}.$": value for number in range(count)}
    before = peak()
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": template, "End": True}}}
    answer = simulate(machine, DOCUMENTS[document])
    assert answer["error"] == "States.DataLimitExceeded"
    assert peak() - before < MOST_GROWTH


def test_a_template_of_expressions_is_bounded_before_it_is_built() -> None:
    template = {f"f{number}": "{% $states.input.t %}" for number in range(5_000)}
    before = peak()
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": template, "End": True}
    answer = simulate({"StartAt": "A", "States": {"A": state}}, DOCUMENTS["one long text"])
    assert answer["error"] == "States.DataLimitExceeded"
    assert peak() - before < MOST_GROWTH


def test_a_template_may_be_as_large_as_the_data_of_a_state() -> None:
    template = {f"f{number}.$": "States.Format('{}', $.t)" for number in range(250)}
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": template, "End": True}}}
    assert simulate(machine, {"t": "x" * 1_000})["status"] == "SUCCEEDED"
