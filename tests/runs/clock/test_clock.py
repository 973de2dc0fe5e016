"""The timer loop looks at due runs: reminders, expired leases, used-up attempts. It drops ended runs."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dcf.core.documents.decision import ReadSet
from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.errors import StoreUnavailable
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND
from tests.support.agents.owed import Platform, owing, targets
from tests.support.workflows.machines import chain
from tests.support.world import World

Worlds = Callable[..., World]


def test_an_expired_lease_is_told_to_the_assigned_agent(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    world.acquire(run, "A", "a")
    world.expire_lease(run, "A")
    world.make_due(run, "A")
    assert world.notifications.pulse() == 2
    (event,) = world.messages("a")
    assert (event["reason"], event["target_state"]) == ("lease_expired", "A")
    assert world.event_types(run, "A")[-2:] == ["StateReminded", "NotificationSent"]


def test_a_live_lease_is_left_alone_and_looked_at_when_it_ends(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    world.acquire(run, "A", "a")
    world.make_due(run, "A")
    world.notifications.pulse()
    assert world.messages("a") == []
    assert due_at(world, run, "A") == world.doc(run, "A").lease.expires_at


def due_at(world: World, run: str, state: str) -> int:
    return int(float(world.ask("ZSCORE", world.store.keys(run).timers, key_parts.encode_state(state))))


def test_a_ready_state_that_nobody_takes_is_announced_again_ever_more_rarely(world: World) -> None:
    run = owing(world)
    world.notifications.pulse()
    entered_at = due_at(world, run, "B") - REMINDER_DELAY
    assert world.doc(run, "A").finished_at == entered_at
    for wait_s in (30, 60, 120, 240, 300, 300, 300, 300):
        world.make_due(run, "B")
        before = world.store.read(run, ReadSet()).now
        world.notifications.pulse()
        announced_at = due_at(world, run, "B") - wait_s * SECOND
        assert before <= announced_at <= world.store.read(run, ReadSet()).now
    sent = [event.data["reason"] for event in world.events(run) if event.type == "NotificationSent"]
    assert sent == ["upstream_done"] + ["reminder"] * 8
    (event,) = world.messages("b")
    assert event["event_id"].endswith(":reminder-8"), "the newest stands for all"


def test_a_state_that_used_up_its_attempts_fails_the_run_when_the_clock_looks(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a"}, planner="boss", max_attempts=1)
    world.acquire(run, "A", "a")
    world.expire_lease(run, "A")
    world.make_due(run, "A")
    world.notifications.pulse()
    assert world.statuses(run) == {"A": "failed", "B": "skipped"}
    assert [event["status"] for event in world.messages("boss")] == ["failed"]
    world.notifications.pulse()
    assert not world.is_live(run)


def test_two_clocks_at_once_do_no_harm(real: World, worlds: Worlds) -> None:
    alive = real.create(chain("A"), agents={"A": "a"}, max_attempts=5)
    dying = real.create(chain("A", "B"), agents={"A": "a"}, planner="boss", max_attempts=1)
    for run in (alive, dying):
        real.acquire(run, "A", "a")
        real.expire_lease(run, "A")
        real.make_due(run, "A")
    clocks, barrier = [worlds() for _ in range(4)], threading.Barrier(4)

    def tick(world: World) -> None:
        barrier.wait()
        world.notifications.pulse()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tick, clocks))
    real.notifications.pulse()
    assert real.doc(alive, "A").status == "running"
    assert real.doc(alive, "A").attempts == 1
    assert 1 <= len(targets(real, alive, "a")) <= 4
    assert real.event_types(dying).count("RunFailed") == 1
    assert len(targets(real, dying, "boss")) == 1


def test_finished_runs_leave_the_list_of_the_clock_and_running_ones_stay(world: World) -> None:
    done, open_run = world.create(chain("A")), world.create(chain("A"))
    world.do(done, "A")
    world.notifications.pulse()
    world.notifications.pulse()
    assert (world.is_live(done), world.is_live(open_run)) == (False, True)
    assert {done, open_run} <= set(world.newest(1000))


def test_a_run_that_is_listed_and_not_yet_created_keeps_its_clock(world: World) -> None:
    name = world.name()
    world.only_list(name)
    world.notifications.pulse()
    assert world.is_live(name)


def test_a_run_that_was_listed_long_ago_and_never_created_is_forgotten(world: World) -> None:
    name = world.name()
    world.ask("ZADD", world.list_of(keys.LIVE, name), 1, name)
    world.notifications.pulse()
    assert not world.is_live(name)


def test_a_run_that_was_listed_long_ago_and_is_created_now_keeps_its_clock(world: World) -> None:
    name = world.name()
    world.ask("ZADD", world.list_of(keys.LIVE, name), 1, name)
    world.plane.create(world.wish(chain("A"), name, agents={"A": "a"}))
    world.plane.kick_off(name, "go")
    world.make_due(name, "A")
    world.notifications.pulse()
    assert targets(world, name, "a") == ["A"]


def test_a_run_with_a_broken_document_does_not_stop_the_clock_of_the_others(real: World) -> None:
    broken, sound = owing(real), owing(real)
    real.ask("SET", real.store.keys(broken).meta, "text")
    real.notifications.pulse()
    assert targets(real, sound, "b") == ["B"]
    assert real.is_live(broken)


def test_a_lost_server_stops_the_clock_with_an_error(real: World) -> None:
    owing(real)
    relay = real.relay(Platform(failures=1, error=StoreUnavailable("Redis cannot be reached.")))
    with pytest.raises(StoreUnavailable):
        relay.pulse()


def lately(life_s: int) -> set[int]:
    """Seconds that are left of a life that began just now, or a while ago on a busy machine."""
    return set(range(life_s - 30, life_s + 1))


def ttls(world: World, run: str) -> set[bool]:
    return {world.ask("TTL", key) > 0 for key in world.keys_of(run)}


def test_the_keys_of_a_run_begin_to_expire_together_after_its_finalization(real: World) -> None:
    run = real.create(chain("A", "B{1}"), agents={"B{1}": "b"}, planner="boss", retention_s=100)
    real.do(run, "A", output={"x": 1})
    real.notifications.pulse()
    assert ttls(real, run) == {False}
    real.do(run, "B{1}", "b", output={"y": 1})
    for _ in range(2):
        real.notifications.pulse()
    assert ttls(real, run) == {False}, "ended, and its planner has still to look at it"
    assert not real.is_live(run), "the clock has nothing to do for it"
    real.finalize(run)
    assert ttls(real, run) == {False}
    real.notifications.pulse()
    assert ttls(real, run) == {True}
    assert {real.ask("TTL", key) for key in real.keys_of(run)} <= lately(100)
    assert not real.is_live(run)


def test_without_a_retention_a_finished_run_is_kept(real: World) -> None:
    run = real.create(chain("A"))
    real.finalize(run)
    real.notifications.pulse()
    assert ttls(real, run) == {False}


def test_creating_a_finished_run_again_does_not_make_it_last_longer(real: World) -> None:
    wish = real.wish(chain("A"), retention_s=100)
    real.plane.create(wish)
    real.finalize(wish.workflow_id)
    real.notifications.pulse()
    for key in real.keys_of(wish.workflow_id):
        real.ask("EXPIRE", key, 50)
    real.plane.create(wish)
    real.notifications.pulse()
    assert {real.ask("TTL", key) for key in real.keys_of(wish.workflow_id)} <= lately(50)
