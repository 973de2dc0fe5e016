"""Reference paths: how they are spelled, what they find, and where they write."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.asl.expressions.paths import MISSING, ROOT, parse_path
from dcf.asl.surroundings import NOWHERE, Surroundings
from dcf.errors import StateError
from tests.support.tables import rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@rows(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.a.b", ("a", "b")),
        ("$.store\\.book", ("store.book",)),
        ("$.\\stor\\e.boo\\k", ("store", "book")),
        ("$.foo\\@bar.baz\\[\\[.\\?pretty", ("foo@bar", "baz[[", "?pretty")),
        ("$.&Ж中.\U00010346", ("&Ж中", "\U00010346")),
        ("$.&Ж中.\\uD800\\uDF46", ("&Ж中", "\U00010346")),
        ("$.ledgers[0][22][315].foo", ("ledgers", 0, 22, 315, "foo")),
        ("$['store'][0]['book']", ("store", 0, "book")),
        ('$["a b"][ -1 ]', ("a b", -1)),
        ("$['it\\'s']", ("it's",)),
        ("$['a\\\\b']", ("a\\b",)),
        ('$[\'Test\\""Name"\']', ('Test\\""Name"',)),
        ("$['a.b[0]:*']", ("a.b[0]:*",)),
        ("$.sub-values", ("sub-values",)),
        ("$['']", ("",)),
        ("$[0]", (0,)),
        ("$.[0].body", (0, "body")),
        ("$.X.[0].['a b']", ("X", 0, "a b")),
        ("$.a  ", ("a",)),
        ("$ ", ()),
        ("$.a\\ ", ("a ",)),
    ],
)
def test_a_path_is_read_into_steps(text: str, steps: tuple[str | int, ...]) -> None:
    path = parse_path(text)
    assert (path.steps, path.in_context) == (steps, False)


def test_two_dollars_lead_into_the_context_object() -> None:
    path = parse_path("$$.State.Name")
    assert (path.in_context, path.steps) == (True, ("State", "Name"))
    assert path.read({"State": {"Name": "wrong"}}, Surroundings(context={"State": {"Name": "right"}})) == "right"
    assert parse_path("$$").read(1, Surroundings(context={"a": 2})) == {"a": 2}


@rows(
    "text",
    [
        "",
        "a",
        ".a",
        "$.",
        "$a.",
        "$.a.",
        "$[",
        "$[]",
        "$[a]",
        "$['a]",
        "$.a b",
        "$.a\\",
        "$.a]",
        "$.length()",
        "$['a'",
        "$.a .b",
        "$.[",
        "$[0",
        "$[1.5]",
        "$.\\uD800",
        "$" + ".a" * 65,
    ],
)
def test_what_is_no_path_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"path|steps|Unicode|variable"):
        parse_path(text)


@rows(
    ("text", "found"),
    [
        ("$.*", [[1, 2, 3], {"b": 4}]),
        ("$.a[*]", [1, 2, 3]),
        ("$..b", [4]),
        ("$.a[1:]", [2, 3]),
        ("$.a[:1]", [1]),
        ("$.a[-2:]", [2, 3]),
        ("$.a[0,2]", [1, 3]),
        ("$.a[?(@ > 1)]", [2, 3]),
        ("$.none[*].x", []),
        ("$.none[?(@.x == 1)]", []),
        ("$.a.[*]", [1, 2, 3]),
        ("$.a[*] ", [1, 2, 3]),
        ("$.list.[?(@.Name==Receipt)].[0]", []),
        ("$.list.[?(@.Name==Receipt)].n", [1]),
        ("$.list[?(@.Name == Receipt && @.n<2)].n", [1]),
        ("$.list[?(@.Name!=Receipt)].n", [True]),
        ("$.list[?(@.n==true)].n", [True]),
        ("$.listed[?(@==false)]", [False]),
        ("$.listed[?(@==null)]", [None]),
        ("$.list[?(@.Name<Sale)].n", [1]),
        ("$.list[?(@.Name==Receipt || @.Name==Bill)].n", [1]),
        ('$.list[?(@.Name=="it.[0]==x)")].n', [True]),
        ("$..[0]", [1]),
        ("$.list[?(@.Name=='it.[0]==x)')].n", [True]),
    ],
)
def test_what_may_select_several_values_selects_an_array(text: str, found: list[Any]) -> None:
    named = [{"Name": "Receipt", "n": 1}, {"Name": "it.[0]==x)", "n": True}]
    document = {"a": [1, 2, 3], "o": {"b": 4}} | ({"list": named, "listed": [False, None]} if "list" in text else {})
    assert parse_path(text).read(document, NOWHERE) == found


@rows("text", ["$.a[?", "$.a[(@.length-1)]", "$.a[?(@ =~ /x/)]", "$..a..b..c", "$.a[?match(@, 'x')]"])
def test_what_the_library_refuses_or_may_not_see_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="'"):
        parse_path(text)


def test_a_name_after_the_dollar_is_a_variable() -> None:
    around = Surroundings(variables={"v": {"a": [1, 2]}})
    assert parse_path("$v").read(None, around) == {"a": [1, 2]}
    assert parse_path("$v.a[1]").read(None, around) == 2
    assert parse_path("$v.a[*]").read(None, around) == [1, 2]
    with pytest.raises(StateError):
        parse_path("$other").read(None, around)
    assert parse_path("$v ").read(None, around) == {"a": [1, 2]}
    with pytest.raises(ValueError, match="unexpected"):
        parse_path("$v-x")


@rows(
    ("text", "document"),
    [
        ("$.a", {}),
        ("$.a", []),
        ("$.a", "text"),
        ("$.a.b", {"a": None}),
        ("$[0]", {"0": 1}),
        ("$[0]", "text"),
        ("$[1]", [1]),
        ("$[-2]", [1]),
        ("$.a", None),
    ],
)
def test_reading_what_is_not_there_is_a_runtime_error(text: str, document: Any) -> None:
    assert parse_path(text).find(document, NOWHERE) is MISSING
    with pytest.raises(StateError) as failure:
        parse_path(text).read(document, NOWHERE)
    assert failure.value.error == "States.Runtime"
    assert text in failure.value.cause


def test_null_is_a_value() -> None:
    assert parse_path("$.a").read({"a": None}, NOWHERE) is None


def test_a_negative_index_counts_from_the_end() -> None:
    assert parse_path("$[-1]").read([1, 2], NOWHERE) == 2


@rows(
    ("text", "document", "written"),
    [
        ("$", {"a": 1}, 9),
        ("$.a", {"a": 1, "b": 2}, {"a": 9, "b": 2}),
        ("$.a.b.c", {"x": 1}, {"x": 1, "a": {"b": {"c": 9}}}),
        ("$.a[1]", {"a": [1, 2, 3]}, {"a": [1, 9, 3]}),
        ("$.a[-1]", {"a": [1, 2]}, {"a": [1, 9]}),
        ("$.a[2]", {"a": [1, 2]}, {"a": [1, 2, 9]}),
        ("$[0].x", [{"y": 1}], [{"y": 1, "x": 9}]),
        ("$[0].x", [], [{"x": 9}]),
    ],
)
def test_writing_replaces_or_adds_one_value(text: str, document: Any, written: Any) -> None:
    before = copy.deepcopy(document)
    assert parse_path(text).write(document, 9) == written
    assert document == before


@rows(
    ("text", "document"),
    [
        ("$.a", 1),
        ("$.a", []),
        ("$.a", None),
        ("$.a.b", {"a": None}),
        ("$.a.b", {"a": "text"}),
        ("$.a[0]", {}),
        ("$.a[0]", {"a": {}}),
        ("$.a[2]", {"a": [1]}),
        ("$.a[-2]", {"a": [1]}),
        ("$$.a", {}),
    ],
)
def test_writing_where_the_input_does_not_fit_is_a_match_failure(text: str, document: Any) -> None:
    with pytest.raises(StateError) as failure:
        parse_path(text).write(document, 9)
    assert failure.value.error == "States.ResultPathMatchFailure"


def test_only_a_path_without_reserved_characters_may_be_written_to() -> None:
    assert parse_path("$.a\\:b").plain
    assert parse_path("$['a:b']").plain
    assert not parse_path("$.a:b").plain
    assert not parse_path("$.a\\\\:b").plain


def test_only_the_bare_dollar_is_the_root() -> None:
    assert ROOT.is_root
    assert not parse_path("$$").is_root
    assert not parse_path("$.a").is_root


def _quoted(name: str) -> str:
    return "['" + name.replace("\\", "\\\\").replace("'", "\\'") + "']"


def _dotted(name: str) -> str:
    # Letters and digits stay bare: a backslash before u would begin a code unit.
    return "." + "".join(part if part.isalnum() else "\\" + part for part in name)


@given(names=st.lists(NAMES, min_size=1, max_size=4), value=JSON, data=st.data())
def test_a_written_value_is_read_back_however_the_path_is_spelled(
    names: list[str], value: Any, data: st.DataObject
) -> None:
    spellings = [data.draw(st.sampled_from([_quoted, _dotted]))(name) for name in names]
    path = parse_path("$" + "".join(spellings))
    assert path.steps == tuple(names)
    assert path.read(path.write({}, value), NOWHERE) == value


@given(document=JSON, value=JSON, steps=st.lists(st.sampled_from([".a", "[0]", "[-1]", "[1]", ".b"]), max_size=4))
def test_writing_never_changes_its_argument(document: Any, value: Any, steps: list[str]) -> None:
    before, value_before = copy.deepcopy(document), copy.deepcopy(value)
    path = parse_path("$" + "".join(steps))
    try:
        written = path.write(document, value)
    except StateError:
        pass
    else:
        assert path.read(written, NOWHERE) == value
    assert (document, value) == (before, value_before)


@given(st.text(max_size=20).map("$".__add__) | st.text(alphabet="$.[]'\"\\a0:*?,()@- u", max_size=12))
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    try:
        path = parse_path(text)
    except ValueError as error:
        str(error).encode()
    else:
        assert path.text == text
