"""Pages of large values and pieces of texts: together they are the whole, and none is cut in the middle."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.values.json_pages import Page, page
from dcf.values.json_text import dump
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import LONGEST, utf8_piece
from tests.values.test_json_paths import DOCUMENTS


@given(DOCUMENTS, st.integers(8, 60))
def test_the_pages_of_a_value_are_the_value(value: Any, longest: int) -> None:
    result: list[Any] = []
    cursor: int | None = 0
    while cursor is not None:
        part = page(value, cursor, longest)
        if isinstance(part, Refusal):
            assert part.code == "too_large"
            return
        assert type(part.value) is type(value)
        assert isinstance(value, int | float | None) or len(dump(part.value)) <= longest
        result.append(part.value)
        assert part.cursor is None or part.cursor > cursor
        cursor = part.cursor
    if isinstance(value, str):
        assert "".join(result) == value
    elif isinstance(value, list):
        assert json.dumps([item for part in result for item in part]) == json.dumps(value)
    elif isinstance(value, dict):
        assert json.dumps({name: item for part in result for name, item in part.items()}) == json.dumps(value)
    else:
        assert result == [value]


def test_what_fits_is_one_page_and_a_cursor_beyond_it_is_refused() -> None:
    assert page([1, 2], 0, 100) == Page(value=[1, 2], total=2)
    assert page([1, 2], 2, 100) == Page(value=[], total=2)
    values: list[Any] = [[1, 2], 7, None, "ab", {}]
    for value in values:
        result = page(value, 3, 100)
        assert isinstance(result, Refusal)
        assert result.code == "out_of_range"


@given(st.text(alphabet="aé状🎉", max_size=30), st.integers(1, 9))
def test_the_pieces_of_a_text_are_the_text(text: str, length: int) -> None:
    data, offset, result = text.encode(), 0, ""
    while offset < len(data):
        skipped, piece = utf8_piece(data[offset : offset + length + LONGEST], length)
        assert (skipped, len(piece) > 0) == (0, True)
        result += piece.decode()
        offset += len(piece)
    assert result == text


@given(st.text(alphabet="aé状🎉", min_size=1, max_size=10), st.data())
def test_a_piece_may_begin_anywhere(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    offset = data.draw(st.integers(0, len(encoded)))
    skipped, piece = utf8_piece(encoded[offset:], len(encoded))
    assert text.endswith(piece.decode())
    assert skipped < LONGEST


@given(st.binary(max_size=20), st.integers(1, 9))
def test_any_bytes_have_pieces(data: bytes, length: int) -> None:
    skipped, piece = utf8_piece(data, length)
    assert data[skipped : skipped + len(piece)] == piece
