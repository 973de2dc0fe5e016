"""Turns to write to an agent, and what it was sent, as several processes share them."""

from dcf.store.events.deliveries import SharedDeliveries
from tests.support.waiting import wait_until
from tests.support.world import World


def test_only_one_has_the_turn_and_gives_it_back(world: World) -> None:
    mine, yours = SharedDeliveries(world.connections), SharedDeliveries(world.connections)
    agent = world.name()
    with mine.turn(agent) as first, yours.turn(agent) as second, yours.turn(f"{agent}-2") as other:
        assert (first, second, other) == (True, False, True)
    with yours.turn(agent) as again:
        assert again


def test_whoever_was_refused_does_not_end_the_turn_of_the_holder(world: World) -> None:
    deliveries, agent = SharedDeliveries(world.connections), world.name()
    with deliveries.turn(agent) as mine:
        assert mine
        with deliveries.turn(agent) as refused:
            assert not refused
        with deliveries.turn(agent) as still_refused:
            assert not still_refused


def test_a_turn_ends_by_itself_and_a_late_holder_does_not_end_the_next(real: World) -> None:
    deliveries, agent = SharedDeliveries(real.connections, turn_ms=50), real.name()
    patient = SharedDeliveries(real.connections)
    with deliveries.turn(agent) as mine:
        assert mine
        wait_until(lambda: real.ask("EXISTS", f"cp:idx:turn:{agent}") == 0)
        with patient.turn(agent) as yours:
            assert yours
            deliveries_over = real.ask("GET", f"cp:idx:turn:{agent}")
            assert deliveries_over is not None


def test_a_turn_from_before_the_clock_stepped_back_keeps_nobody_out(world: World) -> None:
    deliveries, agent = SharedDeliveries(world.connections), world.name()
    world.ask("SET", f"cp:idx:turn:{agent}", "dead", "PX", 3600_000)
    with deliveries.turn(agent) as mine:
        assert mine


def test_what_an_agent_was_sent_is_remembered_for_a_day(world: World) -> None:
    deliveries, agent = SharedDeliveries(world.connections), world.name()
    assert deliveries.find(agent, "e1") is None
    deliveries.remember(agent, "e1", "run-1")
    assert SharedDeliveries(world.connections).find(agent, "e1") == "run-1"
    assert 0 < world.ask("TTL", f"cp:idx:sent:{agent}:e1") <= 24 * 3600
