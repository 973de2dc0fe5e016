"""Forms from JSON Schemas: which fields they have, and the JSON that filled fields mean."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.asl.json_schema.check import misfits
from dcf.web.form_fields import MOST_FIELDS, FormField, form_of, read_form
from tests.support.tables import rows

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["customer", "total"],
    "properties": {
        "customer": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "maxLength": 5}, "kind": {"enum": ["new", 3, None]}},
        },
        "total": {"type": "number", "minimum": 1, "title": "Total", "description": "In euros."},
        "express": {"type": "boolean", "default": True},
        "lines": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
    },
}
GOOD = {"in/customer/name": "Ada", "in/total": "2.5"}


def fields(form: FormField) -> dict[str, FormField]:
    form_fields = {form.name: form}
    for field in form.fields:
        form_fields |= fields(field)
    return form_fields


def test_each_kind_of_value_has_its_kind_of_field() -> None:
    form_fields = fields(form_of(ORDER, "in", "Input"))
    assert {name: field.kind for name, field in form_fields.items()} == {
        "in": "group",
        "in/customer": "group",
        "in/customer/name": "text",
        "in/customer/kind": "choice",
        "in/total": "number",
        "in/express": "boolean",
        "in/lines": "json",
        "in/address": "group",
        "in/address/city": "text",
    }
    total = form_fields["in/total"]
    assert (total.label, total.description, total.limits, total.required) == ("Total", "In euros.", "at least 1", True)
    assert form_fields["in/customer/kind"].options == (('"new"', "new"), ("3", "3"), ("null", "null"))
    assert form_fields["in/express"].value == "true"


def test_what_is_filled_in_becomes_json_and_what_is_empty_is_left_out() -> None:
    assert read_form(ORDER, "in", GOOD) == ({"customer": {"name": "Ada"}, "total": 2.5}, {})
    more = {"in/customer/kind": "null", "in/express": "false", "in/lines": '["a"]', "in/address/city": "Rome"}
    value, problems = read_form(ORDER, "in", GOOD | more)
    assert value == {
        "customer": {"name": "Ada", "kind": None},
        "total": 2.5,
        "express": False,
        "lines": ["a"],
        "address": {"city": "Rome"},
    }
    assert problems == {}


@rows(
    ("wrong", "field", "told"),
    [
        ({"in/customer/name": ""}, "in/customer/name", "needed"),
        ({"in/customer/name": "Adalbert"}, "in/customer/name", "5"),
        ({"in/total": "much"}, "in/total", "not a number"),
        ({"in/total": "true"}, "in/total", "not a number"),
        ({"in/total": "0"}, "in/total", "1"),
        ({"in/customer/kind": '"old"'}, "in/customer/kind", "one of the list"),
        ({"in/express": "perhaps"}, "in/express", "yes or no"),
        ({"in/lines": "[1"}, "in/lines", "JSON"),
        ({"in/lines": "[1]"}, "in/lines", "a string"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(wrong: dict[str, str], field: str, told: str) -> None:
    _, problems = read_form(ORDER, "in", GOOD | wrong)
    assert list(problems) == [field]
    assert told in problems[field]


def test_a_form_shown_again_has_what_was_filled_in_and_no_default() -> None:
    form_fields = fields(form_of(ORDER, "in", "Input", {"in/total": "much"}))
    assert (form_fields["in/total"].value, form_fields["in/express"].value) == ("much", "")


@rows(
    "schema",
    [
        True,
        {},
        {"type": "array"},
        {"oneOf": [{"type": "string"}]},
        {"type": "no type"},
        {"type": "object"},
        {"type": "object", "properties": {"a\u202eb": {}}},
        {"type": "object", "properties": {f"m{number}": {"type": "string"} for number in range(MOST_FIELDS)}},
    ],
)
def test_what_has_no_fields_is_written_as_json(schema: Any) -> None:
    form = form_of(schema, "in", "Input")
    assert (form.kind, form.fields) == ("json", ())
    assert read_form(schema, "in", {})[0] == {}


def test_references_are_followed_and_a_tree_ends_as_json() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}}}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    form_fields = fields(form_of(schema, "in", "Input"))
    deepest = max(form_fields, key=len)
    assert form_fields["in/child/child/name"].kind == "text"
    assert form_fields[deepest].kind in {"text", "json"}
    assert len(form_fields) <= MOST_FIELDS
    value, problems = read_form(schema, "in", {"in/child/name": "b"})
    assert (value, problems) == ({"child": {"name": "b"}}, {})


def test_member_names_of_any_kind_come_back() -> None:
    schema = {"type": "object", "properties": {"a/b ~c": {"type": "string"}, "<i>": {"type": "integer"}}}
    (first, second) = form_of(schema, "in", "Input").fields
    value, problems = read_form(schema, "in", {first.name: "x", second.name: "7"})
    assert (value, problems) == ({"a/b ~c": "x", "<i>": 7}, {})


LEAVES = st.sampled_from(
    [
        {"type": "string", "minLength": 2},
        {"type": ["integer", "null"], "maximum": 5},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["x", 1, None, [2]]},
        {"type": "array", "items": {"type": "integer"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=4)
    return members.map(lambda made: {"type": "object", "properties": made, "required": sorted(made)[:2]})


TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["true", "3", "2.5", "[1]", '"x"', "null", "[", "1e999", "NaN"]),
)


@given(st.recursive(LEAVES, objects, max_leaves=6), st.data())
def test_a_form_without_problems_means_a_value_that_its_schema_takes(schema: Any, data: st.DataObject) -> None:
    named = list(fields(form_of(schema, "in", "Input")))
    filled = data.draw(st.dictionaries(st.sampled_from(named), TEXTS))
    value, problems = read_form(schema, "in", filled)
    assert set(problems) <= set(named)
    if not problems:
        assert misfits(schema, value) == ()
        json.dumps(value, allow_nan=False)
