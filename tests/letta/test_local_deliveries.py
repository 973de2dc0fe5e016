"""Delivery locks and sent events in one process, for programs that alone deliver to their agents."""

from dcf.adapters.letta import LocalDeliveries


def test_only_one_has_the_turn_of_an_agent_and_gives_it_back() -> None:
    deliveries = LocalDeliveries()
    with deliveries.turn("agent") as first, deliveries.turn("agent") as second, deliveries.turn("other") as other:
        assert (first, second, other) == (True, False, True)
    with deliveries.turn("agent") as again:
        assert again


def test_whoever_was_refused_does_not_end_the_turn_of_the_holder() -> None:
    deliveries = LocalDeliveries()
    with deliveries.turn("agent"):
        with deliveries.turn("agent") as refused:
            assert not refused
        with deliveries.turn("agent") as still:
            assert not still


def test_the_run_that_an_event_started_is_known_for_its_agent_only() -> None:
    deliveries = LocalDeliveries()
    deliveries.remember("agent", "event", "run")
    assert (deliveries.find("agent", "event"), deliveries.find("other", "event")) == ("run", None)
