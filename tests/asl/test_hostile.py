"""Whatever a definition, an input or a task says, the engine answers with a value, in bounded time."""

import contextlib
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.asl.jsonata.expressions import compile_expression
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import InvalidDefinition
from dcf.workflows.simulation import simulate

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab$.{%}'\\é", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.sampled_from(["$", "$.a", "$.a.b", "$$", "$$.State", "$v", "$v.a", "$.a[0]", "$[*]", "$..a", "$.a[-1:]"])
PLACES = st.sampled_from(["$", "$.a", "$.b.c", "$.a[0]"])
CALLS = st.sampled_from(
    [
        "States.Format('{}', $.a)",
        "States.StringToJson($.a)",
        "States.JsonToString($)",
        "States.ArrayPartition($.a, 2)",
        "States.ArrayRange(0, $.b, 1)",
        "States.ArrayUnique($.a)",
        "States.Hash($.a, 'MD5')",
        "States.MathAdd($.a, $.b)",
        "States.StringSplit($.a, $.b)",
        "States.Base64Decode($.a)",
        "States.JsonMerge($, $.a, false)",
        "States.MathRandom(0, $.a)",
    ]
)
QUERIES = st.sampled_from(
    [
        "{% $states.input %}",
        "{% $states.input.a.b %}",
        "{% $v %}",
        "{% $map([1..3], function($x) { $x * $states.input.a }) %}",
        "{% ($f := function($n) { $f($n + 1) }; $f(1)) %}",
        "{% [1..9999999] %}",
        "{% $partition($states.input.a, 2) %}",
        "{% function($x) { $x } %}",
        "{% $random() & $uuid() %}",
    ]
)
TEMPLATES = st.dictionaries(st.sampled_from(["a.$", "b.$"]), PATHS | CALLS, max_size=2)
ERRORS = st.lists(st.sampled_from(["X", "States.Timeout", "States.TaskFailed"]), min_size=1, max_size=2)
RETRIERS = st.fixed_dictionaries({"ErrorEquals": ERRORS, "MaxAttempts": st.integers(0, 2)})
CATCHERS = st.fixed_dictionaries({"ErrorEquals": ERRORS, "Next": st.just("Z")}, optional={"ResultPath": PLACES})
FLOW = {"InputPath": PATHS | st.none(), "OutputPath": PATHS | st.none(), "Assign": st.fixed_dictionaries({"v": VALUES})}
WORK = {"ResultPath": PLACES, "ResultSelector": TEMPLATES, "Retry": st.lists(RETRIERS, max_size=2)}


def _states(kind: str, fields: dict[str, Any], fixed: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"Type": st.just(kind), **fixed}, optional=fields)


NEXT = {"Next": st.just("Z")}
SIMPLE = st.one_of(
    _states("Task", {**FLOW, **WORK, "Parameters": TEMPLATES, "Catch": st.lists(CATCHERS, max_size=1)}, NEXT),
    _states("Pass", {**FLOW, "Result": VALUES, "ResultPath": PLACES, "Parameters": TEMPLATES}, NEXT),
    _states("Wait", FLOW, {**NEXT, "SecondsPath": PATHS.filter(lambda path: "*" not in path and ".." not in path)}),
    _states("Pass", {"Output": QUERIES | VALUES}, {**NEXT, "QueryLanguage": st.just("JSONata")}),
    _states("Task", {"Arguments": QUERIES, "Output": QUERIES}, {**NEXT, "QueryLanguage": st.just("JSONata")}),
)


@st.composite
def machines(draw: st.DrawFn, depth: int = 2, prefix: str = "") -> dict[str, Any]:
    start = draw(SIMPLE)
    if depth and draw(st.booleans()):
        inner = [draw(machines(depth - 1, f"{prefix}{index}")) for index in range(draw(st.integers(1, 2)))]
        field = {"Branches": inner} if draw(st.booleans()) else {"ItemProcessor": inner[0]}
        flow = draw(st.fixed_dictionaries({}, optional={**WORK, "InputPath": PATHS}))
        start = {"Type": "Parallel" if "Branches" in field else "Map", **field, **flow, "Next": "Z"}
    text = f"{prefix}Z"
    written = _renamed(start, text)
    return {"StartAt": f"{prefix}S", "States": {f"{prefix}S": written, text: {"Type": "Succeed"}}}


def _renamed(state: dict[str, Any], last: str) -> dict[str, Any]:
    caught = {"Catch": [{**rule, "Next": last} for rule in state["Catch"]]} if "Catch" in state else {}
    return {**state, **caught, "Next": last}


MOCKS = st.lists(VALUES.map(lambda value: {"output": value}) | st.just({"error": "X", "cause": "c"}), max_size=4)


@given(machines(), VALUES, MOCKS, st.integers(0, 9))
def test_the_engine_always_answers(machine: Any, document: Any, mocks: Any, seed: int) -> None:
    names = ("S", "0S", "1S", "00S", "01S")
    try:
        answer = simulate(machine, document, dict.fromkeys(names, mocks), schedule=random.Random(seed))
    except InvalidDefinition:
        return
    assert answer["status"] in ("SUCCEEDED", "FAILED")


@settings(max_examples=300)
@given(st.text("$abx.[]{}()'\"/*?:=~>%0 \\", max_size=30))
def test_no_text_makes_the_compiler_of_expressions_do_more_than_refuse(text: str) -> None:
    with contextlib.suppress(ValueError):
        compile_expression(text)


def test_deep_nesting_in_expressions_and_calls_is_refused() -> None:
    for text in ("(" * 10_000, "[" * 10_000, "{'a':" * 5_000, "-" * 10_000, "$f(" * 5_000):
        state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {text} %}}", "End": True}
        assert parse_machine({"StartAt": "A", "States": {"A": state}})[0] is None
    call = "States.Array(" * 50 + ")" * 50
    state = {"Type": "Pass", "Parameters": {"a.$": call}, "End": True}
    assert parse_machine({"StartAt": "A", "States": {"A": state}})[0] is None
