"""Agents on a remote platform: a platform that is away, slow or has lost an agent is reported, and delays no other."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dcf.cli.reading.notes import note
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.attention import MOST_REMINDERS
from dcf.ports import Delivery
from dcf.runs.notifying.notifications import STALLED_S
from dcf.runs.retrying import RunRetrying
from dcf.store.events.notified import NEVER_TOLD, PLANNER, Announcement, FailedAnnouncement, Told
from tests.support.agents.elsewhere import AWAY, BUSY, GONE, Elsewhere, owing
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import Relay, World


def offer_again(world: World, run: str) -> None:
    """As if what was postponed had waited long enough."""
    outbox = world.store.keys(run).outbox
    for entry_id, owner, _, _ in world.ask("XPENDING", outbox, "relay", "-", "+", 100):
        world.ask("XCLAIM", outbox, "relay", owner, 0, entry_id, "IDLE", int(STALLED_S * 1000))


def failures(world: World, run: str) -> list[tuple[str | None, Any, Any]]:
    return [
        (event.state, event.data["agent"], event.data["failure"])
        for event in world.events(run)
        if event.type == "NotificationFailed"
    ]


def told(relay: Relay, run: str, state: str) -> Told:
    return relay.told(run, (state,)).get(state, NEVER_TOLD)


# An agent that is gone


def test_an_agent_that_is_gone_is_told_once_in_the_history_and_to_the_planner(world: World) -> None:
    """Before, no message said so: the run stood forever, with reminders in its history."""
    run, platform = owing(world), Elsewhere(b=GONE)
    relay = world.relay(platform)
    relay.pulse()
    for _ in range(4):
        world.make_due(run, "B")
        relay.pulse()
    assert failures(world, run) == [("B", "b", "unknown_agent")]
    (event,) = platform.told("boss")
    assert (event["type"], event["reason"], event["target_state"]) == ("run_stalled", "unknown_agent", "B")
    assert world.owed(run) == 0, "reminders look whether it is there by now"
    assert len(platform.told("b")) == 5


def test_why_a_state_stands_is_known_and_how_often_it_was_announced(world: World) -> None:
    run, platform = owing(world), Elsewhere(b=GONE)
    relay = world.relay(platform)
    epoch = world.doc(run, "B").lease.epoch
    assert told(relay, run, "B") == NEVER_TOLD
    relay.pulse()
    world.make_due(run, "B")
    relay.pulse()
    result = told(relay, run, "B")
    trouble = result.trouble(epoch)
    assert trouble is not None
    assert (result.times(epoch), trouble.agent_id, trouble.reason, trouble.error) == (
        2, "b", "unknown_agent", "There is no such agent.",
    )  # fmt: skip
    assert (result.times(epoch + 1), result.trouble(epoch + 1)) == (0, None), "of another visit nothing is known"
    shown = world.views.overview(run).states["B"].as_json()
    assert (shown["told_times"], shown["not_told"]) == (
        2, {"agent": "b", "reason": "unknown_agent", "error": "There is no such agent."},
    )  # fmt: skip
    assert note(shown, datetime.now(UTC)).endswith("b could not be notified: There is no such agent.")


def test_trouble_is_over_when_the_agent_was_reached(world: World) -> None:
    run, platform = owing(world), Elsewhere(b=GONE)
    relay = world.relay(platform)
    relay.pulse()
    platform.answers = {}
    world.make_due(run, "B")
    relay.pulse()
    result, epoch = told(relay, run, "B"), world.doc(run, "B").lease.epoch
    assert result.sent is not None
    assert (result.sent.agent_id, result.times(epoch), result.trouble(epoch)) == ("b", 2, None)


def test_what_was_sent_about_another_visit_does_not_end_the_trouble_of_this_one() -> None:
    late = Announcement(epoch=1, number=1, agent_id="b", at=9)
    failed = FailedAnnouncement(epoch=2, number=1, agent_id="b", at=5, reason="busy", error="")
    assert Told(sent=late, failed=failed).trouble(2) == failed


def test_the_same_failure_in_another_visit_is_news_again(world: World) -> None:
    run, platform = owing(world), Elsewhere(b=GONE)
    relay = world.relay(platform)
    relay.pulse()
    world.acquire(run, "B", "b")
    world.expire_lease(run, "B")
    world.make_due(run, "B")
    relay.pulse()
    assert failures(world, run) == [("B", "b", "unknown_agent")] * 2


def test_a_planner_that_is_gone_keeps_no_run_on_the_clock(world: World) -> None:
    run = world.create(chain("A"), planner="boss")
    world.do(run, "A")
    relay = world.relay(Elsewhere(boss=GONE))
    relay.pulse()
    relay.pulse()
    assert failures(world, run) == [(None, "boss", "unknown_agent")]
    assert not world.is_live(run)


# A pool


@rows("failure", [BUSY, GONE])
def test_what_one_member_of_a_pool_cannot_take_is_offered_to_the_next(world: World, failure: Delivery) -> None:
    run = owing(world, B=("one", "two"))
    relay = world.relay(Elsewhere(one=failure))
    for _ in range(2):
        world.make_due(run, "B")
        relay.pulse()
    sent = [event.data["agent"] for event in world.events(run) if event.type == "NotificationSent"]
    assert set(sent) == {"two"}
    assert failures(world, run) == ([("B", "one", "unknown_agent")] if failure is GONE else [])
    assert [event.type for event in world.events(run)].count("NotificationSent") == len(sent) >= 2


def test_a_pool_in_which_one_is_busy_and_the_others_are_gone_is_not_given_up(world: World) -> None:
    run = owing(world, B=("one", "two"))
    platform = Elsewhere()
    relay = world.relay(platform)
    for busy, removed in (("one", "two"), ("two", "one")):  # whichever of them is tried first
        platform.answers = {busy: BUSY, removed: GONE}
        relay.pulse()
        assert world.owed(run) == 1
        offer_again(world, run)
    assert platform.told("boss") == []


def test_of_a_pool_that_is_gone_each_member_is_told_once_in_the_history(world: World) -> None:
    run = owing(world, B=("one", "two"))
    relay = world.relay(Elsewhere(one=GONE, two=GONE))
    for _ in range(3):
        world.make_due(run, "B")
        relay.pulse()
    assert sorted(failures(world, run)) == [("B", "one", "unknown_agent"), ("B", "two", "unknown_agent")]


@rows("free", ["one", "two", "three"])
def test_every_member_of_a_pool_is_tried_wherever_the_search_begins(world: World, free: str) -> None:
    pool = ("one", "two", "three")
    run = owing(world, B=pool)
    platform = Elsewhere(**{name: BUSY for name in pool if name != free})
    relay = world.relay(platform)
    for _ in pool:  # each reminder begins one member later
        world.make_due(run, "B")
        relay.pulse()
    sent = [event.data["agent"] for event in world.events(run) if event.type == "NotificationSent"]
    assert (set(sent), world.owed(run)) == ({free}, 0)


def test_of_a_large_pool_ten_members_are_asked_for_one_event(world: World) -> None:
    pool = tuple(f"agent-{number}" for number in range(15))
    run = owing(world, B=pool)
    platform = Elsewhere(**dict.fromkeys(pool, BUSY))
    world.relay(platform).pulse()
    assert len({agent for agent, _ in platform.asked}) == len(platform.asked) == 10
    assert world.owed(run) == 1


def test_a_platform_that_is_away_is_not_asked_for_the_other_members_of_a_pool(world: World) -> None:
    owing(world, B=("one", "two"))
    platform = Elsewhere(one=AWAY, two=AWAY)
    world.relay(platform).pulse()
    assert len(platform.asked) == 1


# A platform that is away


def test_a_platform_that_is_away_is_told_once_and_asked_again_until_it_is_back(world: World) -> None:
    run, platform = owing(world), Elsewhere(b=AWAY)
    relay = world.relay(platform)
    for _ in range(3):
        relay.pulse()
        offer_again(world, run)
    assert failures(world, run) == [("B", "b", "platform_unavailable")]
    assert len(platform.told("b")) == 3
    platform.answers = {}
    relay.pulse()
    assert world.event_types(run, "B").count("NotificationSent") == 1
    assert world.owed(run) == 0


def test_a_planner_whose_platform_is_away_is_no_news_each_time_it_is_tried(world: World) -> None:
    run = world.create(chain("A"), planner="boss")
    world.do(run, "A")
    relay = world.relay(Elsewhere(boss=AWAY))
    for _ in range(3):
        relay.pulse()
        offer_again(world, run)
    assert failures(world, run) == [(None, "boss", "platform_unavailable")]
    assert told(relay, run, PLANNER).failed is not None


@rows(("failure", "after_s"), [(BUSY, 2), (AWAY, 7)])
def test_what_was_not_taken_is_offered_again_after_the_time_that_the_platform_says(
    real: World, failure: Delivery, after_s: int
) -> None:
    run = owing(real)
    real.relay(Elsewhere(b=failure)).pulse()
    ((_, _, idle, _),) = real.ask("XPENDING", real.store.keys(run).outbox, "relay", "-", "+", 10)
    already_ms = (STALLED_S - after_s) * 1000
    assert already_ms <= idle < already_ms + 2000, "the rest of the time until it counts as stalled"
    assert failures(real, run) == ([] if failure is BUSY else [("B", "b", "platform_unavailable")])


def test_a_reminder_takes_the_place_of_what_could_not_be_delivered_before(world: World) -> None:
    """Once the platform was back the agent got one message for each reminder."""
    run, platform = owing(world), Elsewhere(b=AWAY)
    relay = world.relay(platform)
    for _ in range(5):
        relay.pulse()
        world.make_due(run, "B")
        offer_again(world, run)
    platform.asked.clear()
    platform.answers = {}
    offer_again(world, run)
    relay.pulse()
    (event,) = platform.told("b")
    assert event["event_id"].endswith(":reminder-5")
    assert world.owed(run) == 0


# Several events judged at once


def test_events_judged_together_are_judged_as_each_alone(world: World) -> None:
    names = ("One", "Two", "Three", "Four")
    document = workflow({"Fan": parallel(*({name: task()} for name in names))})
    run, another = (world.create(document, agents=dict.fromkeys(names, "w")) for _ in range(2))
    for item in (run, another):
        world.plane.kick_off(item, "go")
    world.notifications.pulse()
    world.acquire(run, "Fan/1/Two")
    events = [*world.messages("w"), {"type": "of somebody else"}, {"workflow_id": ["no", "name"]}]
    removed = {**events[0], "workflow_id": "gone"}
    unknown = {**events[0], "target_state": "Fan/0/Nowhere"}
    for mixed in (events, [*events, removed], [*events, unknown]):
        expected = list(map(world.notifications.is_current, mixed))
        assert world.notifications.are_current(mixed) == expected
        assert {True, False} == set(expected)


# Holders of cancelled states


def cancelled(world: World, agent: str) -> list[tuple[str, str]]:
    return [(event["target_state"], event["type"]) for event in world.messages(agent) if event["reason"] == "cancelled"]


def test_whoever_holds_a_state_of_a_run_that_is_cancelled_is_told_to_stop(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": ("one", "two")})
    world.acquire(run, "A", "two")
    world.finalize(run)
    world.notifications.pulse()
    assert cancelled(world, "two") == [("A", "run_over")]
    assert world.messages("one") == []
    assert all(map(world.notifications.is_current, world.messages("two"))), "it is handed out"
    world.notifications.pulse()
    assert not world.is_live(run)


@pytest.mark.parametrize("how", ["a branch failed", "the run was closed"])
def test_whoever_works_inside_a_scope_that_is_over_is_told_to_stop(world: World, how: str) -> None:
    run = world.create(workflow({"Each": each({"In": task()})}), run_input=[1, 2, 3])
    token = world.acquire(run, "Each/0/In", "one")
    world.acquire(run, "Each/1/In", "two")
    if how == "a branch failed":
        world.fail(run, "Each/0/In", token)
    else:
        world.finalize(run)
    world.notifications.pulse()
    assert cancelled(world, "two") == [("Each/1/In", "run_over")]
    assert cancelled(world, "one") == ([] if how == "a branch failed" else [("Each/0/In", "run_over")])


def test_who_holds_many_states_of_a_run_is_told_once_that_it_is_over(world: World) -> None:
    run = world.create(workflow({"Each": each({"In": task()})}), run_input=[1, 2, 3])
    for number in range(3):
        world.acquire(run, f"Each/{number}/In", "one")
    world.finalize(run)
    world.notifications.pulse()
    (event,) = world.messages("one")
    assert (event["type"], event["status"]) == ("run_over", "cancelled")


def test_who_is_told_late_of_the_end_of_a_run_that_was_retried_since_is_told_nothing(world: World) -> None:
    run = world.create(workflow({"Both": parallel({"One": task()}, {"Two": task()})}))
    token = world.acquire(run, "Both/0/One", "one")
    world.acquire(run, "Both/1/Two", "two")
    world.fail(run, "Both/0/One", token)
    world.notifications.pulse()
    (event,) = world.messages("two")
    assert (event["type"], world.notifications.is_current(event)) == ("run_over", True)
    RunRetrying(world.plane).retry(run)
    assert world.run_status(run) is RunStatus.RUNNING
    assert not world.notifications.is_current(event)


def test_whose_state_timed_out_with_the_run_is_told_nothing_once_the_run_was_retried(world: World) -> None:
    """A worker that learned of the run's end cancelled its work in the continued run."""
    run = world.create(workflow({"A": task(TimeoutSeconds=60)}), agents={"A": "one"})
    world.acquire(run, "A", "one")
    set_member(world.ask, world.store.keys(run).state("A"), "deadline", "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "A")
    world.notifications.pulse()
    (event,) = (message for message in world.messages("one") if message["reason"] == "timed_out")
    assert (event["type"], world.notifications.is_current(event)) == ("run_over", True)
    RunRetrying(world.plane).retry(run)
    assert world.run_status(run) is RunStatus.RUNNING
    assert not world.notifications.is_current(event)


def lost(world: World, agent: str) -> list[tuple[str, str]]:
    return [
        (event["target_state"], event["reason"]) for event in world.messages(agent) if event["type"] == "lease_lost"
    ]


def test_a_holder_that_is_overtaken_after_expiry_is_notified_and_stays_informed(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": ("one", "two")})
    world.acquire(run, "A", "one")
    world.expire_lease(run, "A")
    world.acquire(run, "A", "two")
    world.notifications.pulse()
    assert (lost(world, "one"), lost(world, "two")) == ([("A", "taken_over")], [])
    assert all(map(world.notifications.is_current, world.messages("one"))), "it is handed out"
    world.expire_lease(run, "A")
    world.acquire(run, "A", "two")
    world.notifications.pulse()
    assert lost(world, "two") == [], "it took the state from itself"


def test_who_loses_a_lease_to_an_operator_is_told_and_who_gives_it_back_is_not(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "one"})
    token = world.acquire(run, "A", "one")
    world.release(run, "A", token)
    world.notifications.pulse()
    assert lost(world, "one") == []
    world.acquire(run, "A", "one")
    world.release(run, "A", None, force=True)
    world.notifications.pulse()
    assert lost(world, "one") == [("A", "released")]


def test_the_holder_of_a_state_that_times_out_is_notified_though_it_is_ready_again(world: World) -> None:
    again: dict[str, Any] = {
        "TimeoutSeconds": 60,
        "Retry": [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 60}],
    }
    run = world.create(workflow({"A": task(**again)}), agents={"A": "one"})
    world.acquire(run, "A", "one")
    set_member(world.ask, world.store.keys(run).state("A"), "deadline", "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "A")
    world.notifications.pulse()
    assert lost(world, "one") == [("A", "timed_out")]
    assert world.doc(run, "A").retries == 1


def test_an_agent_that_was_deleted_with_its_run_is_no_news(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    world.acquire(run, "A", "a")
    world.finalize(run)
    world.relay(Elsewhere(a=GONE)).pulse()
    assert failures(world, run) == []
    assert world.owed(run) == 0


# A planner that has to know


def test_a_run_that_its_planner_never_started_is_told_to_it(world: World) -> None:
    """A planner whose own run was lost left a run that was never started, without a message."""
    run = world.create(chain("A"), agents={"A": "a"}, planner="boss")
    for _ in range(2):
        world.make_due(run, "A")
        world.notifications.pulse()
    (event,) = world.messages("boss")
    assert (event["type"], event["reason"], event["event_id"].rpartition(":")[2]) == (
        "run_stalled", "not_started", "unstarted-2",
    )  # fmt: skip
    assert world.messages("a") == [], "nobody is woken for a run that was not started"
    world.plane.kick_off(run, "initial")
    world.notifications.notify_next(run, None)
    assert [event["reason"] for event in world.messages("a")] == ["initial"]


def test_what_was_to_be_told_to_a_planner_is_dropped_when_it_is_true_no_more(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"}, planner="boss")
    world.make_due(run, "A")
    world.plane.look(run, "A")
    world.plane.kick_off(run, "initial")
    world.notifications.pulse()
    assert world.messages("boss") == []
    assert world.owed(run) == 0


def test_a_state_that_nobody_takes_is_told_to_the_planner(world: World) -> None:
    """A worker whose runs failed before they took the lease was notified forever, its planner never."""
    run = owing(world)
    for _ in range(MOST_REMINDERS + 2):
        world.make_due(run, "B")
        world.notifications.pulse()
    (event,) = world.messages("boss")
    assert (event["type"], event["reason"], event["target_state"]) == ("run_stalled", "not_taken", "B")
    assert world.event_types(run).count("StateUntaken") == 1
