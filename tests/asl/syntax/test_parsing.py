"""Definitions: every problem is found, all at once, and no JSON makes the parser raise."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.asl.machine import Machine, Task, warnings_of
from dcf.asl.syntax.parsing import MAX_STATES, parse_machine
from tests.support.tables import rows

END = {"Type": "Succeed"}
INNER = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
RULE = {"Variable": "$.a", "IsPresent": True}


def _found(document: Any, path: str = "") -> set[tuple[str, str]]:
    machine, problems = parse_machine(document, path)
    assert (machine is None) == bool(problems)
    assert all(problem.message and problem.hint for problem in problems)
    return {(problem.path, problem.code) for problem in problems}


def _of_state(state: Any) -> set[tuple[str, str]]:
    """The problems of one state S that leads, or may lead, to E; pointers start at the state."""
    states = {
        "Start": {"Type": "Choice", "Choices": [{**RULE, "Next": "S"}], "Default": "E"},
        "S": state,
        "E": END,
    }
    return {(path.removeprefix("/States/S"), code) for path, code in _found({"StartAt": "Start", "States": states})}


def _parsed(document: Any) -> Machine:
    machine, problems = parse_machine(document)
    assert machine is not None, problems
    return machine


def test_a_right_machine_has_no_problems() -> None:
    states = {
        "T": {"Type": "Task", "Resource": "arn:x", "AgentBinding": {"any": [1]}, "Comment": "c", "Next": "P"},
        "P": {"Type": "Pass", "Result": None, "ResultPath": "$.p", "End": False, "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Or": [RULE], "Comment": "r", "Next": "E"}], "Default": "F"},
        "E": END,
        "F": {"Type": "Fail", "ErrorPath": "$.error", "Cause": "because"},
    }
    head = {"Comment": "m", "Version": "1.0", "QueryLanguage": "JSONPath"}
    task = _parsed({**head, "StartAt": "T", "States": states}).states["T"]
    assert isinstance(task, Task)
    assert (task.agent_binding, task.resource, task.next) == ({"any": [1]}, "arn:x", "P")


@rows(
    ("document", "found"),
    [
        ([], {("", "wrong_type")}),
        ({}, {("", "missing_field")}),
        ({"StartAt": "A", "States": {}}, {("", "missing_field"), ("/StartAt", "unknown_state")}),
        ({"StartAt": "A", "States": []}, {("/States", "wrong_type"), ("/StartAt", "unknown_state")}),
        ({"StartAt": 1, "States": {"A": END}}, {("/StartAt", "wrong_type")}),
        ({"StartAt": "a", "States": {"A": END}}, {("/StartAt", "unknown_state")}),
        ({"StartAt": "A", "States": {"A": END}, "Version": "2.0"}, {("/Version", "invalid_value")}),
        ({"StartAt": "A", "States": {"A": END}, "Comment": 1}, {("/Comment", "wrong_type")}),
        ({"StartAt": "A", "States": {"A": END}, "Typo": 1}, {("/Typo", "unknown_field")}),
        ({"StartAt": "A", "States": {"A": END}, "TimeoutSeconds": 0}, {("/TimeoutSeconds", "invalid_value")}),
        ({"StartAt": "A", "States": {"A": END}, "TimeoutSeconds": True}, {("/TimeoutSeconds", "wrong_type")}),
        (
            {"StartAt": "A", "States": {"A": END}, "QueryLanguage": "SQL"},
            {("/QueryLanguage", "invalid_value")},
        ),
        ({"StartAt": "A", "States": {"A": END, "b/~": END}}, {("/States/b~1~0", "unreachable_state")}),
        ({"StartAt": "A", "States": {"A": 1}}, {("/States/A", "wrong_type")}),
        (
            {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "A"}}},
            {("/States", "no_terminal_state")},
        ),
        ({"StartAt": "A" * 81, "States": {"A" * 81: END}}, {("/States/" + "A" * 81, "invalid_name")}),
        ({"StartAt": "\ud800", "States": {"\ud800": END}}, {("/States/?", "invalid_name")}),
    ],
)
def test_problems_of_the_machine(document: Any, found: set[tuple[str, str]]) -> None:
    assert _found(document) == found


@rows(
    ("state", "found"),
    [
        ({}, {("", "missing_field")}),
        ({"Type": "Pass"}, {("", "missing_field")}),
        ({"Type": "Pass", "End": False}, {("", "missing_field")}),
        ({"Type": "Pass", "End": "yes"}, {("/End", "wrong_type")}),
        ({"Type": "Pass", "Next": "E", "End": True}, {("/End", "conflicting_fields")}),
        ({"Type": "Pass", "Next": "none"}, {("/Next", "unknown_state")}),
        ({"Type": "Pass", "Next": ""}, {("/Next", "unknown_state")}),
        ({"Type": "Pass", "Next": 1}, {("/Next", "wrong_type")}),
        ({"Type": "Nap", "Next": "E"}, {("/Type", "invalid_value")}),
        ({"Type": 1, "Next": "E"}, {("/Type", "wrong_type")}),
        ({"Type": "Succeed", "End": True}, {("/End", "unknown_field")}),
        ({"Type": "Fail", "Next": "E"}, {("/Next", "unknown_field")}),
        ({"Type": "Fail", "InputPath": "$"}, {("/InputPath", "unknown_field")}),
        ({"Type": "Fail", "Error": 1}, {("/Error", "wrong_type")}),
        ({"Type": "Fail", "Cause": "a", "CausePath": "$.a"}, {("/CausePath", "conflicting_fields")}),
        ({"Type": "Fail", "ErrorPath": "States.MathAdd(1, 2)"}, {("/ErrorPath", "invalid_path")}),
        ({"Type": "Task", "Resource": "", "End": True}, {("/Resource", "missing_field")}),
        ({"Type": "Task", "AgentBinding": 1, "End": True}, {("/AgentBinding", "wrong_type")}),
        ({"Type": "Pass", "AgentBinding": {}, "End": True}, {("/AgentBinding", "unknown_field")}),
        ({"Type": "Task", "InputPath": "x", "End": True}, {("/InputPath", "invalid_path")}),
        ({"Type": "Task", "OutputPath": "States.UUID()", "End": True}, {("/OutputPath", "invalid_path")}),
        ({"Type": "Task", "ResultPath": "$$.a", "End": True}, {("/ResultPath", "invalid_path")}),
        ({"Type": "Task", "ResultPath": "$.a:b", "End": True}, {("/ResultPath", "invalid_path")}),
        ({"Type": "Task", "ResultPath": "$v", "End": True}, {("/ResultPath", "invalid_path")}),
        ({"Type": "Task", "Parameters": [], "End": True}, {("/Parameters", "wrong_type")}),
        (
            {"Type": "Task", "Parameters": {"a/b.$": "x"}, "End": True},
            {("/Parameters/a~1b.$", "invalid_path")},
        ),
        ({"Type": "Task", "Result": 1, "End": True}, {("/Result", "unknown_field")}),
        ({"Type": "Pass", "Retry": [], "End": True}, {("/Retry", "unknown_field")}),
        ({"Type": "Wait", "Next": "E"}, {("", "missing_field")}),
        ({"Type": "Wait", "Seconds": 1, "SecondsPath": "$.s", "Next": "E"}, {("/SecondsPath", "conflicting_fields")}),
        ({"Type": "Wait", "Seconds": -1, "Next": "E"}, {("/Seconds", "invalid_value")}),
        ({"Type": "Wait", "Timestamp": "2026-13-01T00:00:00Z", "Next": "E"}, {("/Timestamp", "invalid_value")}),
        ({"Type": "Wait", "SecondsPath": "$.a[*]", "Next": "E"}, {("/SecondsPath", "invalid_path")}),
        (
            {"Type": "Task", "TimeoutSeconds": 5, "HeartbeatSeconds": 5, "End": True},
            {("/HeartbeatSeconds", "invalid_value")},
        ),
        (
            {"Type": "Task", "TimeoutSeconds": 5, "TimeoutSecondsPath": "$.t", "End": True},
            {("/TimeoutSecondsPath", "conflicting_fields")},
        ),
        ({"Type": "Task", "Output": 1, "End": True}, {("/Output", "wrong_language")}),
        ({"Type": "Task", "Credentials": {}, "End": True}, {("/Credentials", "missing_field")}),
        ({"Type": "Pass", "Assign": {"states": 1}, "End": True}, {("/Assign/states", "invalid_name")}),
        ({"Type": "Pass", "Assign": [], "End": True}, {("/Assign", "wrong_type")}),
        ({"Type": "Pass", "Parameters": {"a.$": "States.Nope()"}, "End": True}, {("/Parameters/a.$", "invalid_path")}),
        (
            {"Type": "Pass", "Parameters": {"a.$": "States.Format('{}')"}, "End": True},
            {("/Parameters/a.$", "invalid_path")},
        ),
        ({"Type": "Parallel", "Branches": [], "End": True}, {("", "missing_field")}),
        (
            {"Type": "Parallel", "Branches": [{"StartAt": "x", "States": {}}], "End": True},
            {("/Branches/0", "missing_field"), ("/Branches/0/StartAt", "unknown_state")},
        ),
        (
            {"Type": "Parallel", "Branches": [{"StartAt": "S", "States": {"S": END}}], "End": True},
            {("/Branches/0/States/S", "duplicate_name")},
        ),
        ({"Type": "Map", "End": True}, {("", "missing_field")}),
        (
            {"Type": "Map", "ItemProcessor": INNER, "Iterator": INNER, "End": True},
            {("/Iterator", "conflicting_fields")},
        ),
        ({"Type": "Map", "ItemProcessor": INNER, "ItemsPath": "$.a[*]", "End": True}, {("/ItemsPath", "invalid_path")}),
        ({"Type": "Map", "ItemProcessor": INNER, "Label": "x", "End": True}, {("/Label", "conflicting_fields")}),
        (
            {"Type": "Map", "ItemProcessor": INNER, "ToleratedFailurePercentage": 101, "End": True},
            {("/ToleratedFailurePercentage", "invalid_value")},
        ),
    ],
)
def test_problems_of_a_state(state: Any, found: set[tuple[str, str]]) -> None:
    assert _of_state(state) == found


@rows(
    ("rule", "found"),
    [
        (1, {("", "wrong_type")}),
        ({}, {("", "missing_field")}),
        ({"ErrorEquals": []}, {("/ErrorEquals", "missing_field")}),
        ({"ErrorEquals": ["States.ALL", "x"]}, {("/ErrorEquals", "misplaced_all")}),
        ({"ErrorEquals": ["x"], "MaxAttempts": -1}, {("/MaxAttempts", "invalid_value")}),
        ({"ErrorEquals": ["x"], "IntervalSeconds": 0}, {("/IntervalSeconds", "invalid_value")}),
        ({"ErrorEquals": ["x"], "BackoffRate": 0.5}, {("/BackoffRate", "invalid_value")}),
        ({"ErrorEquals": ["x"], "MaxDelaySeconds": 1}, {("/MaxDelaySeconds", "invalid_value")}),
        ({"ErrorEquals": ["x"], "JitterStrategy": "SOME"}, {("/JitterStrategy", "invalid_value")}),
        ({"ErrorEquals": ["x"], "BackoffRate": 1, "MaxAttempts": 0, "Comment": "c"}, set()),
    ],
)
def test_problems_of_a_retrier(rule: Any, found: set[tuple[str, str]]) -> None:
    task = {"Type": "Task", "Retry": [rule], "End": True}
    assert _of_state(task) == {(f"/Retry/0{path}", code) for path, code in found}


@rows(
    ("rule", "found"),
    [
        ({"ErrorEquals": ["x"]}, {("", "missing_field")}),
        ({"ErrorEquals": ["x"], "Next": "none"}, {("/Next", "unknown_state")}),
        ({"ErrorEquals": ["x"], "Next": "E", "ResultPath": "$$.x"}, {("/ResultPath", "invalid_path")}),
        ({"ErrorEquals": ["x"], "Next": "E", "Output": 1}, {("/Output", "wrong_language")}),
        ({"ErrorEquals": ["x"], "Next": "E", "Assign": {"a.$": "$.Error"}}, set()),
    ],
)
def test_problems_of_a_catcher(rule: Any, found: set[tuple[str, str]]) -> None:
    task = {"Type": "Task", "Catch": [rule], "End": True}
    assert _of_state(task) == {(f"/Catch/0{path}", code) for path, code in found}


@rows(
    ("output", "code"),
    [
        ("{% $states.input.a %}", None),
        ({"a": ["{% $x + 1 %}", "text", 1]}, None),
        ("{% {'a': $states.context.State.Name} %}", None),
        ("{% $x[$.total > 10] %}", None),
        ("{% $substring($x, 1) & $round(1) & $split($x, ',') & $now() & $uuid() %}", None),
        ("{% $match($x, /a/) ~> $merge() %}", None),
        ("{% $string() %}", "invalid_expression"),
        ("{% 1", "invalid_expression"),
        ("1 %}", "invalid_expression"),
        ("{% 1 + %}", "invalid_expression"),
        ("{% $ %}", "invalid_expression"),
        ("{% $$.a %}", "invalid_expression"),
        ("{% a.b %}", "invalid_expression"),
        ("{% {'a': b} %}", "invalid_expression"),
        ("{% $states.result %}", "invalid_expression"),
        ("{% $states.errorOutput %}", "invalid_expression"),
        ("{% $eval('1') %}", "invalid_expression"),
        ("{% $x ?? 1 %}", "invalid_expression"),
        ("{% $x ?: 1 %}", "invalid_expression"),
        ("{% '?? $eval' %}", None),
        ("{% $states := 1 %}", "invalid_expression"),
    ],
)
def test_problems_of_an_expression(output: Any, code: str | None) -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": output, "End": True}
    assert {result for _, result in _of_state(state)} == ({code} if code else set())


def test_doubts_are_warnings_and_no_problems() -> None:
    task = {
        "Type": "Task",
        "Parameters": {"a.$": "$nobody"},
        "Retry": [{"ErrorEquals": ["States.Odd"]}],
        "Assign": {"mine": 1},
        "End": True,
    }
    warnings = warnings_of(_parsed({"StartAt": "A", "States": {"A": task}}))
    assert {(warning.path, warning.code) for warning in warnings} == {
        ("/States/A/Parameters", "unassigned_variable"),
        ("/States/A/Retry/0/ErrorEquals", "unknown_error"),
    }


def test_an_inner_scope_may_not_assign_what_an_outer_one_assigns() -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Assign": {"v": 1}, "End": True}}}
    states = {
        "A": {"Type": "Pass", "Assign": {"v": 1}, "Next": "P"},
        "P": {"Type": "Parallel", "Branches": [inner], "End": True},
    }
    pointer = "/States/P/Branches/0/States/I/Assign/v"
    assert _found({"StartAt": "A", "States": states}) == {(pointer, "shadowed_variable")}


def test_the_errors_of_the_specification_are_caught_without_a_warning() -> None:
    names = (
        "HeartbeatTimeout Timeout TaskFailed Permissions ResultPathMatchFailure ParameterPathFailure "
        "QueryEvaluationError BranchFailed NoChoiceMatched IntrinsicFailure ExceedToleratedFailureThreshold "
        "ItemReaderFailed ResultWriterFailed"
    )
    catch = [{"ErrorEquals": [f"States.{name}" for name in names.split()], "Next": "E"}]
    states = {"A": {"Type": "Task", "Catch": catch, "Next": "E"}, "E": END}
    assert warnings_of(_parsed({"StartAt": "A", "States": states})) == ()


def test_a_catcher_of_a_parallel_may_assign_what_a_branch_assigns() -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Assign": {"v": 1}, "End": True}}}
    catch = [{"ErrorEquals": ["States.ALL"], "Assign": {"v": 2}, "Next": "E"}]
    states: dict[str, Any] = {
        "P": {"Type": "Parallel", "Branches": [inner], "Catch": catch, "Next": "E"},
        "E": {"Type": "Succeed"},
    }
    assert _found({"StartAt": "P", "States": states}) == set()
    pointer = "/States/P/Branches/0/States/I/Assign/v"
    states["P"]["Assign"] = {"v": 3}
    assert _found({"StartAt": "P", "States": states}) == {(pointer, "shadowed_variable")}
    del states["P"]["Assign"]
    states["T"] = {"Type": "Task", "Catch": catch, "Next": "P"}
    assert _found({"StartAt": "T", "States": states}) == {(pointer, "shadowed_variable")}
    named = {"P/1~": states["P"], "E": states["E"]}
    assert _found({"StartAt": "P/1~", "States": named}) == set()


def test_thirty_parallel_states_may_stand_in_each_other() -> None:
    assert _found(_nested(30)) == set()
    assert _found(_nested(32), "/asl") == {("/asl", "too_deep")}


def _nested(levels: int) -> dict[str, Any]:
    machine: dict[str, Any] = {"StartAt": "T", "States": {"T": {"Type": "Task", "End": True}}}
    for level in range(levels):
        state = {"Type": "Parallel", "Branches": [machine], "End": True}
        machine = {"StartAt": f"P{level}", "States": {f"P{level}": state}}
    return machine


@rows(
    ("rule", "found"),
    [
        (1, {("", "wrong_type")}),
        (RULE, {("", "missing_field")}),
        ({"Next": "E"}, {("", "invalid_rule")}),
        ({"Next": "E", "Variable": "$"}, {("", "invalid_rule")}),
        ({"Next": "E", **RULE, "IsNull": True}, {("", "invalid_rule")}),
        ({"Next": "E", **RULE, "Not": RULE}, {("", "invalid_rule")}),
        ({"Next": "E", "Variable": "$", "Equals": 1}, {("/Equals", "unknown_field")}),
        ({"Next": "E", "Variable": "a", "IsNull": True}, {("/Variable", "invalid_path")}),
        ({"Next": "E", "Variable": "$", "NumericEquals": True}, {("/NumericEquals", "wrong_type")}),
        ({"Next": "E", "Variable": "$", "IsPresent": "yes"}, {("/IsPresent", "wrong_type")}),
        (
            {"Next": "E", "Variable": "$", "TimestampEquals": "2020-01-01"},
            {("/TimestampEquals", "wrong_type")},
        ),
        ({"Next": "E", "Variable": "$", "StringEqualsPath": "x"}, {("/StringEqualsPath", "invalid_path")}),
        ({"Next": "E", "And": []}, {("/And", "missing_field")}),
        ({"Next": "E", "And": {}}, {("/And", "wrong_type")}),
        ({"Next": "E", "Not": []}, {("/Not", "wrong_type")}),
        ({"Next": "E", "And": [RULE], "StringEquals": ""}, {("/StringEquals", "unknown_field")}),
        ({"Next": "E", "Or": [RULE, {**RULE, "Next": "E"}]}, {("/Or/1/Next", "misplaced_next")}),
        ({"Next": "E", "Condition": "{% true %}"}, {("", "invalid_rule")}),
        ({"Next": "E", **RULE, "Assign": {"a.$": "$.b"}}, set()),
        ({"Next": "none", **RULE}, {("/Next", "unknown_state")}),
    ],
)
def test_problems_of_a_choice_rule(rule: Any, found: set[tuple[str, str]]) -> None:
    choices = {"Type": "Choice", "Choices": [rule], "Default": "E"}
    assert _of_state(choices) == {(f"/Choices/0{path}", code) for path, code in found}


def test_problems_of_a_choice() -> None:
    assert _of_state({"Type": "Choice", "Choices": [], "Default": "E"}) == {("", "missing_field")}
    assert _of_state({"Type": "Choice", "Choices": {}, "Default": "E"}) == {("/Choices", "wrong_type")}
    choice = {
        "Type": "Choice",
        "Choices": [{**RULE, "Next": "E"}],
        "Default": "none",
        "Next": "E",
        "End": True,
    }
    assert _of_state(choice) == {
        ("/Default", "unknown_state"),
        ("/Next", "unknown_field"),
        ("/End", "unknown_field"),
    }


def test_rules_nest_up_to_32_levels() -> None:
    def nested(levels: int) -> Any:
        rule: dict[str, Any] = dict(RULE)
        for _ in range(levels - 1):
            rule = {"Not": rule}
        return {"Type": "Choice", "Choices": [{**rule, "Next": "E"}], "Default": "E"}

    assert _of_state(nested(32)) == set()
    assert {code for _, code in _of_state(nested(33))} == {"too_deep"}


def test_a_definition_that_is_too_deep_is_refused_without_following_it() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    pass_state = {"Type": "Pass", "Result": deep, "End": True}
    assert _found({"StartAt": "A", "States": {"A": pass_state}}, "/asl") == {("/asl", "too_deep")}


def test_too_many_states_are_refused_at_once() -> None:
    states = {str(number): END for number in range(MAX_STATES + 1)}
    assert _found({"StartAt": "0", "States": states}) == {("/States", "too_many_states")}


def test_all_problems_are_told_at_once_below_the_given_pointer() -> None:
    states = {"A": {"Type": "Wait", "Next": "B"}, "B": {"Type": "Task", "Retry": [], "Next": "x"}, "C": {}}
    assert _found({"StartAt": "A", "States": states, "Typo": 1}, "/machine") == {
        ("/machine/Typo", "unknown_field"),
        ("/machine/States/A", "missing_field"),
        ("/machine/States/B/Next", "unknown_state"),
        ("/machine/States/C", "missing_field"),
        ("/machine/States/C", "unreachable_state"),
    }


def test_states_behind_a_catch_are_not_called_unreachable() -> None:
    task = {"Type": "Task", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}], "Next": "B"}
    states = {"A": task, "B": END, "C": END}
    assert _found({"StartAt": "A", "States": states}) == set()


FIELDS = [
    "Retry",
    "Catch",
    "ErrorEquals",
    "Branches",
    "ItemProcessor",
    "Items",
    "States",
    "StartAt",
    "Assign",
    "Output",
    "QueryLanguage",
    "ProcessorConfig",
    "ItemReader",
    "ItemBatcher",
    "Seconds",
    "Type",
    "Next",
    "End",
    "Choices",
    "Default",
    "Variable",
    "And",
    "Not",
    "Parameters",
    "InputPath",
    "a.$",
]
WORDS = [
    "Parallel",
    "Map",
    "JSONata",
    "DISTRIBUTED",
    "{% $states.input %}",
    "{% $x.(",
    "$v.a",
    "States.Format('{}', $.a)",
    "States.ALL",
    "Task",
    "Pass",
    "Choice",
    "Succeed",
    "Fail",
    "Wait",
    "A",
    "B",
    "$",
    "$.a",
    "$..",
    "$[",
    "States.UUID()",
]
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "StringMatches", "ResultPath", "Result"]), inner, max_size=6)
    ),
    max_leaves=25,
)
MACHINES = st.fixed_dictionaries(
    {
        "StartAt": st.sampled_from(["A", "B"]) | ANY,
        "States": st.dictionaries(st.sampled_from(["A", "B"]), ANY),
    }
)


@given(ANY | MACHINES)
def test_no_json_makes_the_parser_raise(document: Any) -> None:
    machine, problems = parse_machine(document)
    assert (machine is None) == bool(problems)
    for problem in problems:
        (problem.path + problem.message + problem.hint).encode()
