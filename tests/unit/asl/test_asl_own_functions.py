"""Functions that an expression defines for itself read their arguments, not a document that is not there."""

from typing import Any

import pytest

from dcf.asl.parsing import parse_machine
from dcf.simulation import simulate


def _machine(expression: str) -> dict[str, Any]:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}", "End": True}
    return {"StartAt": "P", "States": {"P": state}}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    assert [one.code for one in problems] == ["invalid_expression"]
