"""Changes of documents: exact, complete, or refused; never half, never silently nothing."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.values import json_edits
from dcf.values.json_edits import Edited, depth, refuse_growth
from dcf.values.json_paths import MISSING, JsonSteps, find, parse_path, put, remove
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.values.test_json_paths import DOCUMENTS, STEPS

# The examples of RFC 7386, appendix A: original, patch, result.
MERGE_PATCHES = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]


@rows(("target", "patch", "result"), MERGE_PATCHES)
def test_a_merge_patch_does_what_rfc_7386_shows(target: str, patch: str, result: str) -> None:
    original, change = json.loads(target), json.loads(patch)
    deepcopy = copy.deepcopy((original, change))
    assert json_edits.merge_patch(original, change) == json.loads(result)
    assert (original, change) == deepcopy


def edited(edited: Edited | Refusal) -> Any:
    assert isinstance(edited, Edited), edited
    return edited.document


def refused(edited: Edited | Refusal) -> str:
    assert isinstance(edited, Refusal), edited
    return edited.code


def at(text: str) -> JsonSteps:
    return parse_path(text)


def test_merging_where_nothing_is_creates_the_parents() -> None:
    assert edited(json_edits.merge({}, at("a.b"), {"x": 1, "y": None})) == {"a": {"b": {"x": 1}}}
    assert edited(json_edits.merge({"a": [1]}, at("a"), {"x": 1})) == {"a": {"x": 1}}


def test_a_default_is_put_only_where_nothing_or_null_is() -> None:
    assert edited(json_edits.ensure({}, at("a.b"), 1)) == {"a": {"b": 1}}
    assert edited(json_edits.ensure({"a": None}, at("a"), 1)) == {"a": 1}
    values: list[Any] = [0, False, "", [], {}]
    for present in values:
        assert edited(json_edits.ensure({"a": present}, at("a"), 1)) == {"a": present}


def test_an_array_is_appended_as_one_element_unless_it_is_to_be_spread() -> None:
    assert edited(json_edits.append({"l": [1]}, at("l"), [2, 3])) == {"l": [1, [2, 3]]}
    assert edited(json_edits.append({"l": [1]}, at("l"), [2, 3], spread=True)) == {"l": [1, 2, 3]}
    assert refused(json_edits.append({"l": [1]}, at("l"), 2, spread=True)) == "invalid_argument"


def test_appending_makes_arrays_and_lengthens_strings_and_refuses_all_else() -> None:
    assert edited(json_edits.append({}, at("a.l"), None)) == {"a": {"l": [None]}}
    assert edited(json_edits.append([1], (), 2)) == [1, 2]
    assert edited(json_edits.append({"s": "a"}, at("s"), "b")) == {"s": "ab"}
    assert refused(json_edits.append({"s": "a"}, at("s"), 1)) == "wrong_type"
    values: list[Any] = [None, 1, True, {}]
    for present in values:
        assert refused(json_edits.append({"a": present}, at("a"), 1)) == "wrong_type"


INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63 - 1, 0, 1, -1])


@given(INTEGERS, INTEGERS)
def test_integers_are_added_exactly_or_not_at_all(one: int, other: int) -> None:
    outcome = json_edits.increment({"n": one}, ("n",), other)
    if -(2**63) <= one + other < 2**63:
        result = edited(outcome)["n"]
        assert type(result) is int
        assert result == one + other
    else:
        assert refused(outcome) == "out_of_range"


@rows(
    ("present", "delta", "result"),
    [(1, 1, "2"), (1, -1, "0"), (1, 0.5, "1.5"), (1.5, 1, "2.5"), (0.1, 0.2, "0.30000000000000004"), (1.0, 1, "2.0")],
)
def test_a_sum_is_an_integer_only_where_both_are(present: Any, delta: Any, result: str) -> None:
    assert json.dumps(edited(json_edits.increment({"n": present}, ("n",), delta))["n"]) == result


@rows(("present", "delta"), [(2**60, 0.5), (0.5, 2**60), (1e308, 1e308), (1e300, 1), (1.0, 1e300), (2**63 - 1, 1)])
def test_what_would_be_rounded_away_is_refused(present: Any, delta: Any) -> None:
    assert refused(json_edits.increment({"n": present}, ("n",), delta)) == "out_of_range"


@rows("present", [None, "1", True, [1], {}])
def test_only_numbers_are_incremented(present: Any) -> None:
    assert refused(json_edits.increment({"n": present}, ("n",), 1)) == "wrong_type"


def test_nothing_counts_as_zero() -> None:
    assert edited(json_edits.increment({}, at("a.n"), 5)) == {"a": {"n": 5}}


def test_deleting_takes_one_value_and_empties_the_whole() -> None:
    assert edited(json_edits.delete({"a": [1, 2, 3]}, at("a[1]"))) == {"a": [1, 3]}
    assert edited(json_edits.delete({"a": 1}, at("b"))) == {"a": 1}
    assert edited(json_edits.delete([1], ())) == {}


def test_a_move_within_an_array_counts_as_the_array_was_before() -> None:
    result = json_edits.move({"l": ["x", "y", "z"]}, at("l[0]"), at("l[1]"), overwrite=True)
    assert edited(result) == {"l": ["x", "z"]}
    assert isinstance(result, Edited)
    assert find(result.document, result.at) == "x"


def test_a_value_moves_out_of_what_it_replaces() -> None:
    assert edited(json_edits.move({"a": {"b": {"c": 1}}}, at("a.b"), at("a"), overwrite=True)) == {"a": {"c": 1}}


@rows("target", ["l[2].x", "l[-1].x", "l[2].x.y"])
def test_no_value_moves_into_itself_however_that_is_spelled(target: str) -> None:
    document = {"l": [1, 2, {"x": 1}]}
    for source in ("l[2]", "l[-1]"):
        assert refused(json_edits.move(document, at(source), at(target), overwrite=True)) == "invalid_argument"


@given(DOCUMENTS, STEPS, STEPS, st.booleans())
def test_a_move_loses_nothing_but_what_it_replaces(
    document: Any, source: JsonSteps, target: JsonSteps, overwrite: bool
) -> None:
    before = json.dumps(document)
    value, there = find(document, source), find(document, target)
    edited = json_edits.move(document, source, target, overwrite=overwrite)
    assert json.dumps(document) == before
    if isinstance(edited, Refusal):
        return
    assert value is not MISSING
    assert json.dumps(find(edited.document, edited.at)) == json.dumps(value)
    if there is MISSING:
        back = remove(edited.document, edited.at)
        removed = remove(document, source)
        if isinstance(find(removed, target[:-1]), dict):
            assert json.dumps(back, sort_keys=True) == json.dumps(removed, sort_keys=True)


@given(DOCUMENTS, STEPS, STEPS)
def test_a_copy_is_a_set_of_what_is_there(document: Any, source: JsonSteps, target: JsonSteps) -> None:
    edited = json_edits.copy(document, source, target, overwrite=True)
    if isinstance(edited, Edited):
        assert json.dumps(edited.document) == json.dumps(put(document, target, find(document, source)))


def test_what_is_there_is_replaced_only_where_that_is_allowed() -> None:
    document = {"a": 1, "b": None}
    for operate in (json_edits.copy, json_edits.move):
        assert refused(operate(document, at("a"), at("b"), overwrite=False)) == "already_exists"
        assert refused(operate(document, at("x"), at("c"), overwrite=True)) == "not_found"
        assert refused(operate(document, (), at("c"), overwrite=True)) == "invalid_argument"
        assert edited(operate(document, at("a"), at("a"), overwrite=False)) == document
        assert edited(operate(document, at("b"), at("c.d"), overwrite=False))["c"] == {"d": None}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return value


def test_documents_may_grow_to_a_size_and_a_depth_and_shrink_from_beyond() -> None:
    assert depth(1) == 1
    assert depth(nested(64)) == 64
    assert refuse_growth(MISSING, nested(64), 1000) is None
    for before, after in ((MISSING, nested(65)), (nested(64), nested(65)), ("x", "x" * 999)):
        refusal = refuse_growth(before, after, 1000)
        assert refusal is not None
        assert refusal.code == "too_large"
    assert refuse_growth(nested(70), nested(69), 1000) is None
    assert refuse_growth("x" * 2000, "x" * 1500, 1000) is None


def test_a_document_cannot_be_doubled_into_a_bomb() -> None:
    document: Any = {"a": "x" * 100}
    for _ in range(20):
        grown = edited(json_edits.copy({"a": document}, ("a",), ("b",), overwrite=True))
        if refuse_growth(document, grown, 10_000) is not None:
            return
        document = grown
    raise AssertionError("it grew without end")
