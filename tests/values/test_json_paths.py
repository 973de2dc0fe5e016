"""Paths: what is one is read, what is none is refused with its place, and they lead to exactly one value."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.errors import InvalidArgument
from dcf.values.json_paths import MISSING, JsonStep, find, parse_path, pinned, put, remove, spell
from dcf.values.refusal import Refusal
from tests.support.tables import rows

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5)
)
NAMES = st.text(max_size=4) | st.sampled_from(["a", "b", "a.b", "0", "*", "$", "", "'", '"', "\\", "[0]", "\n", "🎉"])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
STEPS = st.lists(NAMES | st.integers(-3, 3), max_size=5).map(tuple)


@rows(
    ("text", "steps"),
    [
        ("", ()),
        ("$", ()),
        ("$.a", ("a",)),
        ("a", ("a",)),
        ("a.b-c_d.0", ("a", "b-c_d", "0")),
        ("$.größe.状態", ("größe", "状態")),
        ("$['a.b']", ("a.b",)),
        ('$["a.b"].c', ("a.b", "c")),
        ("['x'].y", ("x", "y")),
        ("$['*']['$']['']", ("*", "$", "")),
        ("$['it\\'s']", ("it's",)),
        (r'$["\"\\\n\u00e9\ud83c\udf89"]', ('"\\\né🎉',)),
        ("$.list[0]", ("list", 0)),
        ("$[-1][12]", (-1, 12)),
        ("list[0].a", ("list", 0, "a")),
    ],
)
def test_what_names_one_place_is_read(text: str, steps: tuple[JsonStep, ...]) -> None:
    assert parse_path(text) == steps


@rows(
    ("text", "place", "reason"),
    [
        ("*", 1, "several values"),
        ("$.*", 3, "several values"),
        ("$..a", 3, "several values"),
        ("$.a[*]", 4, "brackets hold"),
        ("$.a[1:2]", 4, "brackets hold"),
        ("$.a[0,1]", 4, "brackets hold"),
        ("$['a','b']", 2, "brackets hold"),
        ("$.a[?(@.b)]", 4, "brackets hold"),
        ("$.a[01]", 4, "brackets hold"),
        ("$.a[-0]", 4, "brackets hold"),
        ("$.a[9999999999]", 4, "brackets hold"),
        ("$.a[ 0 ]", 4, "brackets hold"),
        ("$.a['x]", 4, "brackets hold"),
        ("$.a[]", 4, "brackets hold"),
        ("$['a\nb']", 2, "brackets hold"),
        ("$a", 2, "begins with"),
        ("$$", 2, "begins with"),
        (".a", 1, "a name is missing"),
        ("$.", 3, "a name is missing"),
        ("a.", 3, "a name is missing"),
        ("$.a b", 4, "begins with"),
        ("$.@", 3, "a name is missing"),
        ("/a/b", 1, "a name is missing"),
        ("$.a\x00", 4, "begins with"),
        (r"$['\q']", 2, "unknown escape"),
        (r"$['\ud83c']", 2, "not valid Unicode"),
    ],
)
def test_what_names_no_place_or_several_is_refused_with_where_and_why(text: str, place: int, reason: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_path(text, name="from_path")
    assert f"from_path is not a path at character {place} " in refused.value.message
    assert reason in refused.value.message
    assert "$.list[0]" in refused.value.hint


@rows("text", ["$" + ".a" * 65, "$." + "a" * 2000])
def test_a_path_has_a_length(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"more than 64 steps|longer than 2000"):
        parse_path(text)


@given(STEPS)
def test_a_spelled_path_is_read_as_the_same_steps(steps: tuple[JsonStep, ...]) -> None:
    assert parse_path(spell(steps)) == steps


@given(st.text(alphabet="$.a*[]'\"\\0-1, u\n", max_size=12))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        steps = parse_path(text)
    except InvalidArgument:
        return
    assert parse_path(spell(steps)) == steps


def follow(document: Any, steps: tuple[JsonStep, ...]) -> Any:
    """The naive model: Python's own indexing, with the types told apart."""
    step: Any
    for step in steps:
        if not isinstance(document, dict if isinstance(step, str) else list):
            raise KeyError(step)
        document = document[step]
    return document


@given(DOCUMENTS, STEPS)
def test_a_value_is_found_where_python_finds_it(document: Any, steps: tuple[JsonStep, ...]) -> None:
    try:
        expected = follow(document, steps)
    except (KeyError, IndexError):
        expected = MISSING
    assert find(document, steps) is expected


@given(DOCUMENTS, STEPS, SCALARS)
def test_putting_changes_one_place_and_no_other(document: Any, steps: tuple[JsonStep, ...], value: Any) -> None:
    before = json.dumps(document)
    changed = put(document, steps, value)
    assert json.dumps(document) == before, "the document itself is left alone"
    if isinstance(changed, Refusal):
        with pytest.raises((KeyError, IndexError)):
            follow(document, steps)
        return
    assert find(changed, steps) is value
    model: Any = [copy.deepcopy(document)]
    here: Any = model
    key: Any = 0
    for step in steps:
        if isinstance(step, str) and not (isinstance(here, list) and -len(here) <= key < len(here)):
            here[key] = here.get(key, {})
        here, key = here[key], step
        if isinstance(here, dict) and isinstance(key, str) and key not in here:
            here[key] = {}
    here[key] = value
    assert json.dumps(model[0]) == json.dumps(changed)


@given(DOCUMENTS, STEPS.filter(bool))
def test_removing_takes_away_one_place_and_no_other(document: Any, steps: tuple[JsonStep, ...]) -> None:
    if find(document, steps) is MISSING:
        return
    before = json.dumps(document)
    model = copy.deepcopy(document)
    del follow(model, steps[:-1])[steps[-1]]
    assert json.dumps(remove(document, steps)) == json.dumps(model)
    assert json.dumps(document) == before


@given(DOCUMENTS, STEPS)
def test_pinned_steps_lead_to_the_same_place_and_are_not_negative(document: Any, steps: tuple[JsonStep, ...]) -> None:
    if find(document, steps) is not MISSING:
        json_steps = pinned(document, steps)
        assert find(document, json_steps) is find(document, steps)
        assert not any(isinstance(step, int) and step < 0 for step in json_steps)


@rows(
    ("steps", "code", "words"),
    [
        (("s", "x"), "wrong_type", "At '$.s' is a string, not an object."),
        (("n", "x"), "wrong_type", "At '$.n' is null, not an object."),
        (("l", "x"), "wrong_type", "At '$.l' is an array, not an object."),
        (("o", 0), "wrong_type", "At '$.o' is an object, not an array."),
        (("l", 2), "not_found", "The array at '$.l' has 2 elements and none of number 2."),
        (("l", -3), "not_found", "The array at '$.l' has 2 elements and none of number -3."),
        (("new", 0), "not_found", "At '$.new' is nothing, not an array."),
    ],
)
def test_where_nothing_can_be_put_is_said_with_the_place(steps: tuple[JsonStep, ...], code: str, words: str) -> None:
    result = put({"s": "x", "n": None, "l": [1, 2], "o": {}}, steps, 1)
    assert isinstance(result, Refusal)
    assert (result.code, result.message) == (code, words)
