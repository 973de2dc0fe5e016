"""Lengths of time and points in time as people write them."""

from dcf.values.instants import SECOND
from dcf.values.spans import read_moment, read_span
from tests.support.tables import rows

NOW = 1_800_000_000 * SECOND


@rows(("text", "seconds"), [("45s", 45), ("30m", 1800), ("12h", 43_200), ("90d", 7_776_000)])
def test_a_length_of_time_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert read_span(text) == seconds
    assert read_moment(text, NOW) == NOW - seconds * SECOND


@rows("text", ["", "5", "d", "0s", "-1d", "1w", "1.5h", "1d ", "3651d", "9999999999d", "\N{ARABIC-INDIC DIGIT ONE}d"])
def test_anything_else_is_none(text: str) -> None:
    assert read_span(text) is None
    assert read_moment(text, NOW) is None


def test_a_point_in_time_has_a_time_zone() -> None:
    assert read_moment("2026-11-22T09:00:00Z", NOW) == read_moment("2026-11-22T10:00:00+01:00", NOW)
    assert read_moment("2026-11-22T09:00:00", NOW) is None
