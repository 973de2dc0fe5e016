"""JSONata as it was measured on AWS, where that differs from JavaScript's; and what stays different here."""

from typing import Any, Final

from jlens import Expression

from dcf.asl.jsonata.aws_expressions import aws_expression
from dcf.asl.syntax.parsing import parse_machine
from dcf.workflows.language import describe
from dcf.workflows.simulation import simulate
from tests.support.tables import rows

FAILS: Final = "the state fails"

NO_BREAK_SPACE: Final = "\u00a0"

MEASURED: Final[list[tuple[str, Any]]] = [
    ("$base64encode('日本 a')", "5pel5pysIGE="),
    ("$base64decode('5pel5pysIGE=')", "日本 a"),
    ("$base64decode('!!')", FAILS),
    ("States.Base64Decode('YWJ')", "ab"),
    ("$decodeUrlComponent('a+b')", "a b"),
    ("$decodeUrlComponent('%E6')", "\N{REPLACEMENT CHARACTER}"),
    ("0/0", "NaN"),
    ("""$parse("{'a': 'b'}")""", {"a": "b"}),
    ("""$parse('{"a": 1, "a": 2}')""", FAILS),
    ("$partition([1, 2, 3], 1.5)", [[1], [2], [3]]),
    ("$partition([1, 2, 3])", [[1, 2, 3]]),
    ("$range(-1.5, 2.5, 1)", [-1, 0, 1, 2]),
    ("$substring('a😀b', 3)", "b"),
    ("$substring('a😀b', 0, 3)", "a😀"),
    (f"$contains('a{NO_BREAK_SPACE}b', /\\s/)", False),
    ("$now('[Y0001]-[M01]-[D01]', 'utc') = $substring($now(), 0, 10)", True),
    ("$random(42)", 0.7275636800328681),
]
"""Each expression with what it gives on AWS."""

DIFFERENT: Final[list[tuple[str, Any, Any]]] = [
    ("1/0", "Infinity", FAILS),
    ("1e308*10", "Infinity", FAILS),
    ("1/0 > 5", True, FAILS),
    ("$count($range(1, 200000, 1))", 200_000, FAILS),
    ("$string(1e25)", "1.0E25", "1e+25"),
    ("$string(5e-324)", "4.9e-324", "5e-324"),
]
"""Each expression with what it gives on AWS, and here."""


def _answer(expression: str, run_input: Any = None) -> Any:
    state: dict[str, Any] = {"Type": "Pass", "End": True}
    if expression.startswith("States."):
        state |= {"Parameters": {"v.$": expression}, "OutputPath": "$.v"}
    else:
        state |= {"QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}"}
    answer = simulate({"StartAt": "P", "States": {"P": state}}, run_input or {})
    if answer["status"] == "FAILED":
        assert answer["error"] == "States.QueryEvaluationError"
        return FAILS
    return answer["output"]


@rows(("expression", "measured"), MEASURED)
def test_an_expression_gives_what_was_measured_on_aws(expression: str, measured: Any) -> None:
    assert _answer(expression) == measured


@rows(("expression", "measured", "answer"), DIFFERENT)
def test_a_row_that_stays_different_is_on_the_page_of_the_language(expression: str, measured: Any, answer: Any) -> None:
    assert _answer(expression) == answer
    assert answer != measured
    assert expression in describe()
    assert answer == FAILS or f"{expression} is {answer} ({measured})" in describe()


@rows("kind", ["Task", "Map", "Parallel"])
@rows("field", ["Output", "Assign"])
def test_the_work_is_not_done_again_when_the_states_own_output_fails(kind: str, field: str) -> None:
    wrong = {"v": "{% $states.result.none %}"}
    rules = {
        "Retry": [{"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 1}],
        "Catch": [
            {"ErrorEquals": ["States.TaskFailed"], "Next": "Wrong"},
            {"ErrorEquals": ["States.QueryEvaluationError"], "Next": "Caught"},
        ],
    }
    state = {**_working(kind), **rules, field: wrong, "End": True}
    ends = {"Caught": {"Type": "Succeed"}, "Wrong": {"Type": "Fail"}}
    machine = {"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": state, **ends}}
    mocks = {"Charge": [{"output": 1}, {"output": 2}], "S": [{"output": 1}, {"output": 2}]}

    answer = simulate(machine, {}, mocks)

    assert (answer["status"], len(answer["task_calls"])) == ("SUCCEEDED", 1)
    assert answer["output"]["Error"] == "States.QueryEvaluationError"


def _working(kind: str) -> dict[str, Any]:
    inner = {"StartAt": "Charge", "States": {"Charge": {"Type": "Task", "Resource": "r", "End": True}}}
    working: dict[str, dict[str, Any]] = {
        "Task": {"Type": "Task", "Resource": "r"},
        "Map": {"Type": "Map", "Items": [1], "ItemProcessor": inner},
        "Parallel": {"Type": "Parallel", "Branches": [inner]},
    }
    return working[kind]


def test_an_error_of_the_work_itself_is_still_retried() -> None:
    retry = [{"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 1}]
    task = {"Type": "Task", "Resource": "r", "Retry": retry, "Output": "{% $states.result %}", "End": True}
    machine = {"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": task}}
    answer = simulate(machine, {}, {"S": [{"error": "Busy", "cause": ""}, {"output": 7}]})
    assert (answer["output"], len(answer["task_calls"])) == (7, 2)


@rows(
    ("expression", "output"),
    [
        ("[0/0, null, [[0/0]], {'a': 5 % 0, 'b': [null]}]", ["NaN", None, [["NaN"]], {"a": "NaN", "b": [None]}]),
        ("{'a': [0/0], 'b': {}, 'c': []}", {"a": ["NaN"], "b": {}, "c": []}),
        ("$states.input.rows.(part/whole)", ["NaN", 0.25]),
        ("[$states.input.rows[0].(part/whole)]", ["NaN"]),
        ("[null, 4/2]", [None, 2]),
        ("[1/1][]", [1]),
        ("$states.input.none / 2", FAILS),
        ("function($x){ $x / 2 }", FAILS),
        ("[0/0, function($x){ 1 }]", FAILS),
        ("[1/2, null, function($x){ 1 }]", [0.5, None, None]),
        ("'0/0'", "0/0"),
        ("($count := 0; [$count/$count])", ["NaN"]),
        ("(0/0) = (0/0)", False),
        ("[1, 2].{'half': $ / 2, 'none': 0 / 0}", [{"half": 0.5, "none": "NaN"}, {"half": 1, "none": "NaN"}]),
    ],
)
def test_each_number_that_is_none_is_named_and_each_null_stays(expression: str, output: Any) -> None:
    run_input = {"rows": [{"part": 0, "whole": 0}, {"part": 1, "whole": 4}]}
    assert _answer(expression, run_input) == output


def test_a_large_result_with_quotients_takes_few_steps() -> None:
    quotients = aws_expression("[1..20000].{'a': $ / 2, 'b': null, 'c': 0 / 0}")
    assert '"c":"NaN"' in str(quotients.evaluate_json(None, {}, max_steps=1_000_000))


@rows(
    ("expression", "output"),
    [
        ("$base64encode('')", ""),
        ("['é', 'b'].$base64encode()", ["w6k=", "Yg=="]),
        ("$map(['é', 'b'], $base64encode)", ["w6k=", "Yg=="]),
        ("'é' ~> $base64encode", "w6k="),
        ("$exists($base64encode($states.input.none))", False),
        ("$base64encode(5)", FAILS),
        ("$base64decode('YWJ')", "ab"),
        ("$base64decode('gICA')", FAILS),
        ("$decodeUrlComponent('%E6%97%A5+%2B')", "日 +"),
        ("$decodeUrlComponent('%zz')", FAILS),
        ("$exists($decodeUrlComponent($states.input.none))", False),
        ("""$parse("{\\"it\\": \\"it's\\", 'b': '\\"'}")""", {"it": "it's", "b": '"'}),
        ("$parse(\"{'a': 'it\\\\'s'}\")", {"a": "it's"}),
        ("""$parse('[{"a": {"b": 1, "b": 1}}]')""", FAILS),
        ("$partition([1, 2, 3], 0.5)", FAILS),
        ("$partition([1, 2, 3], null)", FAILS),
        ("$partition([])", []),
        ("$range(0, 3, 0.5)", FAILS),
        ("$random(42) = $random(42)", True),
        ("$now('[Y]', 'nowhere')", FAILS),
        ("($f := function($now){ $now }; $f('[Y]'))", "[Y]"),
    ],
)
def test_a_replaced_function_is_called_as_the_librarys_was(expression: str, output: Any) -> None:
    assert _answer(expression) == output


@rows("text", ["abcdef", "ab日cdé"])
@rows("start", ["0", "2", "-2", "-9", "9", "1.5", "-2.5", "-0.5", "$states.input.none"])
@rows("length", ["", ", 0", ", 2", ", -1", ", 2.5", ", 9", ", $states.input.none"])
def test_a_substring_without_long_characters_is_the_librarys(text: str, start: str, length: str) -> None:
    call = f"$substring('{text}', {start}{length})"
    assert _answer(call) == _library(call)


def _library(expression: str) -> Any:
    return Expression(expression).evaluate(None, {"states": {"input": {}}})


@rows(
    ("expression", "output"),
    [
        ("$substring('a😀b', 2)", FAILS),
        ("$substring('a😀b', -1)", "b"),
        ("$substring('a😀b', -3, 2)", "😀"),
        ("$substring('😀😀', -9, 2)", "😀"),
        ("$substring('😀', 9)", ""),
    ],
)
def test_a_substring_counts_units_and_never_gives_half_a_character(expression: str, output: Any) -> None:
    assert _answer(expression) == output


@rows(
    ("expression", "output"),
    [
        (r"$replace($states.input, /[\s]+/, '_')", f"a{NO_BREAK_SPACE}b_c"),
        (r"$replace($states.input, /[^\s]+/, '_')", "_ _"),
        (r"$replace($states.input, /\S+/, '_')", "_ _"),
        (r"$replace($states.input, /[\S]+/, '_')", "_ _"),
        (r"$count($match($states.input, /[\s\S]/))", 5),
        (r"$contains('\\s', /\\s/)", True),
        (r"$contains('a[ ]', /\[\s\]/)", True),
        (r"$split('a 1', /\s/)[1]", "1"),
        (r"'\\s'", r"\s"),
    ],
)
def test_whitespace_in_a_pattern_is_asciis(expression: str, output: Any) -> None:
    assert _answer(expression, f"a{NO_BREAK_SPACE}b c") == output


@rows(
    "quotients",
    ["[1].($ / 2 + $eval('1') / 2)", "{}.(* / 2 + $eval('1') / 2)", "{'a': [1]}.a.(% / 2 + $eval('1') / 2)"],
)
def test_what_stands_between_two_quotients_is_no_pattern(quotients: str) -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {quotients} %}}", "End": True}
    _, problems = parse_machine({"StartAt": "P", "States": {"P": state}})
    assert "$eval is not allowed" in str(problems)
