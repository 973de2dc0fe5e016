"""A JSONPath template is bounded before it is built, however often it repeats what it reads."""

from typing import Any

import pytest

from dcf.asl.limits import MAX_READ
from dcf.asl.surroundings import Spending
from dcf.values.json_text import byte_length
from dcf.workflows.simulation import simulate
from tests.support.memory import growth
from tests.support.tables import rows

MOST_GROWTH = 64 * 1024 * 1024
DOCUMENTS: dict[str, Any] = {
    "one long text": {"t": "x" * 200_000},
    "many texts": {"t": ["x" * 10] * 15_000},
    "numbers": {"t": list(range(40_000))},
    "nested objects": {"a": [{"b": number, "c": "y" * 20} for number in range(5_000)]},
    "a long key": {"k" * 200_000: 1},
}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


MANY = ", ".join(["$"] * 1_000)


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
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": template, "End": True}}}
    with growth() as grown:
        answer = simulate(machine, DOCUMENTS[document])
    assert answer["error"] == "States.DataLimitExceeded"
    assert grown.bytes < MOST_GROWTH


def test_a_template_of_expressions_is_bounded_before_it_is_built() -> None:
    template = {f"f{number}": "{% $states.input.t %}" for number in range(5_000)}
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": template, "End": True}
    with growth() as grown:
        answer = simulate({"StartAt": "A", "States": {"A": state}}, DOCUMENTS["one long text"])
    assert answer["error"] == "States.DataLimitExceeded"
    assert grown.bytes < MOST_GROWTH


@rows(
    ("path", "document"),
    [
        ("$.a" + "[*,*]" * 24 + ".none", {"a": nested(30)}),
        ("$[?@ in $].none", [[number] for number in range(20_000)]),
        ("$..[?count($..*) > 1].none", {"a": [[number] for number in range(5_000)]}),
        ("$.t[" + ",".join(["*"] * 900) + "]", {"t": ["x" * 200_000]}),
    ],
)
def test_a_path_that_takes_exponential_or_quadratic_time_is_ended(path: str, document: Any) -> None:
    state = {"Type": "Pass", "Parameters": {"found.$": path}, "End": True}
    with growth() as grown:
        answer = simulate({"StartAt": "A", "States": {"A": state}}, document)
    assert answer["error"] == "States.DataLimitExceeded"
    assert grown.bytes < MOST_GROWTH


@rows(
    ("call", "document"),
    [
        ("States.ArrayContains($, 'none')", list(range(37_000))),
        ("States.ArrayLength(States.ArrayUnique($))", list(range(37_000))),
        ("States.ArrayLength(States.StringSplit($, 'x'))", "x" * 200_000),
    ],
)
def test_intrinsic_functions_read_so_much_in_a_step_and_no_more(
    call: str, document: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, around = list[int](), Spending.read

    def counted(self: Spending, value: Any) -> None:
        around(self, value)
        read.append(byte_length(value))

    monkeypatch.setattr(Spending, "read", counted)
    template = {f"f{number}.$": call for number in range(5_000)}
    state = {"Type": "Pass", "Parameters": template, "End": True}
    answer = simulate({"StartAt": "A", "States": {"A": state}}, document)
    assert answer["error"] == "States.DataLimitExceeded"
    assert MAX_READ / 2 < sum(read) <= MAX_READ


def test_a_template_may_be_as_large_as_the_data_of_a_state() -> None:
    template = {f"f{number}.$": "States.Format('{}', $.t)" for number in range(250)}
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": template, "End": True}}}
    assert simulate(machine, {"t": "x" * 1_000})["status"] == "SUCCEEDED"
