"""What is owed is delivered: once where nothing breaks, again where something does, never to the wrong agent."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import redis

from dcf.store.connection.connections import open_pool
from tests.support.agents.owed import Platform, owing, targets
from tests.support.redis.between import PoolBetween, Replied, Sending
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.workflows.machines import chain, loop, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

Worlds = Callable[..., World]


class Losing(PoolBetween):
    """Breaks the connection when the next delivery is recorded: before the packet is sent, or once it was applied."""

    def __init__(self, url: str, *, is_applied: bool) -> None:
        super().__init__(open_pool(url))
        self._is_applied = is_applied
        self.left = 1

    def between(self) -> tuple[Sending, Replied]:
        is_lost = False

        def sent(packet: bytes) -> bytes:
            nonlocal is_lost
            is_lost = b"NotificationSent" in packet and self.left > 0
            if is_lost:
                self.left -= 1
                if not self._is_applied:
                    raise redis.ConnectionError
            return packet

        def answered(reply: Any) -> Any:
            if is_lost:
                raise redis.ConnectionError
            return reply

        return sent, answered


def forget_for(world: World, run: str, seconds: int) -> None:
    """As if what was taken and not settled had been taken so long ago."""
    outbox = world.store.keys(run).outbox
    for entry_id, owner, _, _ in world.ask("XPENDING", outbox, "relay", "-", "+", 100):
        world.ask("XCLAIM", outbox, "relay", owner, 0, entry_id, "IDLE", seconds * 1000)


def test_a_completion_is_told_once_to_whoever_comes_next(world: World) -> None:
    run = owing(world)
    (target,) = world.notifications.notify_next(run, "A")
    assert (target.state, target.agent_id, target.sent, target.reason) == ("B", "b", True, "upstream_done")
    world.notifications.pulse()
    world.notifications.notify_next(run, "A")
    (event,) = world.messages("b")
    epoch = world.doc(run, "B").lease.epoch
    assert event["event_id"] == f"{run}:B:{epoch}:state_ready"
    assert (event["source_state"], event["reason"]) == ("A", "upstream_done")
    assert event["control_plane"]["input_key"] == world.store.keys(run).input("B")
    assert world.owed(run) == 0
    assert world.event_types(run, "B").count("NotificationSent") == 1


@rows("is_applied", [True, False])
def test_a_notification_is_recorded_once_where_the_answer_to_its_record_is_lost(
    worlds: Worlds, server: RestrictedRedis, is_applied: bool
) -> None:
    pool = Losing(server.url, is_applied=is_applied)
    world = worlds(pool=pool)
    run = owing(world)
    world.notifications.pulse()
    assert pool.left == 0
    assert targets(world, run, "b") == ["B"]
    assert world.event_types(run, "B").count("NotificationSent") == 1
    assert world.owed(run) == 0


def test_a_reason_of_the_caller_reaches_the_agent_with_the_event(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a"})
    (target,) = world.notifications.notify_next(run, None, reason="please begin")
    (event,) = world.messages("a")
    assert (target.reason, event["reason"]) == ("please begin", "please begin")


def test_the_clock_delivers_what_a_dead_worker_left_owed(world: World) -> None:
    run = owing(world)
    assert world.notifications.pulse() == 1
    assert targets(world, run, "b") == ["B"]
    assert world.notifications.pulse() == 0


def test_a_payload_reaches_the_agent_with_the_event(world: World) -> None:
    run = owing(world)
    world.notifications.notify_next(run, "A", reason="go on", payload={"hint": 1})
    (event,) = world.messages("b")
    assert (event["payload"], event["type"]) == ({"hint": 1}, "workflow_event")


def test_what_a_deliverer_took_before_it_died_is_delivered_by_another_after_a_while(real: World) -> None:
    run = owing(real)
    assert len(real.outbox.take(run, "dead")) == 1
    real.notifications.pulse()
    assert targets(real, run, "b") == [], "it may still be at it"
    forget_for(real, run, 31)
    real.relay().pulse()
    assert targets(real, run, "b") == ["B"]
    assert real.owed(run) == 0


def test_a_deliverer_that_died_before_settling_causes_no_second_message(real: World) -> None:
    run = owing(real)
    (entry,) = real.outbox.take(run, "dead")
    real.notifications._sender.send(run, entry, real.plane.read(run), None)
    forget_for(real, run, 31)
    real.notifications.pulse()
    assert targets(real, run, "b") == ["B"]
    assert real.owed(run) == 0


def test_two_deliverers_at_once_share_what_is_owed_and_send_it_once(real: World) -> None:
    runs = [owing(real) for _ in range(10)]
    relays = [real.relay() for _ in range(4)]
    barrier = threading.Barrier(4)

    def tick(number: int) -> None:
        barrier.wait()
        relays[number].pulse()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tick, range(4)))
    for run in runs:
        assert targets(real, run, "b") == ["B"]


def test_an_agent_that_cannot_be_reached_is_tried_again_later(real: World) -> None:
    run, platform = owing(real), Platform(failures=1)
    relay = real.relay(platform)
    (target,) = relay.notify_next(run, "A")
    assert (target.sent, target.delivery.error) == (False, "the agent server is down")
    assert real.owed(run) == 1
    forget_for(real, run, 31)
    real.forget_others()
    relay.pulse()
    assert [agent for agent, _ in platform.asked] == ["b", "b"]
    assert len({event_id for _, event_id in platform.asked}) == 1
    assert real.owed(run) == 0


def test_what_has_no_agent_yet_stays_owed_until_one_is_assigned(real: World) -> None:
    run = owing(real, B=())
    (target,) = real.notifications.notify_next(run, "A")
    assert (target.sent, target.agent_id) == (False, None)
    forget_for(real, run, 31)
    real.notifications.pulse()
    assert real.owed(run) == 1
    set_member(real.ask, real.store.keys(run).meta, ("agents", "B"), "late")
    forget_for(real, run, 31)
    real.notifications.pulse()
    assert targets(real, run, "late") == ["B"]
    assert real.owed(run) == 0


def test_an_event_that_was_overtaken_is_dropped(world: World) -> None:
    run = owing(world)
    world.acquire(run, "B", "b")
    world.notifications.pulse()
    assert targets(world, run, "b") == []
    assert world.owed(run) == 0
    assert "NotificationSent" not in world.event_types(run)


def test_an_event_of_an_earlier_visit_is_dropped_and_the_present_one_is_delivered(world: World) -> None:
    run = world.create(loop(), agents={"Work": "w", "Check": "c"})
    for _ in range(2):
        world.do(run, "Work")
        world.do(run, "Check", "c", {"done": False})
    world.notifications.pulse()
    assert [event["event_id"] for event in world.messages("w")] == [
        f"{run}:Work:{world.doc(run, 'Work').lease.epoch}:state_ready"
    ]
    assert world.messages("c") == []


@rows("close_open_states", [True, False])
def test_nobody_is_woken_for_a_run_that_was_closed(world: World, close_open_states: bool) -> None:
    """D-40a: a finalized workflow could be woken up again."""
    run = owing(world)
    world.finalize(run, close_open_states=close_open_states)
    world.notifications.notify_next(run, "A")
    world.notifications.pulse()
    world.notifications.pulse()
    assert world.messages("b") == []
    assert not world.is_live(run)


def test_the_planner_is_told_the_end_once(world: World) -> None:
    run = world.create(chain("A"), planner="boss")
    world.do(run, "A")
    world.notifications.notify_next(run, "A")
    world.notifications.pulse()
    (event,) = world.messages("boss")
    assert (event["type"], event["status"], event["target_state"]) == ("run_finished", "succeeded", None)


def test_without_a_planner_the_end_is_owed_to_nobody(world: World) -> None:
    run = world.create(chain("A"))
    world.do(run, "A")
    world.notifications.pulse()
    assert world.owed(run) == 0


def test_kicking_off_twice_is_one_event_and_one_message(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a"})
    for _ in range(2):
        world.plane.kick_off(run, "initial")
        world.notifications.notify_next(run, None)
    (event,) = world.messages("a")
    assert (event["reason"], event["source_state"], event["target_state"]) == ("initial", None, "A")
    assert world.event_types(run).count("RunStarted") == 1
    assert world.meta(run)["started_at"] is not None


def test_a_follower_that_is_not_ready_is_skipped_and_said_to_be(world: World) -> None:
    run = owing(world)
    world.acquire(run, "B", "b")
    (target,) = world.notifications.notify_next(run, "A")
    assert (target.sent, target.skipped_not_ready) == (False, True)


def test_a_nudge_is_a_new_event_each_time(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    sent = [world.notifications.notify(run, "A", reason="wake up") for _ in range(2)]
    assert all(target.sent and not target.delivery.duplicate for target in sent)
    (event,) = world.messages("a")
    assert sent[1].delivery.message_id != sent[0].delivery.message_id
    assert event["reason"] == "wake up"


def test_nobody_is_nudged_about_a_state_that_its_map_has_not_opened(world: World) -> None:
    run = world.create(workflow({"First": task("Each"), "Each": each({"In": task()})}), agents={"In": "a"})
    notify = world.notifications.notify(run, "Each/0/In", reason="nudge")
    assert (notify.sent, notify.skipped_not_ready, world.messages("a")) == (False, True, [])


def test_asking_for_what_is_owed_makes_no_keys(world: World) -> None:
    name = world.name()
    assert world.outbox.take(name, "me") == []
    assert world.outbox.take_over(name, "me", 0) == []
    assert world.keys_of(name) == []
