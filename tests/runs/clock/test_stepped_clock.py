"""After the server's clock stepped back an hour runs continue: due times stay near, and leases end.

A test lets time run ahead, does something, and takes the time back: what was written then lies in the future.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dcf.core.documents.answers import Leased
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND, to_text
from tests.support.ahead import Ahead, deadline, let_pass, look_at, now, passed, timers, until_next
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

HOUR = 3600
TTL = 60


@pytest.fixture
def world(connections: Connections, beside: Connections) -> Iterator[World]:
    world = World(connections=connections, onlooker=beside, clock=Ahead())
    world.ask("DEL", keys.SERVER_TIME)
    yield world
    world.close()
    world.ask("DEL", keys.SERVER_TIME)


def ahead(world: World) -> None:
    """As if the server's clock went an hour too early from now on."""
    let_pass(world, HOUR)
    world.ask("SET", keys.SERVER_TIME, now(world))


def step_back(world: World) -> None:
    """The server's clock is set right, and a clock of dcf looks."""
    assert world.clock is not None
    world.clock.passed = 0
    world.notifications.pulse()


def listed_ahead(world: World, run: str) -> None:
    """As if the server itself had the early time when it listed this run."""
    for index in (world.list_of(keys.LIVE, run), keys.due(run)):
        world.ask("ZADD", index, now(world), run)


def go_on(world: World, run: str, state: str) -> int:
    """Let time run to the next look at a state, and look; how many seconds the test let pass for that."""
    began = passed(world)
    for _ in range(5):
        due = until_next(world, run)
        for member in due:
            look_at(world, run, member)
        if state in due:
            break
    return round((passed(world) - began) / SECOND)


def soon(world: World, run: str, seconds: int) -> None:
    """All due times of a run come within this number of seconds."""
    latest = max(timers(world, run).values())
    assert latest <= now(world) + (seconds + 1) * SECOND


def retrying() -> Document:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 30, "MaxAttempts": 2}]
    return workflow({"A": {"Type": "Task", "Retry": retry, "End": True}})


def waiting(**wait: Any) -> Document:
    return workflow({"W": {"Type": "Wait", **wait, "Next": "A"}, "A": {"Type": "Task", "End": True}})


def test_the_lease_of_a_dead_worker_ends_after_its_length(world: World) -> None:
    run = world.create(chain("A"), agents={"A": ("dead", "alive")})
    ahead(world)
    world.acquire(run, "A", "dead", ttl_s=TTL)
    step_back(world)
    soon(world, run, TTL)
    assert not isinstance(world.try_acquire(run, "A", "alive"), Leased)
    let_pass(world, TTL + 1)
    assert isinstance(world.try_acquire(run, "A", "alive"), Leased)
    assert world.event_types(run, "A").count("TimesHealed") == 1


def test_who_claims_any_state_gets_that_of_a_dead_worker(real_connections: Connections, onlooker: Connections) -> None:
    """It heard for an hour that no state was ready."""
    world = World(connections=real_connections, onlooker=onlooker, clock=Ahead())
    run = world.create(chain("A"), agents={"A": ("dead", "alive")})
    ahead(world)
    world.acquire(run, "A", "dead", ttl_s=TTL)
    step_back(world)
    assert not isinstance(world.claim(run, "alive"), Leased)
    let_pass(world, TTL + 1)
    assert isinstance(world.claim(run, "alive"), Leased)
    world.close()


def test_a_holder_that_lives_goes_on_as_before(world: World) -> None:
    run = world.create(chain("A"))
    ahead(world)
    token = world.acquire(run, "A", ttl_s=TTL)
    step_back(world)
    assert isinstance(world.renew(run, "A", token), Leased)
    world.complete(run, "A", token)
    assert world.run_status(run) == "succeeded"


def test_a_ready_state_is_announced_again_in_time(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"B": "b"})
    world.plane.kick_off(run, "initial")
    ahead(world)
    world.do(run, "A")
    step_back(world)
    soon(world, run, 15)
    assert go_on(world, run, "B") <= 16
    assert "StateReminded" in world.event_types(run, "B")


def test_a_wait_ends_after_its_seconds(world: World) -> None:
    ahead(world)
    run = world.create(waiting(Seconds=20))
    step_back(world)
    assert go_on(world, run, "W") <= 21
    assert world.doc(run, "W").status == "succeeded"


def test_a_wait_for_a_moment_waits_for_that_moment(world: World) -> None:
    ahead(world)
    moment = now(world) + 20 * SECOND
    run = world.create(waiting(TimestampPath="$.at"), run_input={"at": to_text(moment)})
    step_back(world)
    assert world.doc(run, "W").not_before == moment
    assert timers(world, run)["W"] == moment


def test_a_retry_comes_after_its_interval(world: World) -> None:
    run = world.create(retrying())
    ahead(world)
    world.fail(run, "A", world.acquire(run, "A"))
    step_back(world)
    soon(world, run, 30)
    let_pass(world, 31)
    world.acquire(run, "A")


@rows("timeout", ["TimeoutSeconds", "HeartbeatSeconds"])
def test_a_timeout_comes_after_its_seconds(world: World, timeout: str) -> None:
    ahead(world)
    run = world.create(workflow({"A": {"Type": "Task", "TimeoutSeconds": 40, "End": True, timeout: 20}}))
    world.acquire(run, "A", ttl_s=HOUR)
    step_back(world)
    assert go_on(world, run, "A") <= 21
    assert world.run_status(run) == "failed"


def test_a_run_has_its_own_timeout_again(world: World) -> None:
    document = chain("A")
    document["asl"]["TimeoutSeconds"] = 100
    ahead(world)
    run = world.create(document)
    step_back(world)
    assert deadline(world, run) <= now(world) + 101 * SECOND
    let_pass(world, 102)
    world.plane.time_out(run)
    assert world.run_status(run) == "failed"


def test_open_scopes_are_looked_at_again(world: World) -> None:
    ahead(world)
    run = world.create(workflow({"Each": each({"In": task()})}), run_input=[1, 2])
    world.plane.kick_off(run, "initial")
    step_back(world)
    soon(world, run, 20)


def test_a_run_that_nobody_started_is_found_stuck_in_time(world: World) -> None:
    ahead(world)
    run = world.create(chain("A"), agents={"A": "a"})
    step_back(world)
    soon(world, run, 60)


def test_a_run_that_was_closed_is_not_changed(world: World) -> None:
    run = world.create(chain("A"))
    ahead(world)
    world.acquire(run, "A", ttl_s=TTL)
    world.finalize(run, close_open_states=False)
    before = world.doc(run, "A"), world.events(run)
    step_back(world)
    assert (world.doc(run, "A"), world.events(run)) == before


def test_a_run_that_ended_before_the_step_leaves_the_lists_at_once(world: World) -> None:
    """It stayed, and was looked at each time, until the server's clock came to where it had been."""
    ahead(world)
    run = world.create(chain("A"), agents={"A": "a"}, planner="boss")
    world.plane.kick_off(run, "initial")
    world.do(run, "A", "a")
    listed_ahead(world, run)
    step_back(world)
    world.notifications.pulse()
    assert not world.is_live(run)
    assert world.ask("ZSCORE", keys.due(run), run) is None
    assert run in world.newest(1000)


def test_a_run_that_goes_on_after_the_step_stays_on_the_lists(world: World) -> None:
    ahead(world)
    run = world.create(chain("A"), agents={"A": "a"})
    listed_ahead(world, run)
    step_back(world)
    world.notifications.pulse()
    assert world.is_live(run)
    assert world.ask("ZSCORE", keys.due(run), run) is not None


def test_a_run_that_is_finalized_after_the_step_expires(world: World) -> None:
    ahead(world)
    run = world.create(chain("A"), agents={"A": "a"}, retention_s=100)
    world.do(run, "A", "a")
    listed_ahead(world, run)
    step_back(world)
    world.finalize(run)
    for _ in range(2):
        world.notifications.pulse()
    assert 0 < world.ask("TTL", world.store.keys(run).meta) <= 100
    assert not world.is_live(run)


def test_what_a_dead_deliverer_took_is_taken_over_in_time(real: World) -> None:
    run = real.create(chain("A"), agents={"A": "a"})
    real.plane.kick_off(run, "initial")
    (entry,) = real.outbox.take(run, "dead")
    outbox, later = real.store.keys(run).outbox, (int(real.ask("TIME")[0]) + HOUR) * 1000
    real.ask("XCLAIM", outbox, "relay", "dead", 0, entry.entry_id, "TIME", later)
    real.ask("SET", keys.SERVER_TIME, later * 1000)
    real.notifications.pulse()
    ((_, owner, idle, _),) = real.ask("XPENDING", outbox, "relay", "-", "+", 10)
    assert (owner, 0 <= idle < 30_000) == (b"clock", True)


def test_however_many_a_dead_deliverer_took_all_are_taken_over_in_time(real: World) -> None:
    run = real.create(workflow({"Each": each({"In": task()})}), run_input=[0] * 30, agents={"In": "a"})
    for _ in range(5):
        real.plane.kick_off(run, "initial")
    taken = real.outbox.take(run, "dead", 200)
    outbox, later = real.store.keys(run).outbox, (int(real.ask("TIME")[0]) + HOUR) * 1000
    real.ask("XCLAIM", outbox, "relay", "dead", 0, *(entry.entry_id for entry in taken), "TIME", later)
    real.outbox.reset_taken(run, "clock")
    waiting = real.ask("XPENDING", outbox, "relay", "-", "+", 200)
    assert len(waiting) == len(taken) >= 150
    assert {owner for _, owner, _, _ in waiting} == {b"clock"}


def test_a_step_is_healed_once_and_clocks_that_look_together_do_no_harm(world: World) -> None:
    run = world.create(chain("A"))
    ahead(world)
    world.acquire(run, "A", ttl_s=TTL)
    step_back(world)
    before = world.doc(run, "A"), world.events(run)
    world.notifications.pulse()
    world.relay().clock._heal(run)
    assert (world.doc(run, "A"), world.events(run)) == before
    assert int(world.ask("GET", keys.SERVER_TIME)) <= now(world)


def test_time_that_goes_forward_heals_nothing(world: World) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A", ttl_s=TTL)
    seen = []
    for _ in range(3):
        world.notifications.pulse()
        seen.append(int(world.ask("GET", keys.SERVER_TIME)))
    assert "TimesHealed" not in world.event_types(run)
    assert seen == sorted(set(seen)), "each look records the time, so that a step back shows"
