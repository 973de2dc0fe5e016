"""Values checked with the JSON Schema of a Task or of a question: matches, messages, and the time that it takes."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dcf.asl.json_schema import check as schema_check
from dcf.asl.json_schema.check import MAX_MISFITS, misfits
from dcf.asl.json_schema.syntax import doubts_of, flaws_of
from dcf.asl.json_schema.values import text_of
from dcf.values.json_text import Json, byte_length
from tests.support.tables import rows

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id", "lines"],
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "additionalProperties": False,
    "$defs": {
        "line": {
            "type": "object",
            "required": ["sku"],
            "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        }
    },
}


def told(schema: Json, value: Json) -> list[tuple[str, str]]:
    assert flaws_of(schema) == ()
    return [(misfit.pointer, misfit.message) for misfit in misfits(schema, value)]


def messages(schema: Json, value: Json) -> list[str]:
    return [message for _, message in told(schema, value)]


def test_a_value_that_matches_has_no_misfit() -> None:
    assert told(ORDER, {"id": "AB-7", "lines": [{"sku": "x", "count": 1.0}], "note": None}) == []


def test_everything_that_does_not_match_is_told_with_its_place() -> None:
    assert told(ORDER, {"id": "7", "lines": [{"sku": 7, "count": 0}, {}], "notes": "a/b"}) == [
        ("/id", 'must match the pattern ^[A-Z]{2}-[0-9]+$, which "7" does not'),
        ("/lines/0/sku", "must be a string, not 7"),
        ("/lines/0/count", "must be at least 1, not 0"),
        ("/lines/1", "'sku' is missing"),
        ("/notes", "the schema has no 'notes'; it has id, lines, note"),
    ]


def test_a_place_is_a_json_pointer() -> None:
    assert told({"additionalProperties": {"type": "null"}}, {"a/b~c": 1})[0][0] == "/a~1b~0c"


def test_of_alternatives_the_one_that_comes_nearest_is_told() -> None:
    schema = {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"n": {"type": "integer"}}}]}
    assert messages(schema, {"n": "x"}) == ['matches none of 2 alternatives: /n must be a whole number, not "x"']


@rows(
    ("schema", "value", "message"),
    [
        (False, 1, "nothing may be here"),
        ({"type": ["string", "null"]}, {}, "must be a string or null, not an object"),
        ({"enum": ["a", 1]}, "b", 'must be one of "a", 1, not "b"'),
        ({"const": {"a": 1}}, [], 'must be {"a":1}, not an array'),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3, not 3"),
        ({"multipleOf": 0.1}, 0.35, "must be a multiple of 0.1, not 0.35"),
        ({"maxLength": 1}, "ab", "must have at most 1 characters, not 2"),
        ({"minProperties": 1}, {}, "must have at least 1 members, not 0"),
        ({"uniqueItems": True}, [1, {"a": 1, "b": 2}, {"b": 2, "a": 1.0}], "is in the array twice"),
        ({"contains": {"type": "null"}}, [1], "must contain at least 1 of the elements"),
        ({"maxContains": 1, "contains": True}, [1, 2], "must contain at most 1 of the elements"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "'b' is missing, which belongs to 'a'"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "the name 'ab': must have at most 1 characters"),
        ({"oneOf": [True, True]}, 1, "matches 2 of 2 alternatives, and must match one"),
        ({"not": {"type": "null"}}, None, "must not match the schema in not"),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", "must have at least 2 characters"),
        ({"format": "date"}, "2026-02-30", 'must be of the format date, not "2026-02-30"'),
    ],
)
def test_a_misfit_is_told_in_words(schema: Json, value: Json, message: str) -> None:
    assert messages(schema, value)[0].startswith(message)


@rows(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-11-23T03:26:11.25+01:00", "2026-11-23 03:26"),
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "03:26:11Z", "25:00:00Z"),
        ("email", "ann@example.com", "ann.example.com"),
        ("hostname", "example.com", "-example.com"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", "::1::"),
        ("uri", "https://example.com/a", "/a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
    ],
)
def test_formats_are_checked(name: str, good: str, bad: str) -> None:
    assert told({"format": name}, good) == []
    assert len(told({"format": name}, bad)) == 1
    assert told({"format": name}, 7) == []


def test_a_format_that_nobody_knows_is_not_checked() -> None:
    assert told({"format": "colour"}, "loud") == []


@rows(
    ("pattern", "text", "is_found"),
    [
        ("", "anything", True),
        ("b", "abc", True),
        ("^a$", "a\n", False),
        ("^[(){}/]+$", "(/}", True),
        ("a/b", "a/b", True),
        (r"a\/b", "a/b", True),
        (r"^\d{2,3}$", "1234", False),
        ("^.+\n$", "a\n", True),
        ("(?:é|ß)", "Straße", True),
    ],
)
def test_patterns_are_those_of_ecmascript(pattern: str, text: str, is_found: bool) -> None:
    assert (told({"pattern": pattern}, text) == []) is is_found
    assert (told({"patternProperties": {pattern: False}}, {text: 1}) == []) is not is_found


# Limits

DOUBLING: dict[str, Any] = {
    "$ref": "#/$defs/0",
    "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": True},
}


@rows(
    ("schema", "value"),
    [
        ({"pattern": "(a+)+$"}, "a" * 50 + "!"),
        ({"pattern": "(a|aa)+$"}, "a" * 100 + "!"),
        ({"items": {"pattern": "^(.*,)*x$"}}, ["a," * 30 + "b"] * 1000),
        ({"patternProperties": {"(a+)+$": True}}, {"a" * 50 + "!": 1}),
        ({"items": {"items": {"enum": [*[[1] * 80] * 100, [1] * 79 + [2]]}}}, [[[1] * 79 + [2]] * 100] * 10),
        (DOUBLING, 1),
        ({"items": {"dependentRequired": {f"a{number}": [] for number in range(2500)}}}, [{}] * 5000),
        (
            {"items": {"anyOf": [{"dependentRequired": {"a": [f"b{number}" for number in range(3500)]}}, True]}},
            [{"a": 1}] * 5000,
        ),
        ({"items": {"dependentSchemas": {f"a{number}": True for number in range(2500)}}}, [{}] * 5000),
        ({"allOf": [{"format": "uri"}] * 1000}, "a:" + "b" * 100_000),
    ],
)
def test_a_check_that_would_not_end_is_given_up(schema: Json, value: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_check, "MAX_CHECKS", schema_check.MAX_CHECKS // 20)
    monkeypatch.setattr(schema_check, "MAX_MATCHING", schema_check.MAX_MATCHING // 20)
    assert messages(schema, value)[0].startswith("it cannot be checked")


def test_a_long_value_is_named_without_being_read_to_its_end() -> None:
    unreadable: Any = object()
    assert text_of([*[1] * 100, unreadable]) == "an array"
    assert text_of({"a": {"b": "c" * 100}, "d": unreadable}) == "an object"
    assert text_of([[1, "a"], {"b": None}]) == '[[1,"a"],{"b":null}]'


def test_misfits_are_few_and_short() -> None:
    value = [{"x" * 5_000: "y" * 5_000} for _ in range(20)]
    result = told({"items": {"type": "string", "maxProperties": 0, "additionalProperties": False}}, value)
    assert len(result) == MAX_MISFITS
    assert byte_length([[*item] for item in result]) < MAX_MISFITS * 700


def test_a_deep_value_is_checked_down_to_its_ground() -> None:
    value: Json = 1
    for _ in range(60):
        value = [value]
    schema = {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "integer"}]}
    assert told(schema, value) == []


# Schemas


@rows(
    ("schema", "pointer", "message"),
    [
        (7, "", "a JSON Schema is an object, not a number"),
        (None, "", "a JSON Schema is an object, not null"),
        ({"type": "numbr"}, "/type", "type must be one of object"),
        ({"type": []}, "/type", "type must be one of object"),
        ({"type": ["null", "null"]}, "/type", "type names something twice"),
        ({"properties": {"a": 7}}, "/properties/a", "a schema is needed here"),
        ({"properties": []}, "/properties", "properties must be an object of schemas"),
        ({"items": [{}]}, "/items", "a schema is needed here, not an array"),
        ({"required": "id"}, "/required", "required must be an array of strings"),
        ({"minLength": -1}, "/minLength", "minLength must be a whole number from 0"),
        ({"minimum": True}, "/minimum", "minimum must be a number, not a boolean"),
        ({"anyOf": []}, "/anyOf", "anyOf must be an array of at least one schema"),
        ({"items": {"pattern": "("}}, "/items/pattern", "pattern is not a regular expression"),
        ({"pattern": r"^\p{Lu}"}, "/pattern", "pattern has \\p{…}"),
        ({"patternProperties": {"(": {}}}, "/patternProperties/(", "the pattern is not a regular expression"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema", "$schema names another dialect"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "/$ref", "leads out of the schema"),
        ({"$ref": "other.json#/a"}, "/$ref", "leads out of the schema"),
        ({"$ref": "#/$defs/line"}, "/$ref", "there is no schema at '#/$defs/line'"),
        ({"const": {"a": {}}, "items": {"$ref": "#/const/a"}}, "/items/$ref", "there is no schema at"),
        ({"$ref": "#"}, "", "refers to itself without end"),
        ({"$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}]}}}, "/$defs/x", "refers to itself without end"),
        ({"anyOf": [{"unevaluatedProperties": False}]}, "/anyOf/0/unevaluatedProperties", "is not supported"),
        ({"properties": {"a": {"$id": "b"}}}, "/properties/a/$id", "cannot have an $id"),
        ({"description": "x" * 40_000}, "", "more than 32768 bytes"),
    ],
)
def test_a_schema_that_values_cannot_be_checked_with_has_a_flaw(schema: Json, pointer: str, message: str) -> None:
    flaws = flaws_of(schema)
    assert (len(flaws), flaws[0].pointer) == (1, pointer)
    assert message in flaws[0].message


def test_all_flaws_are_told_and_no_more_than_can_be_read() -> None:
    assert [flaw.pointer for flaw in flaws_of({"type": 7, "items": {"minItems": "1"}})] == ["/type", "/items/minItems"]
    assert len(flaws_of({"properties": {str(n): {"type": 7} for n in range(100)}})) == 20


def test_a_schema_may_refer_to_itself_for_a_part_of_the_value() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    assert messages(tree, {"left": {"right": 7}}) == ["must be an object, not 7"]


def test_names_and_data_may_be_called_as_keywords_are() -> None:
    assert flaws_of({"properties": {"pattern": {"enum": [{"$ref": "x"}]}, "$id": True}, "required": ["pattern"]}) == ()


def test_a_word_that_is_nearly_a_keyword_is_doubted() -> None:
    flaws = doubts_of({"requird": ["a"], "properties": {"requird": {"x-note": 1, "minLenght": 2}}})
    assert [flaw.pointer for flaw in flaws] == ["/requird", "/properties/requird/minLenght"]
    assert flaws[0].message.endswith("did you mean 'required'?")


# Compared with the usual library

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, -1, 1.5, "", "a", "ab", "abc"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
COUNTS = st.integers(0, 3)
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
PATTERNS = st.sampled_from(["a", "^a", "b$", "^[ab]+$", ""])


def keywords(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    schemas, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(NAMES, inner, max_size=3)
    names = st.lists(NAMES, unique=True, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "enum": st.lists(VALUES, max_size=3),
            "const": VALUES,
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties"), COUNTS),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-1, 2)),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "pattern": PATTERNS,
            "required": names,
            "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
            "properties": named,
            "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "dependentSchemas": named,
            "items": inner,
            "prefixItems": schemas,
            "contains": inner,
            "minContains": COUNTS,
            "maxContains": COUNTS,
            "uniqueItems": st.booleans(),
            "allOf": schemas,
            "anyOf": schemas,
            "oneOf": schemas,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": st.just("#/$defs/d"),
        },
    )


SCHEMAS = st.recursive(st.booleans(), keywords, max_leaves=8)


def with_definition(schema: Json, definition: Json) -> Json:
    return {"allOf": [schema], "$defs": {"d": definition}}


@given(schema=SCHEMAS, definition=SCHEMAS, value=VALUES)
@example(schema={"const": 1}, definition=True, value=True)
@example(schema={"uniqueItems": True}, definition=True, value=[1, 1.0])
@example(schema={"items": False, "prefixItems": [True]}, definition=True, value=[1, 1])
@example(schema={"items": False, "prefixItems": [True]}, definition=True, value=[1])
@example(schema={"minContains": 0, "contains": False}, definition=True, value=[1])
def test_values_match_exactly_when_the_usual_library_says_so(schema: Json, definition: Json, value: Json) -> None:
    whole = with_definition(schema, definition)
    Draft202012Validator.check_schema(whole)
    if flaws_of(whole):  # only what leads back to itself, which the library follows until its stack overflows
        assert "without end" in flaws_of(whole)[0].message
        return
    assert (misfits(whole, value) == ()) is Draft202012Validator(whole).is_valid(value)


@settings(max_examples=200, deadline=None)
@given(word=st.sampled_from(sorted(schema_check._KEYWORDS)), value=VALUES)
def test_what_the_usual_library_does_not_take_for_a_schema_has_a_flaw(word: str, value: Json) -> None:
    schema = {word: value}
    if not Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema):
        assert flaws_of(schema)
