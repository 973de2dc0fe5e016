"""When schedules tick: cron text in a time zone whose clocks change, and every so many seconds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dcf.errors import InvalidArgument
from dcf.features.schedules.timing import LEAST_EVERY_S, MOST_TICKS, Cron, Every, due_ticks, read_cron, read_every
from dcf.values.instants import SECOND, from_text, to_text
from tests.support.tables import rows

VIENNA = "Europe/Vienna"
DAY = 86_400 * SECOND
YEAR = st.integers(min_value=1_767_225_600, max_value=1_798_761_600)
EVERY_MINUTE = "* * * * *"
CRONS = st.sampled_from(["*/7 * * * *", "0,30 2 * * *", "15 */3 * * *", "0 7 * * 1-5", "59 23 L * *", "30 2 * 3,10 0"])


def at(text: str) -> int:
    result = from_text(text)
    assert result is not None
    return result


def after(cron: str, text: str, zone: str = VIENNA) -> str:
    after = Cron(text=cron, timezone=zone).after(at(text))
    assert after is not None
    return to_text(after)[:16]


@rows(
    ("cron", "since", "tick"),
    [
        ("0 7 * * 1-5", "2026-11-20T06:00:00Z", "2026-11-23T06:00"),  # winter: Friday's tick has passed, Monday is next
        ("0 7 * * 1-5", "2026-07-01T04:59:59.999999Z", "2026-07-01T05:00"),  # summer
        ("30 2 * * *", "2026-03-28T02:00:00Z", "2026-03-29T01:00"),  # 02:30 does not exist: 03:00 summer time
        ("30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30"),
        ("45 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:45"),  # 02:45 comes twice: the first time only
        ("45 2 * * *", "2026-10-25T00:45:00Z", "2026-10-26T01:45"),
        ("45 2 * * *", "2026-10-25T01:40:00Z", "2026-10-26T01:45"),  # asked within the second hour
        ("*/30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:00"),  # both hours
        ("*/30 * * * *", "2026-10-25T01:00:00Z", "2026-10-25T01:30"),
        ("*/30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-28T23:00"),
    ],
)
def test_cron_text_ticks_by_the_clocks_of_its_time_zone(cron: str, since: str, tick: str) -> None:
    assert after(cron, since) == tick


@given(
    cron=CRONS | st.just(EVERY_MINUTE),
    since=YEAR,
    zone=st.sampled_from([VIENNA, "UTC", "America/Sao_Paulo", "Australia/Lord_Howe"]),
)
def test_the_next_tick_is_later_and_the_same_wherever_one_asks_before_it(cron: str, since: int, zone: str) -> None:
    timing = Cron(text=cron, timezone=zone)
    first = timing.after(since * SECOND)
    assert first is not None
    assert first > since * SECOND
    assert timing.after((since * SECOND + first) // 2) == first
    assert timing.after(first - 1) == first


@given(span=st.tuples(CRONS, st.integers(0, 9)) | st.tuples(st.just(EVERY_MINUTE), st.integers(0, 1)), since=YEAR)
@example(span=(EVERY_MINUTE, 9), since=1_767_225_600)
def test_what_is_due_is_every_tick_between_and_no_other(span: tuple[str, int], since: int) -> None:
    cron, days = span
    timing = Cron(text=cron, timezone=VIENNA)
    first = timing.after(since * SECOND)
    assert first is not None
    until = first + days * DAY
    due = due_ticks(timing, first, until)
    walked = [first]
    while (following := timing.after(walked[-1])) is not None and following <= until:
        walked.append(following)
    assert list(due.ticks) == walked[-MOST_TICKS:]
    assert due.next_at == timing.after(walked[-1])
    assert due.is_more or due.before == len(walked) - len(due.ticks)


@given(every=st.integers(min_value=LEAST_EVERY_S, max_value=10**7), since=YEAR, late=st.integers(0, 10**9))
def test_every_so_many_seconds_counts_from_its_beginning(every: int, since: int, late: int) -> None:
    timing = Every(seconds=every, anchor=since * SECOND)
    first = timing.after(timing.anchor)
    assert first == timing.anchor + every * SECOND
    due = due_ticks(timing, first, first + late * SECOND)
    assert due.before + len(due.ticks) == late // every + 1
    assert due.next_at == timing.after(first + late * SECOND)
    assert len(due.ticks) <= MOST_TICKS
    assert timing.after(timing.anchor - 10 * every * SECOND) == timing.anchor - 9 * every * SECOND


def test_a_year_of_missed_minutes_is_gone_through_in_bounded_work() -> None:
    first = at("2025-01-01T00:00:00Z")
    due = due_ticks(Cron(text="* * * * *"), first, first + 365 * DAY)
    assert (len(due.ticks), due.is_more) == (MOST_TICKS, True)
    assert (due.ticks[-1], due.next_at) == (first + 365 * DAY, first + 365 * DAY + 60 * SECOND)


def test_a_schedule_ticks_every_ten_seconds_at_most() -> None:
    assert read_every(LEAST_EVERY_S, 0).after(0) == 10 * SECOND
    with pytest.raises(InvalidArgument, match="every 10 seconds at most"):
        read_every(LEAST_EVERY_S - 1, 0)


@rows("text", ["* * * *", "* * * * * *", "60 * * * *", "", "@daily", "0 0 30 2 *", "1-0 x * * *"])
def test_what_is_no_cron_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_cron(text, None)


@rows("zone", ["Mars/Olympus", "Europe", "../etc/passwd", "/etc/localtime", "UTC\n", "a" * 99])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidArgument, match="no such time zone"):
        read_cron("* * * * *", zone)


def test_the_moment_a_year_begins_is_the_time_zones() -> None:
    assert after("0 0 1 1 *", "2026-06-01T00:00:00Z", "Pacific/Auckland") == "2026-12-31T11:00"
