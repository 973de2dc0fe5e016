"""What is owed is delivered: once where nothing breaks, again where something does, never to the wrong agent."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.attention import REMINDER_DELAY
from dcf.core.decision import Reads
from dcf.errors import StoreUnavailable
from dcf.ports import Delivery, Undelivered
from dcf.store import keys
from tests.support.machines import chain, loop, workflow
from tests.support.scopes import each, task
from tests.support.world import World

Worlds = Callable[..., World]


class Platform:
    """Agents of another kind: notes what it is asked to deliver, and fails as often as it is told to."""

    is_remote = False

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.failures = failures
        self.error = error

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Any]) -> Delivery:
        self.asked.append((agent_id, event_id))
        if len(self.asked) > self.failures:
            return Delivery(message_id="m1", run_id="r1")
        if self.error is not None:
            raise self.error
        return Delivery(failure=Undelivered.PLATFORM_UNAVAILABLE, error="the agent server is down")


def forget_for(world: World, run: str, seconds: int) -> None:
    """As if what was taken and not settled had been taken so long ago."""
    outbox = world.store.keys(run).outbox
    for entry_id, owner, _, _ in world.ask("XPENDING", outbox, "relay", "-", "+", 100):
        world.ask("XCLAIM", outbox, "relay", owner, 0, entry_id, "IDLE", seconds * 1000)


def owing(world: World, **agents: Any) -> str:
    """A run in which A is done and B's agent was not told yet."""
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"} | agents)
    world.do(run, "A", "a")
    return run


def targets(world: World, run: str, agent: str) -> list[str]:
    return [event["target_state"] for event in world.messages(agent) if event["workflow_id"] == run]


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


def test_a_deliverer_that_died_between_delivering_and_settling_causes_no_second_message(real: World) -> None:
    run = owing(real)
    (entry,) = real.outbox.take(run, "dead")
    real.notifications._send(run, entry, real.plane.read(run), None)
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
    real.ask("JSON.SET", real.store.keys(run).meta, "$.agents.B", '"late"')
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


def test_an_event_of_an_earlier_visit_of_a_state_is_dropped_and_the_present_one_is_told(world: World) -> None:
    run = world.create(loop(), agents={"Work": "w", "Check": "c"})
    for _ in range(2):
        world.do(run, "Work")
        world.do(run, "Check", "c", {"done": False})
    world.notifications.pulse()
    assert [event["event_id"] for event in world.messages("w")] == [
        f"{run}:Work:{world.doc(run, 'Work').lease.epoch}:state_ready"
    ]
    assert world.messages("c") == []


@pytest.mark.parametrize("close_open_states", [True, False])
def test_nobody_is_woken_for_a_run_that_was_closed(world: World, close_open_states: bool) -> None:
    """D-40a: a finalized workflow could be woken up again."""
    run = owing(world)
    world.finalize(run, close_open_states=close_open_states)
    world.notifications.notify_next(run, "A")
    world.notifications.pulse()
    world.notifications.pulse()
    assert world.messages("b") == []
    assert not world.is_live(run)


def test_each_event_of_a_pool_goes_to_one_member_and_every_member_has_its_turn(world: World) -> None:
    pool = ("one", "two", "three")
    run = world.create(loop(), agents={"Work": pool, "Check": "c"})
    for _ in range(30):
        world.do(run, "Work", "one")
        world.do(run, "Check", "c", {"done": False})
        world.notifications.notify_next(run, "Check")
    told = told_agents(world, run, "Work")
    assert len(told) == 30
    assert all(told.count(agent) >= 3 for agent in pool)


def told_agents(world: World, run: str, state: str) -> list[str]:
    """Who was told of a state, in order, as the history has it."""
    sent = [event for event in world.events(run) if (event.type, event.state) == ("NotificationSent", state)]
    return [str(event.data["agent"]) for event in sent]


def test_reminders_reach_every_member_of_a_pool_in_turn(world: World) -> None:
    """Of a pool of two with one member that was dead, the same one was told three times in a row."""
    run = owing(world, B=("dead", "alive"))
    world.notifications.pulse()
    for _ in range(3):
        world.make_due(run, "B")
        world.notifications.pulse()
    told = told_agents(world, run, "B")
    assert told in (["dead", "alive"] * 2, ["alive", "dead"] * 2)


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
    told = world.notifications.notify(run, "Each/0/In", reason="nudge")
    assert (told.sent, told.skipped_not_ready, world.messages("a")) == (False, True, [])


def test_asking_for_what_is_owed_makes_no_keys(world: World) -> None:
    name = world.name()
    assert world.outbox.take(name, "me") == []
    assert world.outbox.take_over(name, "me", 0) == []
    assert world.keys_of(name) == []


# The clock


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
    return int(float(world.ask("ZSCORE", world.store.keys(run).timers, keys.encode_state(state))))


def test_a_ready_state_that_nobody_takes_is_announced_again_ever_more_rarely(world: World) -> None:
    run = owing(world)
    world.notifications.pulse()
    entered_at = due_at(world, run, "B") - REMINDER_DELAY
    assert world.doc(run, "A").finished_at == entered_at
    waits = []
    for _ in range(8):
        world.make_due(run, "B")
        now = world.store.read(run, Reads()).now
        world.notifications.pulse()
        waits.append(round((due_at(world, run, "B") - now) / 1e6))
    assert waits == [30, 60, 120, 240, 300, 300, 300, 300]
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
    assert {done, open_run} <= set(world.index.newest(1000))


def test_a_run_that_is_listed_and_not_yet_created_keeps_its_clock(world: World) -> None:
    name = world.name()
    world.only_list(name)
    world.notifications.pulse()
    assert world.is_live(name)


def test_a_run_that_was_listed_long_ago_and_never_created_is_forgotten(world: World) -> None:
    name = world.name()
    world.ask("ZADD", keys.LIVE, 1, name)
    world.notifications.pulse()
    assert not world.is_live(name)


def test_a_run_that_was_listed_long_ago_and_is_created_now_keeps_its_clock(world: World) -> None:
    name = world.name()
    world.ask("ZADD", keys.LIVE, 1, name)
    world.plane.create(world.wish(chain("A"), name, agents={"A": "a"}))
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


def ttls(world: World, run: str) -> set[bool]:
    return {world.ask("TTL", key) > 0 for key in world.keys_of(run)}


def test_only_after_finalizing_and_then_together_do_all_keys_of_a_run_begin_to_expire(real: World) -> None:
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
    assert {real.ask("TTL", key) for key in real.keys_of(run)} <= {99, 100}
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
    assert {real.ask("TTL", key) for key in real.keys_of(wish.workflow_id)} <= {49, 50}
