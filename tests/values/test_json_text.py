"""JSON from outside, read strictly: as text or as a native value, the same is refused."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.errors import InvalidArgument
from dcf.values.json_text import MAX_BYTES, MAX_DEPTH, dump, load, parse
from tests.support.tables import rows

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def refusal(value: Any, **more: Any) -> str:
    with pytest.raises(InvalidArgument) as refused:
        parse(value, name="output_json", **more)
    assert refused.value.message.startswith("output_json ")
    assert refused.value.hint
    assert len(refused.value.message) < 300
    return refused.value.message


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(values)
def test_a_value_and_its_text_are_the_same(value: Any) -> None:
    assert parse(json.dumps(value), name="x") == value
    if not isinstance(value, str):
        assert parse(value, name="x") == value
    assert load(dump(value)) == value


def test_a_string_is_always_taken_as_json_text() -> None:
    assert parse("5", name="x") == 5
    assert parse('"5"', name="x") == "5"
    assert "is not valid JSON" in refusal("hello")


@rows("text", ["", " ", "{", "{'a': 1}", "[1,]", "01", "1 2", "\ufeff1", "nul"])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    assert "is not valid JSON" in refusal(text)


@rows("text", ['{"a":1,"a":1}', '[{"b":{"a":1,"c":2,"a":3}}]', '{"a":1,"\\u0061":2}'])
def test_a_key_that_appears_twice_is_refused_by_name(text: str) -> None:
    assert "the key 'a' appears twice" in refusal(text)


@rows("text", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a":-Infinity}'])
def test_what_is_no_number_in_json_is_refused_as_text(text: str) -> None:
    assert "is not a JSON number" in refusal(text)


@rows("value", ["1e400", "-1e400", float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_a_number_json_cannot_express_is_refused(value: Any) -> None:
    assert "NaN or infinity" in refusal(value)


@rows("value", [2**63, -(2**63) - 1, [10**4999], [2**64], str(2**63), "1" + "0" * 4000])
def test_an_integer_beyond_64_bits_is_refused(value: Any) -> None:
    assert "beyond 64 bits" in refusal(value)


def test_the_largest_integers_pass() -> None:
    assert parse([2**63 - 1, -(2**63)], name="x") == [2**63 - 1, -(2**63)]


def test_a_number_of_5000_digits_is_refused() -> None:
    assert "a number is too long" in refusal("9" * 5000)


@rows("value", ['"\\ud800"', '{"\\udfff":1}', ["\ud800"], {"\udfff": 1}])
def test_a_lone_surrogate_is_refused(value: Any) -> None:
    assert "not valid Unicode" in refusal(value)


def test_a_lone_surrogate_as_a_repeated_key_is_shown_escaped() -> None:
    assert refusal('{"\\ud800":1,"\\ud800":2}').isascii()


def test_an_emoji_in_two_halves_is_one_character() -> None:
    assert parse('"\\ud83d\\ude00"', name="x") == "\N{GRINNING FACE}"


@rows("depth", [MAX_DEPTH + 1, 100, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    deeper = f"nested deeper than {MAX_DEPTH} levels"
    assert deeper in refusal("[" * depth + "]" * depth)
    assert deeper in refusal('{"a":' * min(depth, 9000) + "1" + "}" * min(depth, 9000))
    assert deeper in refusal(nested(depth))


def test_the_deepest_value_that_is_allowed_passes() -> None:
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH, name="x") == nested(MAX_DEPTH)
    assert parse(nested(MAX_DEPTH), name="x") == nested(MAX_DEPTH)


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless += [endless]
    assert "nested deeper" in refusal(endless)
    endless += [endless]
    assert "larger than" in refusal(endless)


def test_what_is_too_large_is_refused_by_its_size_in_bytes() -> None:
    assert f"larger than {MAX_BYTES} bytes" in refusal('"' + "x" * MAX_BYTES + '"')
    assert f"larger than {MAX_BYTES} bytes" in refusal(["x" * MAX_BYTES])
    assert "larger than 10 bytes" in refusal('"äääää"', max_bytes=10)
    assert parse('"ääää"', name="x", max_bytes=10) == "ääää"
    assert parse(["x" * (MAX_BYTES - 4)], name="x")


@rows(
    ("value", "kind"), [((1, 2), "tuple"), (b"{}", "bytes"), ({1}, "set"), ([1j], "complex"), ({"a": object}, "type")]
)
def test_a_native_value_that_is_no_json_is_refused_by_its_type(value: Any, kind: str) -> None:
    assert f"holds a {kind}, which is not a JSON value" in refusal(value)


@rows("key", [1, None, True, (1, 2), b"a"])
def test_a_native_key_that_is_no_string_is_refused(key: Any) -> None:
    assert "a key that is not a string" in refusal([{key: 1}])


def test_many_keys_with_a_repetition_at_the_end_are_refused_quickly() -> None:
    keys = [f'"{number:x}":0' for number in range(25_000)]
    started = time.process_time()
    assert "appears twice" in refusal("{" + ",".join([*keys, keys[-1]]) + "}")
    assert time.process_time() - started < 1
