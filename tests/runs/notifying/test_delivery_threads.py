"""A platform that does not answer delays no other run, and no process that ends: deliveries have their own threads."""

import threading
from collections.abc import Callable, Iterator

import pytest

from dcf.runs.notifying.deliveries import DeliveryThreads
from dcf.store.access.authors import authored_by, current_author
from tests.support.agents.elsewhere import Elsewhere, owing
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

PAST = {"Type": "Wait", "Timestamp": "2001-01-01T00:00:00Z", "End": True}


@pytest.fixture
def frozen() -> Iterator[Elsewhere]:
    platform = Elsewhere()
    platform.door.clear()
    yield platform
    platform.door.set()


def test_a_frozen_platform_delays_no_other_run(real: World, frozen: Elsewhere) -> None:
    """With a Letta that was frozen a Wait of three seconds took a minute."""
    relay = real.relay(frozen, threads=2)
    stuck = [owing(real) for _ in range(5)]
    relay.pulse()
    assert frozen.inside.wait(60)
    waiting = real.create({"asl": {"StartAt": "W", "States": {"W": PAST}}})
    leased = real.create(chain("A"), agents={"A": "a"}, max_attempts=1)
    real.acquire(leased, "A", "a")
    real.expire_lease(leased, "A")
    real.make_due(leased, "A")
    relay.pulse()
    relay.pulse()
    assert real.run_status(waiting) == "succeeded"
    assert real.run_status(leased) == "failed"
    assert all(real.owed(run) for run in stuck)
    frozen.door.set()
    wait_until(lambda: [real.owed(run) for run in stuck] == [0] * 5)
    assert relay.clock.finish(60) >= 5
    relay.deliveries.close()


def test_a_process_ends_although_a_platform_does_not_answer(
    real: World, frozen: Elsewhere, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dcf.runs.notifying.deliveries._GRACE_S", 0.05)
    relay, others = real.relay(frozen, threads=1), set(threading.enumerate())
    runs = [owing(real) for _ in range(2)]
    relay.pulse()
    assert frozen.inside.wait(60)
    (worker,) = (item for item in threading.enumerate() if item.name == "dcf-delivery" and item not in others)
    relay.deliveries.close()
    assert worker.is_alive(), "it is not waited for"
    assert relay.deliveries.hand_over(runs[0]) == 0, "nothing more is taken"
    assert all(real.owed(run) for run in runs), "it stays owed"
    frozen.door.set()
    wait_until(lambda: not worker.is_alive())
    assert (frozen.done, len(frozen.asked)) == (1, 1), "what was queued is left to others"
    assert caplog.records == []


def test_of_what_one_run_owes_few_are_taken_at_once_so_that_others_can_help(world: World) -> None:
    run = world.create(workflow({"Each": each({"In": task()})}), run_input=[0] * 12, agents={"In": "a"})
    world.plane.kick_off(run, "initial")
    platform = Elsewhere()
    assert len(world.relay(platform).deliver(run)) == 10
    assert (len(platform.asked), world.owed(run)) == (10, 2)


# The threads


def test_a_run_that_is_queued_is_taken_once() -> None:
    door, taken = threading.Event(), list[str]()

    def deliver(run: str) -> int:
        taken.append(run)
        assert door.wait(60)
        return 3

    threads = DeliveryThreads(deliver, 1)
    threads.hand_over("one")
    wait_until(lambda: taken)
    for _ in range(5):
        threads.hand_over("two")
    door.set()
    assert threads.wait(60) == 6
    assert taken == ["one", "two"]
    threads.close()


def test_notifications_that_arise_during_a_delivery_are_delivered_by_its_caller() -> None:
    door, authors = threading.Event(), list[str | None]()

    def deliver(_: str) -> int:
        authors.append(current_author())
        assert door.wait(60)
        return 1

    threads = DeliveryThreads(deliver, 3)
    with authored_by("key:first"):
        threads.hand_over("one")
    wait_until(lambda: authors)
    with authored_by("key:second"):
        for _ in range(5):
            threads.hand_over("one")
    door.set()
    assert threads.wait(60) == 2
    assert authors == ["key:first", "key:second"]
    threads.close()


def test_deliveries_for_several_runs_are_under_way_at_once() -> None:
    together = threading.Barrier(3, timeout=60)

    def deliver(_: str) -> int:
        together.wait()
        return 1

    threads = DeliveryThreads(deliver, 3)
    for run in ("one", "two", "three"):
        threads.hand_over(run)
    assert threads.wait(60) == 3
    threads.close()


@pytest.mark.parametrize("failure", [ValueError("a defect"), KeyError("x")])
def test_a_defect_in_one_delivery_does_not_stop_the_others(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def deliver(run: str) -> int:
        if run == "bad":
            raise failure
        return 1

    threads = DeliveryThreads(deliver, 1)
    for run in ("bad", "good"):
        threads.hand_over(run)
    assert threads.wait(60) == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    threads.close()


def test_without_threads_it_is_delivered_at_once() -> None:
    deliveries: Callable[[str], int] = DeliveryThreads(lambda _: 4, 0).hand_over
    assert deliveries("one") == 4
