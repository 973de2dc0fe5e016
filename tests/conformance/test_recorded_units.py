"""Single rules, calls, paths and templates as AWS answered them, and its verdicts on definitions."""

import json
from typing import Any

from dcf.asl.syntax.parsing import parse_machine
from dcf.workflows.simulation import simulate
from tests.support.tables import rows

from .comparison import agrees
from .recordings import cases, known_difference


def _run(state: dict[str, Any], document: Any) -> dict[str, Any]:
    return simulate({"StartAt": "S", "States": {"S": {**state, "End": True}}}, document)


@rows("case", cases("units_choice"), ids=lambda case: json.dumps(case["rule"]))
def test_a_choice_rule_decides_as_recorded(case: Any) -> None:
    language = "JSONata" if "Condition" in case["rule"] else "JSONPath"
    choice = {"Type": "Choice", "QueryLanguage": language, "Choices": [{**case["rule"], "Next": "Yes"}]}
    ends = {name: {"Type": "Succeed"} for name in ("Yes", "No")}
    machine = {"StartAt": "C", "States": {"C": {**choice, "Default": "No"}, **ends}}
    chosen = any(event["state"] == "Yes" for event in simulate(machine, case["input"])["trace"])
    known = known_difference("choice", f"{json.dumps(case['rule'])} on {json.dumps(case['input'])}")
    assert (chosen == case["chosen"]) is (known is None)


@rows("case", cases("units_intrinsics"), ids=lambda case: case["expr"])
def test_an_intrinsic_function_answers_as_recorded(case: Any) -> None:
    answer = _run({"Type": "Pass", "Parameters": {"v.$": case["expr"]}}, case["input"])
    assert answer["status"] == "SUCCEEDED"
    assert agrees(case["value"], answer["output"]["v"])


@rows("case", cases("units_jsonpath"), ids=lambda case: case["path"])
def test_a_path_finds_what_was_recorded(case: Any) -> None:
    answer = _run({"Type": "Pass", "Parameters": {"v.$": case["path"]}}, case["input"])
    assert answer["output"]["v"] == case["value"]


@rows("case", cases("units_jsonata"), ids=lambda case: json.dumps(case["template"]))
def test_a_jsonata_template_gives_what_was_recorded(case: Any) -> None:
    answer = _run({"Type": "Pass", "QueryLanguage": "JSONata", "Output": case["template"]}, case["input"])
    if "error" in case:
        assert answer["error"] == case["error"]
        assert case["cause"].endswith(answer["cause"])
    else:
        assert agrees(case["value"], answer["output"])


@rows("case", [case for case in cases("validation") if case["type"] != "STATE"], ids=lambda case: case["name"])
def test_a_definition_is_judged_as_recorded(case: Any) -> None:
    machine, problems = parse_machine(case["definition"])
    assert (machine is not None) is case["valid"], problems
