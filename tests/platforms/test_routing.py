"""Agents of one run on several platforms: each is notified separately, and a slow one delays no other."""

import secrets
import uuid
from collections.abc import Callable, Iterator

import pytest

from dcf.adapters.letta.platform import is_own_id
from dcf.adapters.mailbox import mailbox_platform
from dcf.adapters.platforms import KEPT_S, Platforms
from dcf.errors import PlatformUnavailable
from dcf.features.diagnosis.model import Cause
from dcf.features.diagnosis.operations import Diagnosis
from dcf.features.diagnosis.storage import RunSignsReader
from dcf.ports import MAILBOX, Deliverer, Platform
from dcf.runs.notifying import notifications
from dcf.runs.notifying.queues import MOST_WAITING
from dcf.store.events.activity import ActivityRecords
from tests.runs.notifying.test_delivery_records import failures, offer_again
from tests.support.agents.elsewhere import AWAY, Elsewhere
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import Relay, World


def here(world: World, **others: Deliverer) -> Platforms:
    """The platforms of a process: the mailbox, and these others."""
    more = [Platform(kind=kind, deliverer=other) for kind, other in others.items()]
    return Platforms([mailbox_platform(world.mailbox), *more], world.records)


def living(platforms: Platforms, kind: str) -> str:
    """A new agent on a platform, which its record names."""
    agent = f"{kind}-{secrets.token_hex(6)}"
    platforms.register(agent, kind)
    return agent


@pytest.fixture
def frozen(relays: Callable[..., Relay]) -> Iterator[Elsewhere]:
    """It answers before the relays end: they would wait for it."""
    platform = Elsewhere()
    platform.door.clear()
    yield platform
    platform.door.set()


@pytest.fixture
def relays() -> Iterator[Callable[..., Relay]]:
    """Makes relays on threads, which end with the test."""
    made = list[Relay]()

    def make(world: World, platforms: Platforms) -> Relay:
        made.append(world.relay(platforms, threads=2))
        return made[-1]

    yield make
    for item in made:
        item.deliveries.close()


def letters(world: World, agent: str) -> list[str]:
    return [event["target_state"] for event in world.messages(agent)]


def test_each_agent_of_a_run_is_told_on_its_own_platform(world: World) -> None:
    elsewhere, two = Elsewhere(), Elsewhere()
    platforms = here(world, one=elsewhere, two=two)
    first, second, third = living(platforms, "one"), living(platforms, "two"), f"m-{secrets.token_hex(6)}"
    run = world.create(
        workflow({"Both": parallel({"A": task()}, {"B": task()}, {"C": task()})}),
        agents={"A": first, "B": second, "C": third},
    )
    world.plane.kick_off(run, "initial")
    world.relay(platforms).pulse()
    assert [agent for agent, _ in elsewhere.asked] == [first]
    assert [agent for agent, _ in two.asked] == [second]
    assert letters(world, third) == ["Both/2/C"]
    assert world.owed(run) == 0


def test_an_agent_without_a_record_has_a_mailbox_unless_its_id_is_of_a_platform(world: World) -> None:
    letta = Platform(kind="letta", deliverer=Elsewhere(), is_own_id=is_own_id)
    platforms = Platforms([mailbox_platform(world.mailbox), letta], world.records, "letta")
    theirs, recorded = f"agent-{uuid.uuid4()}", living(platforms, "webhook")
    kinds = platforms.kinds_of((theirs, "greeter", f"agent-{secrets.token_hex(12)}", recorded))
    assert list(kinds.values()) == ["letta", MAILBOX, MAILBOX, "webhook"]


def test_what_a_record_says_counts_at_once_where_it_is_written_and_soon_elsewhere(world: World) -> None:
    time = [0.0]
    mine = here(world, one=Elsewhere())
    other = Platforms([mailbox_platform(world.mailbox)], world.records, monotonic=lambda: time[0])
    agent = f"a-{secrets.token_hex(6)}"
    assert (mine.kind_of(agent), other.kind_of(agent)) == (MAILBOX, MAILBOX)
    mine.register(agent, "one", contact={"url": "https://agent.example/"})
    assert (mine.kind_of(agent), other.kind_of(agent)) == ("one", MAILBOX)
    time[0] += KEPT_S
    assert other.kind_of(agent) == "one"
    record = world.records.get(agent)
    assert record is not None
    assert record.contact == {"url": "https://agent.example/"}


def test_a_frozen_platform_holds_up_no_other_platform_and_no_inbox_of_the_same_run(
    real: World, frozen: Elsewhere, relays: Callable[..., Relay]
) -> None:
    quick = Elsewhere()
    platforms = here(real, frozen=frozen, quick=quick)
    relay = relays(real, platforms)
    machine = workflow({"Each": each({"In": task()})})
    stuck = [
        real.create(machine, run_input=[0] * 6, agents={"In": living(platforms, "frozen")}, planner="boss")
        for _ in range(3)
    ]
    for run in stuck:
        real.plane.kick_off(run, "initial")
    relay.pulse()
    assert frozen.inside.wait(60)
    slow, fast, inbox = (living(platforms, "frozen"), living(platforms, "quick"), f"m-{secrets.token_hex(6)}")
    states = parallel({"A": task()}, {"B": task()}, {"C": task()})
    run = real.create(workflow({"Both": states}), agents={"A": slow, "B": fast, "C": inbox})
    real.plane.kick_off(run, "initial")
    relay.pulse()
    wait_until(lambda: quick.told(fast) and letters(real, inbox) == ["Both/2/C"])
    assert frozen.done == 0
    assert not frozen.told(slow)
    frozen.door.set()
    wait_until(lambda: frozen.told(slow))


def test_what_a_lane_has_no_room_for_stays_owed_and_is_offered_to_others(
    real: World, frozen: Elsewhere, relays: Callable[..., Relay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "STALLED_S", 3600.0)  # what is not offered looks so old only after an hour
    platforms = here(real, frozen=frozen)
    relay, each_owes = relays(real, platforms), MOST_WAITING // 2 + 5
    machine, agents = workflow({"Each": each({"In": task()})}), {"In": living(platforms, "frozen")}
    runs = [real.create(machine, run_input=[0] * each_owes, agents=agents) for _ in range(2)]
    for run in runs:
        real.plane.kick_off(run, "initial")
    relay.pulse()
    assert frozen.inside.wait(60)
    outboxes = [real.store.keys(run).outbox for run in runs]

    def offered_soon() -> int:
        if not all(real.ask("XINFO", "GROUPS", outbox) for outbox in outboxes):
            return -1  # no thread has looked at this run yet
        entries = [entry for outbox in outboxes for entry in real.ask("XPENDING", outbox, "relay", "-", "+", 100)]
        return sum(idle > 3_000_000 for _, _, idle, _ in entries) if len(entries) == 2 * each_owes else -1

    beyond = 2 * each_owes - MOST_WAITING  # as many as wait, and up to one under way for each run
    wait_until(lambda: beyond - len(runs) <= offered_soon() <= beyond)


def test_an_agent_whose_platform_is_not_here_is_told_by_a_process_that_has_it(world: World) -> None:
    elsewhere = Elsewhere()
    with_it, without = here(world, one=elsewhere), here(world)
    agent = living(with_it, "one")
    run = world.create(chain("A"), agents={"A": agent}, planner="boss")
    world.plane.kick_off(run, "initial")
    world.relay(without).pulse()
    assert world.owed(run) == 1
    assert failures(world, run) == [], "that another process tells it is no news"
    (finding,) = [finding for finding in world.diagnosis.explain(run).findings if finding.state == "A"]
    assert finding.cause is Cause.DELIVERY_FAILED
    assert f"Agent '{agent}' is on the platform 'one', which this process does not have" in finding.sentence
    offer_again(world, run)
    world.relay(with_it).pulse()
    assert [name for name, _ in elsewhere.asked] == [agent]
    assert world.owed(run) == 0
    with pytest.raises(PlatformUnavailable, match="'one'"):
        without.equipper_of(agent)


def test_why_a_run_stands_names_the_platform_of_its_agent_and_what_is_wrong_with_it(world: World) -> None:
    away = Elsewhere()
    platforms = here(world, away=away)
    agent = living(platforms, "away")
    away.answers[agent] = AWAY
    ActivityRecords(world.connections).platform_fails("away", for_s=60, failures=3, error="No route.")
    run = world.create(chain("A"), agents={"A": agent})
    world.plane.kick_off(run, "initial")
    world.relay(platforms).pulse()
    diagnosis = Diagnosis(world.plane, RunSignsReader(world.connections), 1.0, platforms.kinds_of)
    (finding,) = diagnosis.explain(run).findings
    assert f"{agent} (on away) could not be told: The platform cannot be reached" in finding.sentence
    assert "; away does not answer since" in finding.sentence
    assert finding.evidence["platforms"] == {agent: "away"}
    assert finding.evidence["platform_errors"] == {"away": "No route."}
    ActivityRecords(world.connections).platform_answers("away")


@rows("order", [("away", "inbox"), ("lost", "inbox")])
def test_the_members_of_a_pool_may_be_on_several_platforms(world: World, order: tuple[str, str]) -> None:
    """A member whose platform is away, or is not here, does not keep another member from its notification."""
    away = Elsewhere()
    platforms = here(world, away=away)
    kind, _ = order
    member, inbox = living(platforms, kind), f"m-{secrets.token_hex(6)}"
    away.answers[member] = AWAY
    for _ in range(4):  # the first member varies
        run = world.create(chain("A"), agents={"A": (member, inbox)})
        world.plane.kick_off(run, "initial")
        world.relay(platforms).pulse()
        assert world.owed(run) == 0
    assert letters(world, inbox) == ["A"] * 4
