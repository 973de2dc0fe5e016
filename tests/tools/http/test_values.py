"""The count of values in a body: the same however the body is cut into parts, and what is in a text does not count."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.tools.http.values import ValueCount
from tests.support.tables import rows

DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab",[{\\\n\u00e9'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a",\\'), inner),
    max_leaves=20,
)


def _values(document: Any) -> int:
    """One for each container, and one for each of its values but the first."""
    if not isinstance(document, dict | list):
        return 0
    inside = document.values() if isinstance(document, dict) else document
    return 1 + max(0, len(document) - 1) + sum(map(_values, inside))


def _count(*parts: bytes) -> int:
    count = ValueCount()
    for part in parts:
        count.add(part)
    return count.found


@given(DOCUMENTS, st.lists(st.integers(0, 200), max_size=8), st.booleans())
def test_a_body_has_as_many_values_however_it_is_cut(document: Any, cuts: list[int], ascii_only: bool) -> None:
    body = json.dumps(document, ensure_ascii=ascii_only).encode()
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    parts = [body[begin:end] for begin, end in pairwise(places)]
    assert _count(*parts) == _count(body) == _values(document)


@rows("text", ['"' * 1000, "\\" * 1001, "[,{" * 1000, '\\"' * 1000])
def test_a_document_sent_as_text_is_one_value(text: str) -> None:
    body = json.dumps({"a": text, "b": 1}).encode()
    assert _count(*(body[at : at + 7] for at in range(0, len(body), 7))) == 2
