"""The line of a timeline: every time has its place, in order, and long idle spans are drawn short if that is wanted."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dcf.workflows.drawing.time_scale import WIDTH, idle_spans, scale

SPANS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(lambda span: (min(span), max(span))), max_size=20
)


@given(SPANS, st.booleans(), st.lists(st.integers(-10, 10**9 + 10), min_size=2))
def test_later_times_are_never_further_left_and_the_ends_are_the_ends(
    busy: list[tuple[int, int]], folded: bool, times: list[int]
) -> None:
    line = scale(0, 10**9, busy, folded=folded)
    places = [line.place(at) for at in sorted(times)]
    assert all(first <= other + 1e-6 for first, other in pairwise(places))
    assert (line.place(0), round(line.place(10**9), 6)) == (0, WIDTH)


@given(SPANS, st.booleans(), st.integers(0, 10**9))
def test_a_place_leads_back_to_its_time(busy: list[tuple[int, int]], folded: bool, at: int) -> None:
    line = scale(0, 10**9, busy, folded=folded)
    assert abs(line.time(line.place(at)) - at) <= 10


def test_without_folding_equal_times_are_equally_long() -> None:
    line = scale(0, 1000, [(0, 10), (990, 1000)], folded=False)
    assert [line.place(at) for at in (0, 250, 500, 1000)] == [0, 250, 500, 1000]


def test_a_long_idle_span_is_short_when_folded_and_what_was_worked_gets_its_room() -> None:
    busy = [(0, 100), (900, 1000)]
    line = scale(0, 1000, busy, folded=True)
    assert line.folds == ((100, 900),)
    assert line.place(900) - line.place(100) < 20
    assert abs(line.place(100) - (WIDTH - line.place(900))) < 1e-6


def test_short_gaps_are_not_folded_and_overlapping_work_leaves_none() -> None:
    assert idle_spans(0, 1000, [(0, 500), (510, 1000)]) == ()
    assert idle_spans(0, 1000, [(0, 600), (100, 200), (400, 1000)]) == ()


def test_where_nothing_lasted_nothing_is_folded() -> None:
    assert idle_spans(0, 1000, []) == ()
    assert idle_spans(0, 1000, [(400, 400)]) == ()
    assert scale(0, 1000, [(400, 400)], folded=True).place(1000) == WIDTH


def test_a_run_without_any_time_has_a_line_all_the_same() -> None:
    line = scale(5, 5, [], folded=False)
    assert (line.place(5), line.place(6)) == (0, WIDTH)
