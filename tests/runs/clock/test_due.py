"""The clock finds every run that needs it by an index of due times, and what it costs follows what is due."""

import pytest

from dcf.core.documents.answers import Leased
from dcf.errors import DcfError
from dcf.features.schedules import keys as schedule_keys
from dcf.store.connection.connections import Connections, exchange
from dcf.store.keys import table as keys
from dcf.store.lists import due, index
from dcf.store.transaction.writing import due_command
from dcf.values.instants import SECOND
from tests.support.redis.counting import CountingPool
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World


def noted(world: World, run: str) -> float | None:
    answer = world.ask("ZSCORE", keys.due(run), run)
    return None if answer is None else float(answer)


def needed(world: World, run: str) -> float | None:
    return world.outbox.attention(run).next_due


def started(world: World) -> str:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    world.plane.kick_off(run, "go")
    return run


def test_a_run_that_owes_a_notification_is_due_at_once(world: World) -> None:
    run = started(world)
    assert run in world.due.at(world.outbox.attention(run).now).runs


def test_after_a_look_a_run_is_due_when_its_next_timer_is(world: World) -> None:
    run = started(world)
    world.notifications.pulse()
    first = min(float(at) for at in world.ask("ZRANGE", world.store.keys(run).timers, 0, 0, "WITHSCORES")[1::2])
    assert noted(world, run) == needed(world, run) == first
    assert run not in world.due.at(int(first) - 1).runs


def test_a_run_that_is_over_leaves_the_index(world: World) -> None:
    run = started(world)
    for state in ("A", "B"):
        world.do(run, state, state.lower())
    for _ in range(2):
        world.notifications.pulse()
    assert noted(world, run) is None
    assert not world.is_live(run)


def test_a_later_timer_leaves_the_earlier_time_and_an_earlier_one_replaces_it(world: World) -> None:
    run = started(world)
    world.notifications.pulse()
    before = noted(world, run)
    token = world.acquire(run, "A", "a", ttl_s=3600)
    assert noted(world, run) == before
    world.due.settle(run)
    assert before is not None
    assert (noted(world, run) or 0) > before
    world.release(run, "A", token)
    assert (noted(world, run) or 0) <= (needed(world, run) or 0)


def test_a_step_is_noted_also_if_its_clock_looked_between_reading_and_commit(
    real_connections: Connections,
) -> None:
    looks: list[None] = []

    def look() -> None:
        if not looks:
            looks.append(None)
            world.due.settle(run)

    world = World(connections=real_connections)
    run = started(world)
    world.notifications.pulse()
    hesitant = World(connections=real_connections, before_commit=look)
    lease = hesitant.try_acquire(run, "A", "a", "lease-of-somebody")
    assert isinstance(lease, Leased)
    assert looks
    assert (noted(world, run) or 0) <= (needed(world, run) or 0)
    world.close()


def test_a_step_that_needs_no_earlier_look_enters_nothing(counting: CountingPool, onlooker: Connections) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    run = started(world)
    world.notifications.pulse()
    with counting.counted() as packets:
        world.acquire(run, "A", "a")
    assert packets[1][0] == "MULTI"
    world.close()


def test_a_run_that_is_finalized_after_it_left_the_index_is_due_again(world: World) -> None:
    run = started(world)
    for state in ("A", "B"):
        world.do(run, state, state.lower())
    for _ in range(2):
        world.notifications.pulse()
    assert noted(world, run) is None
    world.finalize(run)
    assert (noted(world, run) or 2**60) <= world.outbox.attention(run).now


def test_a_commit_that_wrote_its_time_before_the_clock_looked_is_not_applied(real_connections: Connections) -> None:
    """Otherwise the timer loop would set its later time over an earlier one that it cannot know yet."""
    world = World(connections=real_connections)
    run = started(world)
    world.notifications.pulse()
    own = world.store.keys(run)
    with real_connections.one() as connection:
        exchange(connection, [("WATCH", own.meta), due_command(own, 2**52)])
        world.due.settle(run)
        *_, result = exchange(connection, [("MULTI",), ("ZADD", own.timers, 5, "A"), ("EXEC",)])
    assert result is None
    world.close()


def test_a_look_asks_the_same_however_many_runs_wait(counting: CountingPool, onlooker: Connections) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    world.forget_others()
    world.ask("DEL", schedule_keys.SCHEDULES)
    # The note that the clock looked is a script, which Redis takes also when it is full.
    quiet = [["TIME", "GET"], ["EVAL"], ["ZRANGE"] * (len(keys.every_due()) + 1)]

    def asked() -> list[list[str]]:
        with counting.counted() as packets:
            world.notifications.pulse()
        return packets

    for runs in (3, 30):
        for _ in range(runs):
            started(world)
        wait_until(lambda: asked() == quiet)  # deliveries are under way at first
    world.close()


def test_a_look_takes_a_bounded_number_of_due_runs_and_broken_ones_delay_no_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "_MOST_RUNS", 1)
    world.forget_others()
    runs = [started(world) for _ in range(30)]
    damaged, well = runs[:10], runs[10:]
    for run in damaged:
        world.ask("SET", world.store.keys(run).meta, "text")
        world.ask("ZADD", keys.due(run), 1, run)
    clock = world.relay()
    clock.pulse()
    assert told(world) <= len(keys.every_due())
    for _ in range(len(runs)):
        clock.pulse()
    assert told(world) == len(well)


def test_after_the_server_clock_stepped_back_what_is_owed_is_delivered_at_once(
    real_connections: Connections,
) -> None:
    world = World(connections=real_connections)
    run = started(world)
    later = world.outbox.attention(run).now + 3600 * SECOND
    world.ask("ZADD", keys.due(run), later, run)
    world.ask("SET", keys.SERVER_TIME, later)
    world.notifications.pulse()
    assert [event["target_state"] for event in world.messages("a")] == ["A"]
    world.close()


def test_runs_that_an_older_version_created_are_found_by_the_first_look(world: World) -> None:
    run = started(world)
    world.ask("ZREM", keys.due(run), run)
    world.relay().pulse()
    assert [event["target_state"] for event in world.messages("a")] == ["A"]


def test_runs_that_an_older_version_left_noted_too_late_are_found_by_the_first_look(world: World) -> None:
    run = started(world)
    world.ask("ZADD", keys.due(run), world.outbox.attention(run).now + 3600 * SECOND, run)
    world.relay().pulse()
    assert [event["target_state"] for event in world.messages("a")] == ["A"]


@pytest.fixture
def late(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Seven runs that owe something and are noted an hour too late; three are a page."""
    monkeypatch.setattr(index, "_PAGE", 3)
    world.forget_others()
    runs = [started(world) for _ in range(7)]
    for run in runs:
        world.ask("ZADD", keys.due(run), world.outbox.attention(run).now + 3600 * SECOND, run)
    return runs


def told(world: World) -> int:
    return len(world.messages("a"))


def test_the_looks_of_a_new_process_check_all_live_runs_a_page_at_each(world: World, late: list[str]) -> None:
    """So the first one costs the same however many runs are alive."""
    clock = world.relay()
    for checked in (3, 6, len(late), len(late)):
        clock.pulse()
        assert told(world) == checked


def test_a_process_checks_all_live_runs_again_after_a_while(
    world: World, late: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node of a cluster that failed over may have lost when they are due."""
    monkeypatch.setattr("dcf.runs.clock.clock._CHECKED_AGAIN", 0)
    clock = world.relay()
    for _ in range(4):
        clock.pulse()
    assert told(world) == len(late)
    run = started(world)
    world.ask("ZADD", keys.due(run), world.outbox.attention(run).now + 3600 * SECOND, run)
    for _ in range(4):
        clock.pulse()
    assert told(world) == len(late) + 1


def test_a_check_of_all_live_runs_that_breaks_off_begins_again(world: World, late: list[str]) -> None:
    clock = world.relay()
    clock.pulse()
    world.ask("RENAME", keys.LIVE, "kept")
    world.ask("SET", keys.LIVE, "damaged by hand")
    with pytest.raises(DcfError):
        clock.pulse()
    world.ask("RENAME", "kept", keys.LIVE)
    for _ in range(3):
        clock.pulse()
    assert told(world) == len(late)


def test_the_first_look_of_a_process_leaves_runs_alone_that_are_noted_in_time(
    counting: CountingPool, onlooker: Connections
) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    request: list[int] = []
    for runs in (3, 30):
        for _ in range(runs):
            started(world)
        for _ in range(2):
            world.notifications.pulse()
        with counting.counted() as packets:
            world.relay().pulse()
        request.append(len(packets))
    assert request[0] == request[1]
    world.close()
