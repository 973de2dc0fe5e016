"""A pool is notified: all members with inboxes at once, those on remote platforms one at a time."""

from collections.abc import Sequence

import pytest

from dcf.adapters.mailbox import mailbox_platform
from dcf.adapters.platforms import Platforms
from dcf.core.documents.notices import NoticeKind
from dcf.ports import Delivery, Platform, Post
from dcf.runs.notifying.announcements import recipients
from dcf.store.events.outbox import OutboxEntry
from dcf.store.lists.agents import AgentRecord
from tests.support.agents.elsewhere import BUSY, Elsewhere, owing
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import LONG, Relay, World

Pool = tuple[str, str, str]


@pytest.fixture
def pool(world: World) -> Pool:
    """Three agents that no other test knows: some are deleted, or live elsewhere, in the records of all tests."""
    name = world.name()
    return f"ann-{name}", f"bea-{name}", f"cyd-{name}"


def sent(world: World, run: str, state: str = "B") -> list[list[str]]:
    """The agents that were notified of a state, event by event, in the history."""
    events = [event for event in world.events(run) if (event.type, event.state) == ("NotificationSent", state)]
    return [sorted(event.data.get("agents", [event.data["agent"]])) for event in events]


def remote(world: World, elsewhere: Elsewhere, *agents: str) -> Relay:
    """Deliver to these agents elsewhere, and to all others in their inboxes."""
    platforms = Platforms([mailbox_platform(world.mailbox), Platform(kind="far", deliverer=elsewhere)], world.records)
    for agent in agents:
        platforms.register(agent, "far")
    return world.relay(platforms)


def gone(world: World, agent: str) -> None:
    """Create an agent, and delete it."""
    world.records.create(AgentRecord(agent_id=agent, name=agent))
    assert world.records.delete(agent)


def test_all_members_are_told_of_a_state_once_and_the_history_has_one_event(world: World, pool: Pool) -> None:
    run = owing(world, B=pool)
    world.notifications.pulse()
    world.notifications.pulse()
    heard = [[event["target_state"] for event in world.messages(agent)] for agent in pool]
    assert (heard, world.owed(run)) == ([["B"]] * 3, 0)
    assert len({event["event_id"] for agent in pool for event in world.messages(agent)}) == 1
    assert sent(world, run) == [list(pool)]
    recorded = world.notifications.told(run, ["B"])["B"].sent
    assert recorded is not None
    assert recorded.by_agent == dict.fromkeys(pool, 1)


def test_the_others_hear_nothing_of_what_the_fastest_took(world: World, pool: Pool) -> None:
    _, bea, _ = pool
    run = owing(world, B=pool)
    world.notifications.pulse()
    world.acquire(run, "B", bea)
    waiting = [event for agent in pool for event in world.messages(agent)]
    assert len(waiting) == 3
    assert world.notifications.are_current(waiting) == [False] * 3


def test_a_reminder_reaches_all_and_is_counted_for_each(world: World, pool: Pool) -> None:
    run = owing(world, B=pool)
    world.notifications.pulse()
    for _ in range(2):
        world.make_due(run, "B")
        world.notifications.pulse()
    assert sent(world, run) == [list(pool)] * 3
    recorded = world.notifications.told(run, ["B"])["B"]
    assert recorded.sent is not None
    assert recorded.sent.by_agent == dict.fromkeys(pool, 3)
    assert recorded.times(world.doc(run, "B").lease.epoch) == 3


def test_nudged_members_are_all_told(world: World, pool: Pool) -> None:
    run = owing(world, B=pool)
    world.notifications.notify(run, "B", reason="nudge")
    assert [event["reason"] for agent in pool for event in world.messages(agent)] == ["nudge"] * 3
    recorded = world.notifications.told(run, ["B"])["B"].sent
    assert recorded is not None
    assert recorded.by_agent == dict.fromkeys(pool, 1)


@rows("is_prompt", [True, False])
def test_a_member_that_is_gone_stops_no_other_and_is_told_once_in_the_history(
    world: World, pool: Pool, is_prompt: bool
) -> None:
    ann, bea, cyd = pool
    gone(world, bea)
    if is_prompt:
        world.plane.hand_over_to(lambda _: None, world.notifications.tell_at_once)
    run = owing(world, B=pool) if not is_prompt else prompt(world, pool)
    world.notifications.deliver_all(run)
    for _ in range(2):
        world.make_due(run, "B")
        world.notifications.pulse()
    assert sent(world, run) == [[ann, cyd]] * 3
    failed = [event.data["agent"] for event in world.events(run) if event.type == "NotificationFailed"]
    assert (failed, world.owed(run)) == ([bea], 0)
    details = world.notifications.told(run, ["B"])["B"]
    assert details.trouble(world.doc(run, "B").lease.epoch) is None, "somebody can take it"


def prompt(world: World, pool: tuple[str, ...], worker: str = "a") -> str:
    """A run in which a worker completed A and asked for its next work."""
    world.forget_others()
    run = world.create(chain("A", "B"), agents={"A": "a", "B": pool}, planner="boss")
    world.plane.kick_off(run, "initial")
    world.complete(run, "A", world.acquire(run, "A", worker), {}, owner=worker, claim_ttl_s=LONG)
    return run


def test_all_members_are_told_at_once_after_a_commit_and_the_outbox_only_records_it(world: World, pool: Pool) -> None:
    world.plane.hand_over_to(lambda _: None, world.notifications.tell_at_once)
    run = prompt(world, pool)
    assert [len(world.messages(agent)) for agent in pool] == [1, 1, 1]
    assert sent(world, run) == []
    world.notifications.deliver_all(run)
    assert [len(world.messages(agent)) for agent in pool] == [1, 1, 1]
    assert (sent(world, run), world.owed(run)) == ([list(pool)], 0)


def test_one_packet_tells_the_pools_of_several_states(
    world: World, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("B", "C", "D")
    document = workflow({"A": task("P"), "P": parallel(*({name: task()} for name in names))})
    run = world.create(document, agents={"A": "a"} | dict.fromkeys(names, pool))
    world.do(run, "A", "a")
    packets = list[int]()
    deliver_all = world.mailbox.deliver_all

    def counted(posts: Sequence[Post]) -> list[Delivery]:
        packets.append(len(posts))
        return deliver_all(posts)

    monkeypatch.setattr(world.mailbox, "deliver_all", counted)
    world.relay().deliver_all(run)
    assert packets == [9]
    assert [len(world.messages(agent)) for agent in pool] == [3, 3, 3]


# A large pool


@rows("size", [17, 20, 32, 48, 100])
def test_one_event_reaches_sixteen_of_a_large_pool_and_reminders_the_others(world: World, size: int) -> None:
    pool = tuple(f"agent-{number}" for number in range(size))
    run = owing(world, B=pool)
    snapshot = world.plane.read(run)
    kinds = [NoticeKind.READY.value, *(f"reminder-{number}" for number in range(1, size))]
    groups = [recipients(run, entry_of(kind), snapshot) for kind in kinds]
    assert {len(set(group)) for group in groups} == {16}
    soon = groups[: 2 * -(-size // 16)]
    assert len({agent for group in soon for agent in group}) == size, "nobody waits much longer than needed"
    assert {group[0] for group in groups} == set(pool), "each is once the one that is told, if all are elsewhere"


def entry_of(kind: str) -> OutboxEntry:
    return OutboxEntry(entry_id="", type=kind, state="B", epoch=1, source=None, reason="")


# Members elsewhere


def test_of_members_elsewhere_one_is_told_of_each_event_and_each_has_its_turn(world: World, pool: Pool) -> None:
    elsewhere = Elsewhere()
    run, relay = owing(world, B=pool), remote(world, elsewhere, *pool)
    relay.pulse()
    for number in range(2):
        assert len(elsewhere.asked) == number + 1
        world.make_due(run, "B")
        relay.pulse()
    assert sorted(agent for agent, _ in elsewhere.asked) == list(pool)
    assert sorted(sent(world, run)) == [[agent] for agent in pool]


def test_a_member_elsewhere_is_told_in_its_turn_and_those_with_inboxes_always(world: World, pool: Pool) -> None:
    ann, bea, cyd = pool
    elsewhere = Elsewhere()
    run, relay = owing(world, B=pool), remote(world, elsewhere, bea)
    relay.pulse()
    for _ in range(2):
        world.make_due(run, "B")
        relay.pulse()
    assert len(elsewhere.told(bea)) == 1, "of three events one is its"
    assert sorted(sent(world, run)) == [[ann, bea, cyd], [ann, cyd], [ann, cyd]]


def test_a_member_elsewhere_is_told_out_of_turn_if_nobody_with_an_inbox_is_left(world: World, pool: Pool) -> None:
    ann, bea, cyd = pool
    gone(world, ann)
    gone(world, cyd)
    elsewhere = Elsewhere()
    run, relay = owing(world, B=pool), remote(world, elsewhere, bea)
    relay.pulse()
    assert (len(elsewhere.told(bea)), sent(world, run), world.owed(run)) == (1, [[bea]], 0)


def test_members_with_inboxes_are_told_though_the_one_elsewhere_is_busy(world: World, pool: Pool) -> None:
    ann, bea, cyd = pool
    elsewhere = Elsewhere(**{bea: BUSY})
    run, relay = owing(world, B=pool), remote(world, elsewhere, bea)
    relay.pulse()
    for _ in range(2):
        world.make_due(run, "B")
        relay.pulse()
    assert (len(elsewhere.told(bea)), sent(world, run), world.owed(run)) == (1, [[ann, cyd]] * 3, 0)
