"""Records: dataclasses that mypy keeps from being changed."""

from dataclasses import field

import pytest

from dcf.values.records import record, replace


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


def test_a_field_that_a_record_lacks_cannot_be_replaced() -> None:
    with pytest.raises(AttributeError):
        replace(Point(x=1), y=2)  # type: ignore[call-arg]


def test_a_field_that_a_record_lacks_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Point(x=1).y = 2  # type: ignore[attr-defined]


def test_mypy_refuses_to_set_a_field() -> None:
    """Proved by the check of the types: it reports an ignore that ignores nothing."""
    point = Point(x=1)
    point.x = 2  # type: ignore[misc]
    assert point.x == 2, "Python itself does not check it"
