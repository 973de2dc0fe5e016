"""States that read what the OutputSchema of a Task before them rules out are warned about, and no others."""

from typing import Any

from dcf.values.json_text import Json
from dcf.workflows.validation.document import judge_machine
from tests.support.tables import rows

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["total"],
    "properties": {
        "total": {"type": "number"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "note": {"type": ["string", "null"]},
        "buyer": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"name": {}}}]},
    },
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False}},
}
OPEN = {name: value for name, value in ORDER.items() if name != "additionalProperties"}


def warnings(price: dict[str, Json], language: str = "JSONPath", **states: Any) -> list[str]:
    """The warnings about a machine in which Price promises an order, and the first of these states comes after it."""
    names = list(states)
    first = {"Type": "Task", "OutputSchema": ORDER, "Next": names[0], **price}
    ends: dict[str, dict[str, Json]] = {}
    for name, state in states.items():
        is_over = state["Type"] in ("Succeed", "Fail") or not {"Next", "End", "Choices"}.isdisjoint(state)
        ends[name] = state if is_over else {**state, "End": True}
    validation = judge_machine({"QueryLanguage": language, "StartAt": "Price", "States": {"Price": first, **ends}})
    assert validation.problems == ()
    return [warning for warning in validation.warnings if "OutputSchema" in warning]


def after(price: dict[str, Json], language: str = "JSONPath", **ship: Json) -> list[str]:
    """The warnings about a Task after Price that has these fields."""
    return warnings(price, language, Ship={"Type": "Task", **ship})


def test_a_field_that_the_schema_rules_out_is_reported_with_place_and_suggestion() -> None:
    (details,) = after({}, Parameters={"sum.$": "$.totl"})
    place, text = details.split(": ", 1)
    assert place == "/States/Ship/Parameters/sum.$"
    assert text == "State 'Ship' reads $.totl, which the OutputSchema of 'Price' rules out: did you mean 'total'?"


def test_what_nothing_looks_like_is_told_with_what_there_is() -> None:
    (details,) = after({}, "JSONata", Arguments="{% $states.input.shipping %}")
    assert details.endswith("rules out; it has total, lines, note, buyer.")


@rows(
    ("path", "is_promised"),
    [
        ("$", True),
        ("$.total", True),
        ("$.lines[0].sku", True),
        ("$.lines[*].sku", True),
        ("$.buyer.name", True),
        ("$.totl", False),
        ("$.total.amount", False),
        ("$.total[0]", False),
        ("$.lines.sku", False),
        ("$.lines[0].price", False),
        ("$.buyer.nam", False),
        ("$.totl[*].x", False),
        ("States.Format('{} of {}', $.total, $.lines)", True),
        ("States.Format('{}', $.totl)", False),
        ("$$.Execution.Id", True),
    ],
)
def test_paths_are_followed_into_the_schema(path: str, is_promised: bool) -> None:
    assert (after({}, Parameters={"a": [{"b.$": path}]}) == []) is is_promised


@rows(
    ("expression", "is_promised"),
    [
        ("$states.input", True),
        ("$states.input.total * 2", True),
        ("$states.input.lines.sku", True),
        ("$states.input.lines[sku = 'a'].sku", True),
        ("$sum($states.input.lines.price)", False),
        ("$states.input.totl * 2", False),
        ("$states.input.total.amount", False),
        ("$exists($states.input.buyer.nam) ? 1 : 2", True),
        ("$states.input.buyer.nam ? 1 : 2", True),
        ("$exists($states.input.totl)", False),
        ("'$states.input.totl'", True),
        ("($totl := $states.input; $totl.anything)", True),
        ("$map($states.input.lines, function($one) { $one.price })", True),
        ("$states.input.lines.(sku & price)", True),
        ("$states.context.Execution.Nothing", True),
    ],
)
def test_expressions_are_followed_as_far_as_they_are_written_out(expression: str, is_promised: bool) -> None:
    assert (after({}, "JSONata", Arguments={"a": f"{{% {expression} %}}"}) == []) is is_promised


def test_for_a_very_long_name_no_similar_one_is_sought() -> None:
    schema = {"properties": {"a" * 300: {}, "total": {}}, "additionalProperties": False}
    (details,) = after({"OutputSchema": schema}, Parameters={"a.$": f"$.{'a' * 299}"})
    assert "did you mean" not in details
    assert "; it has aaa" in details


def test_a_field_that_is_neither_listed_nor_required_nor_ruled_out_is_not_promised() -> None:
    (details,) = after({"OutputSchema": OPEN}, Parameters={"a.$": "$.totl"})
    assert "does not list: did you mean 'total'?" in details
    assert after({"OutputSchema": OPEN | {"required": ["totl"]}}, Parameters={"a.$": "$.totl"}) == []


@rows(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"properties": {"total": {}}, "additionalProperties": True},
        {"properties": {"total": {}}, "additionalProperties": {"type": "string"}},
        {"properties": {"total": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
        {"properties": {"total": {}}, "allOf": [{"properties": {"x": {}}}]},
        {"anyOf": [{"properties": {"x": {}}}, {"properties": {"total": {}}}]},
        {"type": ["object", "string"], "properties": {"total": {}}},
    ],
)
def test_of_what_a_schema_leaves_open_nothing_is_said(schema: Json) -> None:
    assert after({"OutputSchema": schema}, Parameters={"a.$": "$.x"}) == []


def test_a_reader_of_the_result_itself_is_told_too() -> None:
    (details,) = after({"ResultSelector": {"sum.$": "$.totl"}}, Parameters={})
    assert details.startswith("/States/Price/ResultSelector/sum.$: State 'Price' reads $.totl")
    (details,) = after({"Output": "{% $states.result.totl %}"}, "JSONata")
    assert details.startswith("/States/Price/Output: State 'Price' reads $states.result.totl")
    (details,) = after({"Assign": {"sum.$": "$.totl"}})
    assert details.startswith("/States/Price/Assign/sum.$")


@rows(
    ("price", "path", "is_promised"),
    [
        ({"ResultPath": "$.price"}, "$.price.total", True),
        ({"ResultPath": "$.price"}, "$.price.totl", False),
        ({"ResultPath": "$.price"}, "$.anything", True),
        ({"ResultPath": "$.a.b"}, "$.a.b.totl", False),
        ({"ResultPath": "$.a.b"}, "$.a.c", True),
        ({"ResultPath": None}, "$.totl", True),
        ({"ResultSelector": {"sum.$": "$.total", "all.$": "$"}}, "$.all.totl", False),
        ({"ResultSelector": {"sum.$": "$.total", "all.$": "$"}}, "$.anything", True),
        ({"OutputPath": "$.lines[0]"}, "$.price", False),
        ({"OutputPath": "$.lines[0]"}, "$.sku", True),
        ({"ResultPath": "$.price", "OutputPath": "$.price"}, "$.totl", False),
    ],
)
def test_results_are_followed_through_the_fields_that_move_them(
    price: dict[str, Json], path: str, is_promised: bool
) -> None:
    assert (after(price, Parameters={"a.$": path}) == []) is is_promised


@rows(
    ("output", "expression", "is_promised"),
    [
        ("{% $states.result %}", "$states.input.totl", False),
        ("{% $states.result.lines %}", "$states.input.price", False),
        ("{% $states.result.lines %}", "$states.input.sku", True),
        ({"price": "{% $states.result %}"}, "$states.input.price.totl", False),
        ({"price": "{% $states.result %}"}, "$states.input.anything", True),
        ("{% $states.input.lines %}", "$states.input.price", True),
        ("{% $merge([$states.input, $states.result]) %}", "$states.input.totl", True),
    ],
)
def test_results_are_followed_through_output(output: Json, expression: str, is_promised: bool) -> None:
    assert (after({"Output": output}, "JSONata", Arguments=f"{{% {expression} %}}") == []) is is_promised


def test_what_passes_through_other_states_is_followed() -> None:
    states: dict[str, Any] = {
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Mark"},
        "Mark": {"Type": "Pass", "Result": 1, "ResultPath": "$.mark", "Next": "Choose"},
        "Choose": {"Type": "Choice", "Choices": [{"Variable": "$.mark", "NumericEquals": 1, "Next": "Ship"}]},
        "Ship": {"Type": "Task", "Parameters": {"a.$": "$.mark", "b.$": "$.totl"}},
    }
    (warning,) = warnings({}, **states)
    assert warning.startswith("/States/Ship/Parameters/b.$")


def test_variables_are_followed() -> None:
    (details,) = after(
        {"Assign": {"price": "{% $states.result %}"}}, "JSONata", Arguments="{% $price.totl + $other.x %}"
    )
    assert "reads $price.totl" in details
    (details,) = after({"Assign": {"price.$": "$"}}, Parameters={"a.$": "$price.totl"})
    assert "reads $price.totl" in details


def test_a_variable_that_is_assigned_elsewhere_too_is_not_judged() -> None:
    again = {"Type": "Pass", "Assign": {"price": {"totl": 1}}, "Next": "Ship"}
    ship = {"Type": "Task", "Arguments": "{% $price.totl %}"}
    assert warnings({"Assign": {"price": "{% $states.result %}"}}, "JSONata", Again=again, Ship=ship) == []


def test_a_state_with_several_ways_in_is_told_only_if_it_fails_on_all_of_them() -> None:
    schema = {"properties": {"totl": {}}, "additionalProperties": False}
    other = {"Type": "Task", "OutputSchema": schema, "Next": "Ship"}
    rule = {"Variable": "$.total", "IsNull": True, "Next": "Other"}
    choose = {"Type": "Choice", "Choices": [rule], "Default": "Ship"}
    for path, count in (("$.totl", 0), ("$.sum", 1), ("$.total", 0)):
        ship = {"Type": "Task", "Parameters": {"a.$": path}}
        assert len(warnings({}, Choose=choose, Other=other, Ship=ship)) == count, path


def test_what_a_catch_leads_to_is_not_judged_by_the_result() -> None:
    price = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Ship"}]}
    assert after(price, Parameters={"a.$": "$.Cause"}) == []
    details = after(
        {"Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Ship"}]}, Parameters={}
    )
    assert details == []


def test_a_loop_that_adds_to_its_input_ends() -> None:
    again = {"Type": "Pass", "Parameters": {"inner.$": "$", "n.$": "$.n"}, "Next": "Choose"}
    choose = {
        "Type": "Choice",
        "Choices": [{"Variable": "$.total", "IsPresent": True, "Next": "Again"}],
        "Default": "Ship",
    }
    assert warnings({}, Choose=choose, Again=again, Ship={"Type": "Succeed"}) == []


def test_what_is_known_stays_known_in_a_loop() -> None:
    again = {"Type": "Pass", "Result": 1, "ResultPath": "$.mark", "Next": "Choose"}
    rule = {"Variable": "$.total", "NumericEquals": 1, "Next": "Again"}
    choose = {"Type": "Choice", "Choices": [rule], "Default": "Ship"}
    ship = {"Type": "Task", "Parameters": {"a.$": "$.totl", "b.$": "$.mark"}}
    (warning,) = warnings({}, Choose=choose, Again=again, Ship=ship)
    assert "reads $.totl" in warning


def test_a_choice_may_ask_whether_a_field_is_there() -> None:
    rule = {"And": [{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "NumericEquals": 1}], "Next": "Ship"}
    choose = {"Type": "Choice", "Choices": [rule], "Default": "Ship"}
    ship = {"Type": "Succeed"}
    assert warnings({"OutputSchema": OPEN}, Choose=choose, Ship=ship) == []
    blind = {"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericEquals": 1, "Next": "Ship"}], "Default": "Ship"}
    assert warnings({"OutputSchema": OPEN}, Choose=blind, Ship=ship)[0].startswith("/States/Choose/Choices/0/Variable")


def test_instructions_are_read_with_what_the_worker_gets() -> None:
    (details,) = after({}, Instructions="Ship {% $states.input.totl %}.")
    assert details.startswith("/States/Ship/Instructions: State 'Ship' reads $states.input.totl")
    value = {"order.$": "$"}
    (details,) = after({}, Instructions="{% $states.input.order.totl %}, {% $states.input.any %}", Parameters=value)
    assert "reads $states.input.order.totl" in details


def test_iterations_and_branches_are_followed() -> None:
    inner = {"StartAt": "Pack", "States": {"Pack": {"Type": "Task", "Parameters": {"a.$": "$.price"}, "End": True}}}
    each = {"Type": "Map", "ItemsPath": "$.lines", "ItemProcessor": inner}
    (warning,) = warnings({}, Each=each)
    assert warning.startswith("/States/Each/ItemProcessor/States/Pack/Parameters/a.$: State 'Pack' reads $.price")
    assert warnings({}, Each=each | {"ItemSelector": {"x.$": "$$.Map.Item.Value"}}) == []
    (warning,) = warnings({}, Both={"Type": "Parallel", "Branches": [inner]})
    assert warning.startswith("/States/Both/Branches/0/States/Pack")


def test_a_machine_without_schemas_is_not_looked_at() -> None:
    states = {"Price": {"Type": "Task", "Next": "Ship"}, "Ship": {"Type": "Task", "InputPath": "$.totl", "End": True}}
    assert judge_machine({"StartAt": "Price", "States": states}).warnings == ()


def test_the_pointers_begin_at_the_document() -> None:
    states = {
        "Price": {"Type": "Task", "OutputSchema": ORDER, "Next": "Ship"},
        "Ship": {"Type": "Task", "InputPath": "$.totl", "End": True},
    }
    validation = judge_machine({"workflow_name": "w", "asl": {"StartAt": "Price", "States": states}})
    assert [warning for warning in validation.warnings if warning.startswith("/asl/States/Ship/InputPath: ")]
