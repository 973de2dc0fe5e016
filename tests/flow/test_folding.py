"""Assignments and results behind a step are part of its state where that is the same, and only there."""

import textwrap
from pathlib import Path
from typing import Any

from dcf import testing
from dcf.flow.compiling import compile_flow
from tests.flow.agreement import load

PRELUDE = """
from dcf import each, flow, parallel, sleep, task

class Broken(Exception): pass

@task
def fetch(n: int) -> dict[str, int]:
    return {"n": n}

@task(retry=2)
def again(n: int) -> dict[str, int]:
    return {"n": n}

@task
def number(n: int) -> int:
    if n > 8:
        raise Broken(f"{n}")
    return n + 1

@task
def tell(n: int) -> None: ...

@flow
def inner(n: int) -> list[int]:
    x = number(n)
    return [x, x + 1]

@flow
def main(n: int, d: dict[str, int]) -> object:
"""


def compiled(body: str, folder: Path) -> tuple[dict[str, Any], Any]:
    """Return the states of a flow with this body, and the flow."""
    path = folder / f"folded_{abs(hash(body))}.py"
    path.write_text(PRELUDE + textwrap.indent(body, "    ") + "\n", "utf-8")
    flow = load(path).main
    return compile_flow(flow).document["States"], flow


def output(flow: Any) -> Any:
    return testing.run(flow, {"n": 3, "d": {}}).output


def test_what_follows_a_step_is_assigned_in_its_state_from_its_result(tmp_path: Path) -> None:
    states, flow = compiled("x = number(n)\ny = x * 2\nz = n\nsleep(y)\nreturn [x, y, z]", tmp_path)
    assert list(states) == ["number", "sleep y", "return"]
    assert states["number"]["Assign"] == {
        "x": "{% $states.result %}",
        "y": "{% $states.result * 2 %}",
        "z": "{% $states.context.Execution.Input.n %}",
    }
    assert output(flow) == [4, 8, 3]


def test_a_value_that_depends_on_an_assignment_before_it_has_a_state_of_its_own(tmp_path: Path) -> None:
    states, flow = compiled("x = number(n)\ny = x * 2\nz = y + x\nsleep(1)\nreturn z", tmp_path)
    assert list(states) == ["number", "z", "sleep 1", "return"]
    assert output(flow) == 12


def test_a_name_that_gets_another_value_has_the_last_one(tmp_path: Path) -> None:
    states, flow = compiled("x = number(n)\ny = x\nx = x + 5\nreturn [x, y]", tmp_path)
    assert list(states) == ["number", "return"]
    assert output(flow) == [9, 4]


def test_a_step_ends_the_flow_with_what_is_made_of_its_result(tmp_path: Path) -> None:
    states, flow = compiled("x = number(n)\ny = {'twice': x * 2, 'n': n}\nreturn y", tmp_path)
    assert states["number"]["Output"] == {
        "twice": "{% $states.result * 2 %}",
        "n": "{% $states.context.Execution.Input.n %}",
    }
    assert "Assign" not in states["number"]
    assert output(flow) == {"twice": 8, "n": 3}


def test_what_may_fail_is_not_folded_into_a_step_that_would_be_retried_or_caught(tmp_path: Path) -> None:
    assert list(compiled("x = fetch(n)\nreturn x['n']", tmp_path)[0]) == ["fetch"]
    assert list(compiled("x = again(n)\nreturn x['n']", tmp_path)[0]) == ["again", "return"]
    body = "try:\n    x = fetch(n)\n    y = x['n']\nexcept Broken:\n    return 1\nreturn y"
    assert list(compiled(body, tmp_path)[0]) == ["fetch", "y", "return", "return 2"]


def test_what_may_fail_fails_even_if_its_value_is_not_needed(tmp_path: Path) -> None:
    states, flow = compiled("x = fetch(n)\ny = d['k']\nreturn 1", tmp_path)
    assert states["fetch"]["Assign"] == {"y": "{% $states.context.Execution.Input.d.k %}"}
    assert testing.run(flow, {"n": 3, "d": {}}).status == "failed"


def test_the_result_of_a_step_within_an_expression_needs_no_name(tmp_path: Path) -> None:
    states, flow = compiled("x = number(n) + number(n + 1)\nreturn x", tmp_path)
    assert list(states) == ["number", "number 2"]
    assert states["number"]["Assign"] == {"number_result": "{% $states.result %}"}
    assert states["number 2"]["Output"] == "{% $number_result + $states.result %}"
    assert output(flow) == 9


def test_a_comprehension_with_a_step_may_stand_in_an_expression(tmp_path: Path) -> None:
    states, _ = compiled("return sum([number(m) for m in [n, 2]]) + n", tmp_path)
    assert list(states) == ["each m"]
    assert states["each m"]["Output"] == "{% $sum($states.result) + $states.context.Execution.Input.n %}"


def test_the_flow_behind_a_try_goes_on_in_its_last_step_if_every_except_leaves(tmp_path: Path) -> None:
    states, _ = compiled("try:\n    x = number(n)\nexcept Broken:\n    return 0\nreturn x + 1", tmp_path)
    assert list(states) == ["number", "return"]
    assert states["number"]["Output"] == "{% $states.result + 1 %}"
    stays, _ = compiled("x = 0\ntry:\n    x = number(n)\nexcept Broken:\n    tell(n)\nreturn x + 1", tmp_path)
    assert list(stays) == ["x", "number", "tell", "return"]


def test_branches_and_inlined_flows_give_their_results_in_their_own_state(tmp_path: Path) -> None:
    states, _ = compiled("a, b = parallel(number(n), inner(n))\nreturn {'a': a, 'b': b}", tmp_path)
    assert list(states) == ["a | b"]
    assert states["a | b"]["Output"] == {"a": "{% $states.result[0] %}", "b": "{% $states.result[1] %}"}
    assert states["a | b"]["Branches"][1]["States"]["inner"]["End"]
