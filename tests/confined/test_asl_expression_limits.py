"""Every expression is bounded in memory and in steps: it succeeds within the limits, or its state fails."""

import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.expressions import BOMBS
from dcf.asl.json_schema.patterns import Endless, Steps, matches
from dcf.asl.jsonata import evaluation as jsonata_evaluation
from dcf.asl.jsonata import expressions as jsonata
from dcf.asl.jsonata.expressions import compile_expression
from dcf.asl.jsonata.plain_expressions import MOST_CHARACTERS, MOST_OPERANDS, is_plain
from dcf.asl.machine import Task
from dcf.asl.surroundings import FEW, MAX_HERE
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import InvalidDefinition
from dcf.values.json_text import MAX_BYTES, byte_length
from dcf.workflows.simulation import simulate
from tests.support.memory import growth
from tests.support.tables import rows
from tests.support.workflows import random_expressions

COUNT = int(os.environ.get("DCF_EXPRESSIONS", "500"))
"""How many random expressions are tried: 5,000 to prove a change of the limits."""

MOST_GROWTH = 64 * 1024 * 1024
LIMITED = ("States.QueryEvaluationError", "States.DataLimitExceeded")


def evaluated(expression: str, run_input: Any = None) -> dict[str, Any]:
    state = {"Type": "Pass", "Output": f"{{% {expression} %}}", "End": True}
    assign = {"numbers": 0, "texts": 0, "rows": 0, "deep": 0, "long": 0}
    first = {
        "Type": "Pass",
        "Assign": {name: f"{{% $exists($states.input.{name}) ? $states.input.{name} : null %}}" for name in assign},
        "Next": "E",
    }
    return simulate({"StartAt": "V", "QueryLanguage": "JSONata", "States": {"V": first, "E": state}}, run_input)


@rows(
    "expression",
    [
        *BOMBS,
        # doubling and padding
        "($v := [1,2]; " + "$v := [[$v], [$v]]; " * 30 + "$string($v))",
        '$pad("x", 100000000)',
        '$replace($pad("", 250000, "x"), "x", $pad("", 250000, "y"))',
        "$join($map([1..90000], function($x){$pad('', 1000, 'y')}))",
        "$fromMillis(0, '[Y,*-999999999]')",
        # regular expressions
        '$match("' + "a" * 30 + 'b", /(a+)+$/)',
        '$match($pad("", 100000, "ab"), /(a|b)*?c/)',
        '$split($pad("", 1000000, "a"), /a/)',
        # numbers, nesting, recursion, quadratic work
        "$reduce([1..90000], function($x, $y){$x * 1e300})",
        "(" + "$f := function($n){$f($n + 1) + $f($n + 1)}; $f(1))",
        "($f := function($n){[$n, $f($n)]}; $f(1))",
        "$count($distinct([1..99999]))",
        "$states.input.rows[$count($rows.([1..9000].[1..9000])) > 1]",
    ],
)
def test_an_expression_that_wants_too_much_fails_its_state_and_nothing_else(expression: str) -> None:
    with growth() as grown:
        answer = evaluated(expression, random_expressions.document())
    assert answer["status"] == "FAILED"
    assert answer["error"] in LIMITED
    assert grown.bytes < MOST_GROWTH


def test_random_expressions_succeed_within_the_limits_or_fail() -> None:
    document, ends = random_expressions.document(), Counter[str | None]()
    for seed in range(COUNT):
        text = random_expressions.expression(seed)
        try:
            with growth() as grown:
                answer = evaluated(text, document)
        except InvalidDefinition:
            continue
        ends[answer.get("error")] += 1
        assert answer["status"] == "SUCCEEDED" or answer["error"] in LIMITED, (seed, text, answer)
        assert grown.bytes < MOST_GROWTH, (seed, text)
    assert set(ends) == {None, *LIMITED}
    assert ends.total() > COUNT / 2


def test_of_thousands_of_plain_expressions_only_some_read_their_data_in_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = list[int]()

    def counted(expression: Any, text: str, bindings: dict[str, Any], *more: Any, **limits: Any) -> Any:
        read.append(byte_length(bindings))
        return jsonata_evaluation.evaluate(expression, text, bindings, *more, **limits)

    monkeypatch.setattr("dcf.asl.jsonata.expressions.evaluate", counted)
    fields = {f"f{number}": "{% $count($sort($states.input)) %}" for number in range(5_000)}
    answer = simulate(
        {"StartAt": "A", "States": {"A": _pass(Output=fields)}}, [f"{n:05}" for n in range(30_000, 0, -1)]
    )
    assert answer["error"] == "States.QueryEvaluationError"
    assert len(read) > FEW
    assert sum(read) <= FEW * MAX_BYTES + MAX_HERE


def test_thousands_of_plain_expressions_that_read_little_stay_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonata.Query, "_confined", None)
    fields = {f"f{number}": "{% $states.input.n + 1 %}" for number in range(5_000)}
    assert simulate({"StartAt": "A", "States": {"A": _pass(Output=fields)}}, {"n": 1})["status"] == "SUCCEEDED"


def test_the_items_that_a_map_begins_at_once_have_one_limit_together() -> None:
    heavy = "{% $count([1..20000][$ % 7 = 0]) %}"
    each = {"Type": "Map", "ItemSelector": {"n": heavy}, "MaxConcurrency": 2_000, "End": True}
    each["ItemProcessor"] = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    machine = {"StartAt": "M", "QueryLanguage": "JSONata", "States": {"M": each}}
    answer = simulate(machine, list(range(2_000)))
    assert answer["error"] == "States.QueryEvaluationError"
    assert "half a second" in answer["cause"]


def test_states_in_a_row_may_need_more_than_the_limit_together() -> None:
    heavy = "{% $count([1..99000][$ % 7 = 0]) %}"
    states = {f"S{number}": _pass(Output=heavy, Next=f"S{number + 1}") for number in range(30)}
    machine = {"StartAt": "S0", "States": states | {"S30": _pass()}}
    assert simulate(machine, {})["output"] == 14142


def test_an_expression_whose_process_gets_no_processor_for_a_while_succeeds() -> None:
    assert evaluated("$sum([1..3])")["output"] == 6
    children = [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    ours = [pid for pid in children if b"dcf.confined.child" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert ours
    signal_all(ours, signal.SIGSTOP)
    waking = threading.Timer(2.0, signal_all, (ours, signal.SIGCONT))
    waking.start()
    try:
        assert evaluated("$sum([1..3])")["output"] == 6
    finally:
        waking.join()


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def _pass(**fields: Any) -> dict[str, Any]:
    ahead = {} if "Next" in fields else {"End": True}
    return {"Type": "Pass", "QueryLanguage": "JSONata", **ahead, **fields}


@rows(
    "expression",
    [
        "$states.input.order.id",
        "$states.input.items[price > 2.7 and $contains(name, 'x')].sku",
        "{'id': $states.input.id, 'tags': ['a', $tag], 'n': $count($states.input.items)}",
        "$status in ['open', 'held'] and $not($states.result.done)",
        "$states.input.first & ' ' & $states.input.last",
        "$score > 0.9 ? 'high' : \"low\"",
        "$sum($states.input.items.price) / 2",
        "$states.input.`a field`.in[-1]",
        "-$n + 1 * 3",
        "$uuid()",
    ],
)
def test_an_ordinary_expression_is_plain(expression: str) -> None:
    assert is_plain(expression)
    assert compile_expression(expression).is_plain


@rows(
    "expression",
    [
        *(
            "[1..3]",
            "$v.($w)",
            "$v.$w",
            "$v.{'a': 1}",
            "$v.[1]",
            "$v{a: b}",
            "$v^(a)",
            "$v ~> $count",
            "$v@$x",
            "$v#$i",
            "$v.%",
            "$v.**",
        ),
        *("$v[$count($v) > 1]", "$v[[1]]", "$v[$ = $w]", "function($x){1}", "λ($x){1}", "($a := 1; $a)", "$f(1)"),
        *("$pad('a', 1)", "$v.$string()", "$distinct($v)", "$split($v, ',')", "$contains($v, /a/)"),
        # Quotes that a careless reader takes for the start of a text.
        '$v and /"/ and [1..9] and /"/',
        '$v /* " */ & [1..9] /* " */',
        "[" + ", ".join(["$v"] * MOST_OPERANDS) + "]",
        "1" + " " * MOST_CHARACTERS,
    ],
)
def test_an_expression_whose_form_bounds_nothing_is_risky(expression: str) -> None:
    assert not is_plain(expression)


def test_the_instructions_of_a_task_show_that_an_expression_wants_too_much() -> None:
    state = {"Type": "Task", "Instructions": "Sum {% $count([1..9000].[1..9000].[1..9000]) %} up.", "End": True}
    machine, problems = parse_machine({"StartAt": "A", "QueryLanguage": "JSONata", "States": {"A": state}})
    assert machine is not None, problems
    task = machine.states["A"]
    assert isinstance(task, Task)
    assert task.brief is not None
    assert task.brief.instructions is not None
    assert "[cannot be shown: " in task.brief.instructions.shown({})


def test_the_pattern_of_a_schema_gives_up() -> None:
    with pytest.raises(Endless):
        matches("(a+)+$", "a" * 40 + "b", Steps(100_000))
