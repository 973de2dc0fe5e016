"""The history of a run in pages, by state, type and time, in either order, at a bounded cost."""

from dataclasses import replace

import pytest

from dcf.core.listing.events import EventQuery, check_cursor, check_moment
from dcf.errors import InvalidArgument, UnknownRun
from dcf.runs.views.histories import MOST_EXAMINED
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

ALL = EventQuery()
LATEST = EventQuery(newest_first=True)


def types(world: World, run: str, query: EventQuery, **more: object) -> list[str]:
    return [event.type for event in world.histories.page(run, query, **more).events]  # type: ignore[arg-type]


def done(world: World) -> str:
    run = world.create(chain("A", "B"))
    world.do(run, "A")
    world.do(run, "B")
    return run


def test_a_page_has_what_is_asked_for_in_order(world: World) -> None:
    run = done(world)
    whole = world.event_types(run)
    assert types(world, run, ALL) == whole
    assert types(world, run, LATEST) == whole[::-1]
    of_b = EventQuery(states=frozenset({"B"}))
    assert types(world, run, of_b) == world.event_types(run, "B")
    ended = EventQuery(types=frozenset({"StateSucceeded", "RunSucceeded"}))
    assert types(world, run, ended) == ["StateSucceeded", "StateSucceeded", "RunSucceeded"]


def test_a_state_is_named_by_path_or_by_its_name_wherever_it_is(world: World) -> None:
    run = world.create(workflow({"Each": each({"S": task()})}), run_input=[0, 1])
    world.do(run, "Each/1/S")
    events = world.histories.page(run, EventQuery(states=frozenset({"Each/1/S"}))).events
    every = world.histories.page(run, EventQuery(states=frozenset({"S"}))).events
    assert {event.state for event in events} == {"Each/1/S"}
    assert {event.state for event in every} == {"Each/0/S", "Each/1/S"}


@rows("newest_first", [False, True])
@rows("limit", [1, 3])
def test_pages_follow_each_other_without_gap_or_repetition(world: World, newest_first: bool, limit: int) -> None:
    run = done(world)
    query = EventQuery(newest_first=newest_first)
    result: list[str] = []
    cursor = None
    while True:
        page = world.histories.page(run, query, cursor=cursor, limit=limit)
        assert len(page.events) <= limit
        result += [event.event_id for event in page.events]
        cursor = page.next_cursor
        if cursor is None:
            break
    whole = [event.event_id for event in world.events(run)]
    assert result == (whole[::-1] if newest_first else whole)


def test_a_window_of_time_has_its_first_and_its_last_millisecond(world: World) -> None:
    run = done(world)
    seconds, _ = world.ask("TIME")
    stamp = int(seconds) * 1000 + 5_000
    for offset in (0, 1, 2, 2, 3):
        fields = ("t", f"Late{offset}", "s", "", "e", "", "d", "")
        world.ask("XADD", world.store.keys(run).events, f"{stamp + offset}-*", *fields)
    window = EventQuery(since=stamp + 1, until=stamp + 2)
    assert types(world, run, window) == ["Late1", "Late2", "Late2"]
    assert types(world, run, replace(window, newest_first=True)) == ["Late2", "Late2", "Late1"]
    assert [item.type for item in world.histories.follow(run, window)] == ["Late1", "Late2", "Late2"]


def test_a_page_with_few_matching_events_reads_a_bounded_number_and_has_a_cursor(
    real: World, counting: CountingPool
) -> None:
    run, key = done(real), ""
    key = real.store.keys(run).events
    fill = (
        "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 't', 'Filler', 's', '', 'e', '', 'd', '') end"
    )
    real.ask("EVAL", fill, 1, key, MOST_EXAMINED + 1000)
    fresh = World(connections=type(real.connections)(counting))
    query = EventQuery(types=frozenset({"NoSuchType"}))
    fresh.histories.page(run, query)
    with counting.counted() as packets:
        page = fresh.histories.page(run, query)
    assert page.events == ()
    assert page.next_cursor is not None
    assert len(packets) == 11
    rest = fresh.histories.page(run, query, cursor=page.next_cursor)
    assert (rest.events, rest.next_cursor) == ((), None)


def test_following_ends_with_the_run(world: World) -> None:
    run = done(world)
    assert [item.type for item in world.histories.follow(run, ALL, onwards=True)] == world.event_types(run)


def test_what_is_no_run_no_cursor_and_no_time_is_refused(world: World) -> None:
    with pytest.raises(UnknownRun):
        world.histories.page("no-such-run", ALL)
    for wrong in ("x", "1", "1-2-3", "-1-0"):
        with pytest.raises(InvalidArgument):
            check_cursor(wrong)
    for wrong in ("yesterday", "2026-11-22T09:00:00"):
        with pytest.raises(InvalidArgument):
            check_moment("since", wrong, 0)
    assert check_moment("since", "1970-01-01T00:00:01Z", 0) == 1000
    assert check_moment("since", "2s", 3_000_000) == 1000
