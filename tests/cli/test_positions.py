import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.cli.positions import locate
from dcf.workflows.validation.pointers import pointer

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def places(value: Any, steps: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    result = [steps]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        result += places(part, (*steps, step))
    return result


def test_a_member_is_where_its_key_is_and_an_element_where_its_value_is() -> None:
    text = '{\n  "a": [1,\n     {"b/c": 2}],\n  "d": "x,{]\\""}\n'
    result = locate(text, {"", "/a", "/a/0", "/a/1", "/a/1/b~1c", "/d"})
    assert result == {
        "": (1, 1),
        "/a": (2, 3),
        "/a/0": (2, 9),
        "/a/1": (3, 6),
        "/a/1/b~1c": (3, 7),
        "/d": (4, 3),
    }


def test_what_is_not_there_has_the_place_of_what_should_hold_it() -> None:
    assert locate('{"a":\n [7]}', {"/a/5", "/b/c", "/a/0/x"}) == {"/a/5": (1, 2), "/b/c": (1, 1), "/a/0/x": (2, 3)}


@given(VALUES, st.sampled_from([None, 1, 3]))
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = text.split("\n")
    stepses = {pointer(steps): steps for steps in places(value)}
    for path, (line, column) in locate(text, stepses).items():
        rest = lines[line - 1][column - 1 :]
        step = stepses[path][-1] if stepses[path] else None
        assert rest.startswith(json.dumps(step) + ":") if isinstance(step, str) else not rest[0].isspace()
