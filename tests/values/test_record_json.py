"""Codecs: the JSON that follows from the types of a record's fields, and what a reader makes of damaged documents."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record
from tests.support.tables import rows


class Colour(StrEnum):
    """A word."""

    RED = "red"
    BLUE = "blue"


@record(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A record in another."""

    size: int = 1
    spokes: tuple[int, ...] = ()
    as_json = json_method(named={"size": "inches"})


@record(frozen=True, slots=True, kw_only=True)
class Cart:
    """A record with a field of each kind."""

    name: str
    made_at: int
    colour: Colour = Colour.RED
    use: Literal["work", "sport"] = "work"
    owner: str | None = None
    sold_at: int | None = None
    doors: int = 2
    is_open: bool = False
    tags: tuple[str, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    spare: Wheel | None = None
    front: Wheel = Wheel()
    wheels: tuple[Wheel, ...] = ()
    by_place: Mapping[str, Wheel] = field(default_factory=dict)
    load: Json = None

    @property
    def is_sold(self) -> bool:
        """Whether it is sold."""
        return self.sold_at is not None

    as_json = json_method("name is_sold sold_at front **facts", named={"name": "cart"}, times="sold_at")


CART = Cart(
    name="a",
    made_at=5,
    colour=Colour.BLUE,
    use="sport",
    owner="ann",
    sold_at=7,
    doors=4,
    is_open=True,
    tags=("x", "y"),
    facts={"f": [1]},
    counts={"c": 2},
    spare=Wheel(size=3),
    front=Wheel(spokes=(4,)),
    wheels=(Wheel(), Wheel(size=2)),
    by_place={"left": Wheel(size=9)},
    load={"l": None},
)
WHOLE = {
    "name": "a",
    "made_at": 5,
    "colour": "blue",
    "use": "sport",
    "owner": "ann",
    "sold_at": 7,
    "doors": 4,
    "is_open": True,
    "tags": ["x", "y"],
    "facts": {"f": [1]},
    "counts": {"c": 2},
    "spare": {"size": 3, "spokes": []},
    "front": {"size": 1, "spokes": [4]},
    "wheels": [{"size": 1, "spokes": []}, {"size": 2, "spokes": []}],
    "by_place": {"left": {"size": 9, "spokes": []}},
    "load": {"l": None},
}


@rows("strict", [False, True])
def test_an_object_has_a_member_for_each_field_and_reads_as_the_record(strict: bool) -> None:
    codec = RecordCodec(Cart, strict=strict)
    written = codec.write(CART)
    assert written == WHOLE
    assert list(written) == list(WHOLE)
    assert codec.read(written) == CART


BARE = Cart(name="", made_at=0)


@rows(
    "left_out, members",
    [
        ("nothing", list(WHOLE)),
        ("none", [name for name in WHOLE if name not in ("owner", "sold_at", "spare", "load")]),
        ("empty", ["name", "made_at", "colour", "use", "doors", "is_open", "front"]),
        ("defaults", ["name", "made_at"]),
    ],
)
def test_a_codec_leaves_out_what_it_is_told_to_leave_out(left_out: Any, members: list[str]) -> None:
    codec = RecordCodec(Cart, left_out=left_out)
    assert list(codec.write(BARE)) == members
    assert codec.read(codec.write(BARE)) == BARE
    assert codec.read(codec.write(CART)) == CART


def test_a_codec_says_order_names_and_times_and_takes_attributes_of_records_inside() -> None:
    codec = RecordCodec(
        Cart,
        "sold_at front.spokes made_at name front.size",
        named={"front.size": "inches", "name": "cart"},
        times="sold_at made_at",
    )
    cart = Cart(name="a", made_at=2 * SECOND, front=Wheel(size=8, spokes=(6,)))
    written = {"sold_at": None, "spokes": [6], "made_at": "1970-01-01T00:00:02.000000Z", "cart": "a", "inches": 8}
    assert codec.write(cart) == written
    assert list(codec.write(cart)) == list(written)
    assert codec.read(written) == cart
    assert codec.read(written, owner="ann") == Cart(name="a", made_at=2 * SECOND, front=cart.front, owner="ann")


def test_a_record_in_another_is_written_by_the_codec_that_is_named_for_it() -> None:
    inches = RecordCodec(Wheel, "size", named={"size": "in"})
    codec = RecordCodec(Cart, "name wheels spare", codecs={"wheels": inches})
    cart = Cart(name="a", made_at=0, wheels=(Wheel(size=3),))
    assert codec.write(cart) == {"name": "a", "wheels": [{"in": 3}], "spare": None}
    assert codec.read(codec.write(cart), made_at=0) == cart


def test_a_view_has_properties_members_of_mappings_and_views_of_records_inside() -> None:
    assert CART.as_json() == {
        "cart": "a",
        "is_sold": True,
        "sold_at": "1970-01-01T00:00:00.000007Z",
        "front": {"inches": 1, "spokes": [4]},
        "f": [1],
    }
    assert BARE.as_json()["is_sold"] is False


@rows(
    "member, damaged, read",
    [
        ("name", 5, ""),
        ("made_at", "soon", 0),
        ("made_at", -4, 0),
        ("made_at", True, 0),
        ("made_at", 300.0, 300),
        ("made_at", 1e300, 0),
        ("colour", "pink", Colour.RED),
        ("colour", ["blue"], Colour.RED),
        ("use", {}, "work"),
        ("owner", ["ann"], None),
        ("sold_at", {}, None),
        ("doors", None, 2),
        ("is_open", "yes", False),
        ("tags", ["x", 5, "y"], ("x", "y")),
        ("tags", "xy", ()),
        ("facts", [], {}),
        ("counts", {"a": "b", "c": 3}, {"a": 0, "c": 3}),
        ("spare", [], None),
        ("front", None, Wheel()),
        ("wheels", [1, {"size": "x"}], (Wheel(),)),
        ("by_place", {"left": 5}, {"left": Wheel()}),
    ],
)
def test_what_is_damaged_reads_as_the_default_or_as_empty(member: str, damaged: Json, read: object) -> None:
    made = RecordCodec(Cart).read({**WHOLE, member: damaged})
    assert getattr(made, member) == read


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(WHOLE)), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_lenient_reader_makes_a_record_of_any_json(document: Json) -> None:
    made = RecordCodec(Cart).read(document)
    assert RecordCodec(Cart).read(RecordCodec(Cart).write(made)) == made


@rows(
    "document",
    [
        {name: value for name, value in WHOLE.items() if name != "name"},
        {**WHOLE, "colour": "pink"},
        {**WHOLE, "tags": None},
        {**WHOLE, "wheels": [{"spokes": 5}]},
        None,
    ],
)
def test_a_strict_reader_raises_where_it_cannot_make_the_record(document: Json) -> None:
    kinds = RecordCodec(Cart, strict=True)
    with pytest.raises((KeyError, TypeError, ValueError)):
        kinds.read(document)


def test_a_strict_reader_takes_the_default_of_what_may_be_left_out() -> None:
    with pytest.raises(KeyError):
        RecordCodec(Wheel, strict=True).read({"size": 5})
    assert RecordCodec(Wheel, strict=True, added="spokes").read({"size": 5}) == Wheel(size=5)
    assert RecordCodec(Cart, strict=True, left_out="none").read({"name": "a", "made_at": 5}) == Cart(
        name="a", made_at=5
    )


def test_a_strict_reader_takes_a_damaged_time_as_none_where_a_field_may_be_none() -> None:
    codec = RecordCodec(Cart, "name made_at sold_at", times="made_at sold_at", strict=True)
    assert codec.read({"name": "a", "made_at": "soon", "sold_at": "never"}) == Cart(name="a", made_at=0)


def test_a_method_that_was_taken_before_its_first_call_works_each_time() -> None:
    codec = RecordCodec(Wheel)
    write, read = codec.write, codec.read
    assert [write(Wheel(size=2)), write(Wheel(size=3))] == [{"size": 2, "spokes": []}, {"size": 3, "spokes": []}]
    assert [read({"size": 2}), read({"size": 3})] == [Wheel(size=2), Wheel(size=3)]


def test_a_compiled_codec_makes_no_call_of_python_for_a_plain_member() -> None:
    codec = RecordCodec(Cart, "name made_at colour use owner sold_at doors is_open facts load")
    document = codec.write(CART)
    codec.read(document)
    assert _calls(lambda: codec.write(CART)) == 1
    assert _calls(lambda: codec.read(document)) == 2, "itself, and the record's own method"


def _calls(run: Callable[[], object]) -> int:
    """Return how many functions of Python a function calls."""
    count = 0

    def count_call(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count - 1  # the function itself


@record(frozen=True, slots=True, kw_only=True)
class Mark:
    """A record that counts only if it is whole, with a pair and a count."""

    name: str
    at: int
    pair: tuple[int, Json] | None = None
    most: int = 1
    marks: "tuple[Mark, ...]" = ()


MARKS: RecordCodec[Mark] = RecordCodec(
    Mark,
    rare="pair most marks",
    counts="most",
    whole=True,
    codecs={"marks": RecordCodec(Mark, "name at", whole=True)},
)


def test_rare_members_are_left_out_where_they_have_the_default() -> None:
    assert MARKS.write(Mark(name="a", at=1)) == {"name": "a", "at": 1}
    inner = Mark(name="b", at=2)
    mark = Mark(name="a", at=1, pair=(0, "x"), most=2, marks=(inner,))
    written = {"name": "a", "at": 1, "pair": [0, "x"], "most": 2, "marks": [{"name": "b", "at": 2}]}
    assert MARKS.write(mark) == written
    assert MARKS.read(written) == mark


@rows("document", [None, [], {}, {"name": "a"}, {"at": 1}, {"name": 1, "at": 1}, {"name": "a", "at": "1"}], ids=str)
def test_a_whole_reader_returns_none_without_a_member_that_has_no_default(document: Json) -> None:
    assert MARKS.read(document) is None
    inside = MARKS.read({"name": "a", "at": 1, "marks": [document, {"name": "b", "at": 2}]})
    assert inside == Mark(name="a", at=1, marks=(Mark(name="b", at=2),))


@rows("member", [{"pair": [1]}, {"pair": {}}, {"pair": [1, 2, 3]}, {"most": 0}, {"most": 0.5}, {"marks": {}}], ids=str)
def test_a_pair_of_another_length_and_a_count_of_0_are_damaged(member: dict[str, Json]) -> None:
    assert MARKS.read({"name": "a", "at": 1, **member}) == Mark(name="a", at=1)
