"""Every value that functions of a workflow produce can be written as JSON, or the state fails with a named error."""

from typing import Any

from dcf.values.json_text import dump, parse
from dcf.workflows.simulation import simulate
from tests.support.tables import rows

UNWRITABLE = {
    "half a character": '"\\ud800"',
    "half a character deep inside": '{"a": [{"b": "\\udfff"}]}',
    "half a character as a key": '{"\\ud800": 1}',
    "an integer beyond 64 bits": "[9223372036854775808]",
    "infinity": "1e999",
    "a number of 5,000 digits": "9" * 5_000,
}


def _run(state: dict[str, Any], document: Any) -> dict[str, Any]:
    caught = {"ErrorEquals": ["States.ALL"], "ResultPath": "$.told", "Next": "Told"}
    inner = {"StartAt": "S", "States": {"S": {**state, "End": True}}}
    states = {
        "P": {"Type": "Parallel", "Branches": [inner], "Catch": [caught], "Next": "Told"},
        "Told": {"Type": "Succeed"},
    }
    return simulate({"StartAt": "P", "States": states}, document)


@rows("text", UNWRITABLE.values(), ids=UNWRITABLE)
@rows(
    ("state", "error"),
    [
        ({"Type": "Pass", "Parameters": {"v.$": "States.StringToJson($.text)"}}, "States.IntrinsicFailure"),
        (
            {"Type": "Pass", "Parameters": {"v.$": "States.Array(States.StringToJson($.text))"}},
            "States.IntrinsicFailure",
        ),
        (
            {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $parse($states.input.text) %}"},
            "States.QueryEvaluationError",
        ),
    ],
    ids=["StringToJson", "nested", "$parse"],
)
def test_text_that_stands_for_what_json_cannot_hold_fails_the_state_and_is_caught(
    text: str, state: dict[str, Any], error: str
) -> None:
    answer = _run(state, {"text": text})
    assert (answer["status"], answer["output"]["told"]["Error"]) == ("SUCCEEDED", error)
    assert dump(answer)


@rows(
    "call",
    [
        "States.MathAdd($.large, 1)",
        "States.MathAdd(9223372036854775807, 1)",
        "States.MathAdd(1e999, 1)",
        "States.MathRandom(0, 1e300)",
        "States.Array(1e999)",
    ],
)
def test_arithmetic_beyond_64_bits_is_an_intrinsic_failure(call: str) -> None:
    answer = _run({"Type": "Pass", "Parameters": {"v.$": call}}, {"large": 1e300})
    assert answer["output"]["told"]["Error"] == "States.IntrinsicFailure"


@rows(
    ("text", "reason"),
    [("[" * 100_000, "nests too deep"), ("9" * 5_000, "is not JSON"), ("{", "is not JSON")],
    ids=["deep", "long number", "broken"],
)
def test_why_a_text_cannot_be_read_is_said_in_plain_words(text: str, reason: str) -> None:
    answer = _run({"Type": "Pass", "Parameters": {"v.$": "States.StringToJson($.text)"}}, {"text": text})
    assert f"the text {reason}" in answer["output"]["told"]["Cause"]


def test_equal_numbers_of_any_size_are_one_item_of_an_array_of_unique_items() -> None:
    unique = {"Type": "Pass", "Parameters": {"v.$": "States.ArrayUnique($.items)"}}
    answer = _run(unique, {"items": [1, 1.0, 1e300, 1e300, 2**63 - 1, 0.5]})
    assert answer["output"] == [{"v": [1, 1e300, 2**63 - 1, 0.5]}]


@rows("number", [1e19, 2**62, 9_007_199_254_740_993, 1e300, -1e19, 0.1])
def test_numbers_that_jsonata_passes_on_are_read_back_as_they_are(number: float) -> None:
    answer = _run({"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% [$states.input.n] %}"}, {"n": number})
    (result,) = answer["output"]
    assert result == [float(number)]
    assert parse(dump(result), name="x") == result
