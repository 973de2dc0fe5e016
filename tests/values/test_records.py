"""Records: dataclasses that mypy keeps from being changed."""

import copy
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from dcf.values.records import fields_of, record, replace


@record(frozen=True, slots=True, kw_only=True)
class Point:
    """A record with a default that is made for each."""

    x: int
    tags: tuple[str, ...] = field(default_factory=tuple)


def test_records_are_compared_hashed_and_replaced_as_frozen_dataclasses_are() -> None:
    assert Point(x=1) == Point(x=1, tags=())
    assert len({Point(x=1), Point(x=1), Point(x=2)}) == 2
    before = Point(x=1, tags=("a",))
    assert replace(before, x=2) == Point(x=2, tags=("a",))
    assert before == Point(x=1, tags=("a",))


@record(frozen=True, slots=True, kw_only=True)
class Doubled:
    """A record with a field that is worked out of another."""

    x: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.x)


def test_a_field_that_is_worked_out_is_worked_out_again() -> None:
    assert replace(Doubled(x=1), x=2).double == 4


@record(frozen=True, slots=True, kw_only=True)
class DoubledPoint(Point):
    """A point of another kind, with a field that is worked out of one of its base."""

    double: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.x)


def test_a_field_that_is_worked_out_of_one_of_the_base_is_worked_out_again() -> None:
    assert replace(DoubledPoint(x=1, tags=("a",)), x=2) == DoubledPoint(x=2, tags=("a",))
    assert replace(DoubledPoint(x=1), x=2).double == 4


def test_a_record_passes_the_fields_of_its_base_to_a_record_of_another_kind() -> None:
    assert Point(**fields_of(Point, DoubledPoint(x=1, tags=("a",)))) == Point(x=1, tags=("a",))


def test_a_field_that_a_record_lacks_cannot_be_replaced() -> None:
    with pytest.raises(AttributeError):
        replace(Point(x=1), y=2)  # type: ignore[call-arg]


def test_a_field_that_a_record_lacks_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Point(x=1).y = 2  # type: ignore[attr-defined]


def test_mypy_refuses_to_set_a_field() -> None:
    """Proved by the check of the types: it reports an ignore without effect."""
    point = Point(x=1)
    point.x = 2  # type: ignore[misc]
    assert point.x == 2, "Python itself does not check it"


@record(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A record with fields that are not compared, hashed or shown, and a method of its own."""

    name: str
    found: list[int] = field(default_factory=list, hash=False)
    seen_at: int = field(default=0, compare=False)
    secret: str = field(default="", repr=False)


@record(frozen=True, slots=True, kw_only=True)
class Named:
    """A record that says itself what it is equal to, and how it is shown."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return f"<{self.name}>"


@record(frozen=True, slots=True, eq=False)
class Unique:
    """A record that equals nothing but itself."""

    x: int


def test_fields_are_left_out_of_comparison_hash_and_text_where_they_say_so() -> None:
    shelf = Shelf(name="a", found=[1], seen_at=5, secret="s3")
    assert shelf == Shelf(name="a", found=[1], seen_at=6, secret="s3")
    assert shelf != Shelf(name="a", found=[2], secret="s3")
    assert shelf != Named(name="a")
    assert hash(shelf) == hash(Shelf(name="a", found=[2], secret="s3"))
    assert repr(shelf) == "Shelf(name='a', found=[1], seen_at=5)"
    shelf.found.append(shelf)  # type: ignore[arg-type]
    assert repr(shelf) == "Shelf(name='a', found=[1, ...], seen_at=5)"


def test_what_a_class_has_of_its_own_is_kept() -> None:
    assert Named(name="Ann") == Named(name="ann")
    assert {Named(name="Ann")} == {Named(name="ann")}
    assert repr(Named(name="Ann")) == "<Ann>"
    assert len({Unique(1), Unique(1)}) == 2


def test_records_are_copied_and_sent_to_other_processes() -> None:
    shelf = Shelf(name="a", found=[1])
    assert copy.deepcopy(shelf) == pickle.loads(pickle.dumps(shelf)) == shelf


@record(frozen=True)
class Mixed:
    """A record made by place and by name, whose fields have the names that its own code might use."""

    fields: int
    absent: int | None = None
    make: list[int] = field(default_factory=lambda: [1])
    self_: int = field(kw_only=True)


@record(frozen=True, slots=True, kw_only=True)
class Below(Point):
    """A record with more than the one above it."""

    z: int = 3
    seen: int = field(default=0, init=False)


def test_records_are_made_as_dataclasses_are() -> None:
    made = Mixed(1, self_=4)
    assert (made.fields, made.absent, made.make, made.self_) == (1, None, [1], 4)
    assert Mixed(1, self_=4).make is not made.make
    assert Mixed(1, 2, [], self_=4).make == []
    assert (Below(x=1).tags, Below(x=1).z, Below(x=1, tags=("a",), z=2).tags) == ((), 3, ("a",))
    assert Below(x=1).seen == 0
    wrong: Any = [
        (Mixed, (), {}),
        (Mixed, (1, 2, 3, 4), {}),
        (Point, (), {"x": 1, "y": 2}),
        (Point, (1,), {}),
    ]
    for make, by_place, by_name in wrong:
        with pytest.raises(TypeError, match="__init__"):
            make(*by_place, **by_name)


@record(frozen=True, slots=True, kw_only=True)
class Labelled:
    label: ClassVar[str] = "of all"

    size: int


def test_what_belongs_to_the_class_is_no_field() -> None:
    assert replace(Labelled(size=1), size=2) == Labelled(size=2)
    assert Labelled.label == "of all"
