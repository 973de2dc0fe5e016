"""Functions that an expression defines for itself, and those that AWS adds; how far an expression may go."""

import re
from typing import Any

import pytest

from dcf.asl.syntax.parsing import parse_machine
from dcf.workflows.simulation import simulate
from tests.support.tables import rows


def _machine(expression: str) -> dict[str, Any]:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}", "End": True}
    return {"StartAt": "P", "States": {"P": state}}


@rows(
    ("expression", "output"),
    [
        ("($f := function($x){$x.a}; $f($states.input))", 1),
        ("($f := function($x){$x.input.a + 1}; $f($states))", 2),
        ("($f := λ($x){ $x <= 1 ? 1 : $x * $f($x - 1) }; $f($states.input.a + 3))", 24),
        ("($f := function($x){{'n': $x.a}}; $f($states.input))", {"n": 1}),
        ("($f := function($x){$x.a}; $g := function($y){$f($y)}; $g($states.input))", 1),
    ],
)
def test_an_expression_may_call_what_it_defines(expression: str, output: Any) -> None:
    assert simulate(_machine(expression), {"a": 1})["output"] == output


@rows(
    "expression",
    [
        "($f := function($x){a}; $f($states.input))",
        "($f := function($x){$x.a}; $f(a))",
        "($f := function($x){$x.a}; $f($))",
        "($f := function($x){$x.a}; $f($states.input) + a)",
    ],
)
def test_what_is_not_there_is_still_refused(expression: str) -> None:
    machine, problems = parse_machine(_machine(expression))
    assert machine is None
    assert [problem.code for problem in problems] == ["invalid_expression"]


@rows(
    ("expression", "output"),
    [
        ("$range(0, 9, 3)", [0, 3, 6, 9]),
        ("$range(1, 9, 9)", 1),
        ("$range(5, 1, -4)", [5, 1]),
        ("$count($range(5, 1, 1))", 0),
        ("$count($range(1, 100000, 1))", 100_000),
        ("$partition([1], 4)", [[1]]),
    ],
)
def test_a_range_is_a_sequence(expression: str, output: Any) -> None:
    assert simulate(_machine(expression), {})["output"] == output


@rows(
    ("expression", "reason"),
    [
        ("$range(1, 100001, 1)", "more than 100000 items"),
        ("$range(1, 1e300, 1)", "more than 100000 items"),
        ("$range(5, 1, 1)", "returned nothing"),
        ("($f := function($n){ $f($n + 1) }; $f(1))", "budget of 50000 steps"),
        ('$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", /(a+)+$/)', "budget of 100000 steps|took too long"),
        ("[1..100001]", "size limit of 100000 items"),
    ],
)
def test_an_expression_goes_so_far_and_no_further(
    expression: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.asl.jsonata.expressions.MAX_STEPS", 50_000)
    answer = simulate(_machine(expression), {})
    assert answer["error"] == "States.QueryEvaluationError"
    assert re.search(reason, answer["cause"])
